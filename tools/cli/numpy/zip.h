#ifndef SLUICE_TOOLS_CLI_NUMPY_ZIP_H_
#define SLUICE_TOOLS_CLI_NUMPY_ZIP_H_

// Zip archives, as far as .npz files use them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"

namespace sluice {

// The members of one archive. Its directory has been checked as a whole: every member lies within the bytes, none
// overlaps another, names are unique, and the sizes are possible for what is stored.
// Ownership: borrows the bytes, which must outlive it. Thread-safety: immutable.
class ZipReader {
 public:
  struct Member {
    absl::string_view name;
    bool deflated = false;     // Else stored as it is.
    absl::string_view stored;  // The bytes in the archive.
    int64_t size = 0;          // Unpacked.
    uint32_t crc32 = 0;
  };

  // kNumpy errors for everything but plain archives: truncated, encrypted, in several parts, of another compression, or
  // with false sizes. RESOURCE_EXHAUSTED for members above `limits`.max_tensor_bytes in all.
  static absl::StatusOr<ZipReader> Open(absl::string_view bytes, const LoadLimits& limits = LoadLimits());

  absl::Span<const Member> members() const { return members_; }
  // Null if there is none.
  const Member* Find(absl::string_view name) const;

  // Checks the checksum of a member that is stored as it is: its bytes can be used in place then.
  // REQUIRES: !member.deflated.
  static absl::Status CheckStored(const Member& member);
  // The unpacked bytes of any member, its checksum checked.
  static absl::StatusOr<std::string> Unpack(const Member& member);

 private:
  ZipReader() = default;

  std::vector<Member> members_;
  HashMap<absl::string_view, size_t> index_;
};

// Makes an archive of members stored as they are, the data of each aligned to 64 bytes, so that a mapped archive can be
// used in place. Not thread-safe.
class ZipWriter {
 public:
  // REQUIRES: no member of that name yet, name.size() < 65536.
  void Add(absl::string_view name, absl::string_view bytes);
  // Returns the archive, once. kNumpy error above 4 GiB or 65,535 members, the limits of the plain format.
  absl::StatusOr<std::string> Finish();

 private:
  std::string out_;
  std::string directory_;
  size_t num_members_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_NUMPY_ZIP_H_

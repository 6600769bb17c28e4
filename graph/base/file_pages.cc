#include "graph/base/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"

namespace sluice {
namespace {

// The mapped files of the process. Thread-safe.
class MappedRanges {
 public:
  // Never destroyed: static graphs could outlive it. Made without memory, since the first caller may be a destructor.
  static MappedRanges& Global() noexcept {
    union Undying {
      Undying() : ranges() {}
      ~Undying() {}  // NOLINT(modernize-use-equals-default): its member is never destroyed.
      MappedRanges ranges;
    };
    static Undying undying;
    return undying.ranges;
  }

  void Add(uintptr_t begin, size_t size) {
    MutexLock lock(&mu_);
    sizes_[begin] = size;
  }
  void Remove(uintptr_t begin) {
    MutexLock lock(&mu_);
    sizes_.erase(begin);
  }
  // Whether all of [begin, end) is in one of them.
  bool Contains(uintptr_t begin, uintptr_t end) const {
    MutexLock lock(&mu_);
    auto after = sizes_.upper_bound(begin);
    if (after == sizes_.begin()) return false;
    --after;
    return end - after->first <= after->second;
  }

 private:
  mutable Mutex mu_;
  std::map<uintptr_t, size_t> sizes_ ABSL_GUARDED_BY(mu_);  // By the first byte.
};

uintptr_t AddressOf(const char* p) { return reinterpret_cast<uintptr_t>(p); }

}  // namespace

void AddMappedBytes(absl::string_view bytes) { MappedRanges::Global().Add(AddressOf(bytes.data()), bytes.size()); }

void RemoveMappedBytes(absl::string_view bytes) noexcept { MappedRanges::Global().Remove(AddressOf(bytes.data())); }

size_t ReleaseFilePages(absl::string_view bytes) {
  static const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (AddressOf(bytes.data()) + page - 1) / page * page;
  const uintptr_t end = (AddressOf(bytes.data()) + bytes.size()) / page * page;
  if (begin >= end || !MappedRanges::Global().Contains(begin, end)) return 0;
  return ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0 ? end - begin : 0;
}

}  // namespace sluice

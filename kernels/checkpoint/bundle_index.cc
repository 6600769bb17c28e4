#include "kernels/checkpoint/bundle_index.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/file_errors.h"
#include "kernels/checkpoint/sorted_table.h"

namespace sluice {
namespace {

constexpr int64_t kMaxIndexBytes = int64_t{1} << 32;

// Keys of the pieces of sliced tensors start with an encoded zero.
bool IsSliceKey(absl::string_view key) { return !key.empty() && key.front() == '\0'; }

}  // namespace

std::string BundleShardFile(absl::string_view prefix, int32_t shard, int32_t num_shards) {
  return absl::StrFormat("%s.data-%05d-of-%05d", prefix, shard, num_shards);
}

std::string BundleIndexFile(absl::string_view prefix) { return absl::StrCat(prefix, ".index"); }

bool HasBundleIndex(absl::string_view prefix) {
  std::error_code failed;
  return std::filesystem::is_regular_file(BundleIndexFile(prefix), failed);
}

absl::StatusOr<BundleIndex> BundleIndex::Open(const std::string& prefix) {
  SLUICE_ASSIGN_OR_RETURN(BundleIndex index, Read(prefix, /*keep_bad_entries=*/false));
  SLUICE_RETURN_IF_ERROR(index.CheckShards());
  return index;
}

absl::StatusOr<BundleIndex> BundleIndex::OpenIndexOnly(const std::string& prefix) {
  return Read(prefix, /*keep_bad_entries=*/true);
}

absl::StatusOr<BundleIndex> BundleIndex::Read(const std::string& prefix, bool keep_bad_entries) {
  BundleIndex index;
  index.prefix_ = prefix;
  const std::string file = BundleIndexFile(prefix);
  if (!HasBundleIndex(prefix)) {
    const absl::Status error =
        Error(ErrorCode::kCheckpointMissing).Text(absl::StrCat("the checkpoint has no index '", file, "'"));
    return WithFile(error, file);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> bytes, MappedFile::Open(file, kMaxIndexBytes));
  bool header_seen = false;
  const absl::Status status = ForEachTableEntry(bytes->bytes(), [&](absl::string_view key, absl::string_view value) {
    if (header_seen) return index.AddEntry(key, value, keep_bad_entries);
    header_seen = true;
    if (!key.empty()) return absl::Status(Error(ErrorCode::kCheckpointDamaged).Text("the index has no header"));
    absl::StatusOr<BundleHeader> header = ReadBundleHeader(value);
    if (header.ok()) index.header_ = *header;
    return header.status();
  });
  if (!status.ok()) return WithFile(status, file);
  if (!header_seen) return WithFile(Error(ErrorCode::kCheckpointDamaged).Text("the index is empty"), file);
  return index;
}

absl::Status BundleIndex::AddEntry(absl::string_view key, absl::string_view bytes, bool keep_bad_entries) {
  absl::StatusOr<BundleEntry> entry = ReadBundleEntry(IsSliceKey(key) ? "(slice)" : key, bytes);
  if (!entry.ok()) {
    if (!keep_bad_entries || entry.status().code() == absl::StatusCode::kDataLoss) return entry.status();
    bad_.emplace(std::string(key), WithFile(entry.status(), BundleIndexFile(prefix_)));
    return absl::OkStatus();
  }
  (IsSliceKey(key) ? slices_ : entries_).emplace(std::string(key), *std::move(entry));
  return absl::OkStatus();
}

absl::StatusOr<const BundleEntry*> BundleIndex::Find(absl::string_view name) const {
  if (const auto found = entries_.find(name); found != entries_.end()) return &found->second;
  if (const auto bad = bad_.find(name); bad != bad_.end()) return bad->second;
  return Error(ErrorCode::kCheckpointName)
      .Text(absl::StrCat("the checkpoint '", PrintableName(prefix_, 1000), "' has no tensor '", PrintableName(name),
                         "'"));
}

absl::StatusOr<const BundleEntry*> BundleIndex::FindSlice(absl::string_view name, const TensorSlice& slice) const {
  const std::string key = SliceKey(name, slice);
  if (const auto found = slices_.find(key); found != slices_.end()) return &found->second;
  if (const auto bad = bad_.find(key); bad != bad_.end()) return bad->second;
  const absl::Status error =
      Error(ErrorCode::kCheckpointDamaged)
          .Text(absl::StrCat("tensor '", PrintableName(name), "' lacks its slice '", SliceText(slice), "'"));
  return WithFile(error, BundleIndexFile(prefix_));
}

absl::Status BundleIndex::CheckShards() const {
  std::vector<int64_t> sizes;
  for (int32_t shard = 0; shard < num_shards(); ++shard) {
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(ShardFile(shard), failed);
    if (failed) return MissingFile(ShardFile(shard));
    sizes.push_back(static_cast<int64_t>(size));
  }
  const auto check = [&](absl::string_view name, const BundleEntry& entry) -> absl::Status {
    if (entry.is_sliced) return absl::OkStatus();
    const bool is_there = entry.shard >= 0 && entry.shard < num_shards();
    return CheckExtent(name, entry, is_there ? sizes[static_cast<size_t>(entry.shard)] : 0);
  };
  for (const auto& entry : entries_) SLUICE_RETURN_IF_ERROR(check(entry.first, entry.second));
  for (const auto& slice : slices_) SLUICE_RETURN_IF_ERROR(check("(slice)", slice.second));
  return absl::OkStatus();
}

absl::Status BundleIndex::CheckExtent(absl::string_view name, const BundleEntry& entry, int64_t shard_bytes) const {
  const auto of_index = [this](const absl::Status& error) { return WithFile(error, BundleIndexFile(prefix_)); };
  if (entry.shard < 0 || entry.shard >= num_shards()) {
    return of_index(BadBundleEntry(name, absl::StrCat("lies in shard ", entry.shard, " of ", num_shards())));
  }
  int64_t end = 0;
  if (entry.offset < 0 || entry.size < 0 || !CheckedAdd(entry.offset, entry.size, &end)) {
    return of_index(BadBundleEntry(name, "has an impossible place"));
  }
  if (end > shard_bytes) {
    const absl::Status error = Error(ErrorCode::kCheckpointShort)
                                   .Text(absl::StrCat("tensor '", PrintableName(name), "' reaches past the end of '",
                                                      ShardFile(entry.shard), "'"))
                                   .Found(absl::StrCat(shard_bytes, " bytes"))
                                   .Expected(absl::StrCat("at least ", end));
    return WithFile(error, ShardFile(entry.shard));
  }
  return of_index(CheckSize(name, entry));
}

absl::Status BundleIndex::CheckSize(absl::string_view name, const BundleEntry& entry) {
  if (!IsTrivial(entry.dtype)) {
    // Each element takes a byte at least.
    if (entry.shape.num_elements() <= entry.size) return absl::OkStatus();
    return BadBundleEntry(
        name, absl::StrCat("has ", entry.size, " bytes for ", DTypeName(entry.dtype), entry.shape.ToString()));
  }
  const int64_t element = static_cast<int64_t>(DTypeSize(entry.dtype));
  int64_t needed = 0;
  if (!CheckedMul(entry.shape.num_elements(), element, &needed) || needed != entry.size) {
    return BadBundleEntry(name, absl::StrCat("has ", entry.size, " bytes, but ", DTypeName(entry.dtype),
                                             entry.shape.ToString(), " needs ", needed));
  }
  return absl::OkStatus();
}

}  // namespace sluice

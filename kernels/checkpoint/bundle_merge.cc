#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/bundle_replacement.h"
#include "kernels/checkpoint/bundle_writer.h"

namespace sluice {
namespace {

constexpr int64_t kMaxShards = 100'000;

// The indices of all checkpoints that are there.
absl::StatusOr<std::vector<BundleIndex>> OpenAll(const std::vector<std::string>& prefixes, bool allow_missing) {
  std::vector<BundleIndex> indices;
  for (const std::string& prefix : prefixes) {
    if (!HasBundleIndex(prefix)) {
      if (allow_missing) continue;
      return Error(ErrorCode::kOpValue)
          .Text(absl::StrCat("the checkpoint '", PrintableName(prefix, 1000), "' to be merged is missing"));
    }
    SLUICE_ASSIGN_OR_RETURN(BundleIndex index, BundleIndex::OpenIndexOnly(prefix));
    SLUICE_RETURN_IF_ERROR(index.FirstBadEntry());  // It would be lost.
    indices.push_back(std::move(index));
  }
  if (indices.empty()) return Error(ErrorCode::kOpValue).Text("none of the checkpoints to be merged is there");
  return indices;
}

// The entries of one more checkpoint, whose shards are numbered from `first_shard` on.
absl::Status AddEntries(const BundleIndex& index, int32_t first_shard, BundleIndex::Entries* all) {
  for (const auto* entries : {&index.entries(), &index.slices()}) {
    for (const auto& [key, entry] : *entries) {
      BundleEntry moved = entry;
      if (!entry.is_sliced) {
        if (entry.shard < 0 || entry.shard >= index.num_shards()) return index.CheckExtent(key, entry, 0);
        moved.shard = entry.shard + first_shard;
      }
      const auto [place, is_new] = all->try_emplace(key, std::move(moved));
      if (is_new) continue;
      BundleEntry& before = place->second;
      const bool is_same = before.dtype == entry.dtype && before.shape == entry.shape;
      if (!before.is_sliced || !entry.is_sliced || !is_same) {
        return Error(ErrorCode::kOpValue)
            .Text(absl::StrCat("tensor '", PrintableName(key),
                               "' is in several of the checkpoints to be merged; one is '",
                               PrintableName(index.prefix(), 1000), "'"));
      }
      before.slices.insert(before.slices.end(), entry.slices.begin(), entry.slices.end());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MergeBundles(const std::vector<std::string>& prefixes, const std::string& destination,
                          bool allow_missing) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<BundleIndex> indices, OpenAll(prefixes, allow_missing));
  BundleHeader header;
  header.is_big_endian = indices.front().is_big_endian();
  BundleIndex::Entries entries;
  int64_t shards = 0;
  for (const BundleIndex& index : indices) {
    if (index.is_big_endian() != header.is_big_endian) {
      return Error(ErrorCode::kOpValue).Text("the checkpoints to be merged differ in their byte order");
    }
    SLUICE_RETURN_IF_ERROR(AddEntries(index, static_cast<int32_t>(shards), &entries));
    shards += index.num_shards();
    if (shards > kMaxShards)
      return Error(ErrorCode::kOpValue).Text("the checkpoints to be merged have too many shards");
  }
  SLUICE_RETURN_IF_ERROR(MakeDirectoryOf(destination));
  header.num_shards = ShardsBeside(destination, static_cast<int32_t>(shards));
  int32_t shard = 0;
  for (const BundleIndex& index : indices) {
    for (int32_t i = 0; i < index.num_shards(); ++i, ++shard) {
      SLUICE_RETURN_IF_ERROR(
          LinkOrCopyFile(index.ShardFile(i), BundleShardFile(destination, shard, header.num_shards)));
    }
  }
  SLUICE_RETURN_IF_ERROR(WriteEmptyShards(destination, shard, header.num_shards));
  SLUICE_RETURN_IF_ERROR(ReplaceIndex(destination, header, entries));
  for (const BundleIndex& index : indices) {
    std::error_code ignored;
    const std::string file = BundleIndexFile(index.prefix());
    if (std::filesystem::equivalent(file, BundleIndexFile(destination), ignored)) continue;
    ::unlink(file.c_str());
    for (int32_t i = 0; i < index.num_shards(); ++i) ::unlink(index.ShardFile(i).c_str());
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "kernels/checkpoint/bundle_replacement.h"

#include <unistd.h>

#include <memory>

#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/new_file.h"
#include "kernels/checkpoint/table_writer.h"

namespace sluice {
namespace {

constexpr size_t kBlockBytes = 256 << 10;

// The number of shards of the existing checkpoint; 0 if there is no readable one.
int32_t ShardsNow(const std::string& prefix) {
  if (!HasBundleIndex(prefix)) return 0;
  const absl::StatusOr<BundleIndex> index = BundleIndex::OpenIndexOnly(prefix);
  return index.ok() ? index->num_shards() : 0;
}

}  // namespace

int32_t ShardsBeside(const std::string& prefix, int32_t wanted) {
  return ShardsNow(prefix) == wanted ? wanted + 1 : wanted;
}

absl::Status WriteEmptyShards(const std::string& prefix, int32_t first, int32_t num_shards) {
  for (int32_t shard = first; shard < num_shards; ++shard) {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file,
                            NewFile::Create(BundleShardFile(prefix, shard, num_shards)));
    SLUICE_RETURN_IF_ERROR(file->Commit());
  }
  return absl::OkStatus();
}

absl::Status ReplaceIndex(const std::string& prefix, const BundleHeader& header, const BundleIndex::Entries& entries) {
  const int32_t shards_before = ShardsNow(prefix);
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(BundleIndexFile(prefix)));
  TableWriter table(file.get(), kBlockBytes);
  SLUICE_RETURN_IF_ERROR(table.Add("", WriteBundleHeader(header)));
  for (const auto& [key, entry] : entries) SLUICE_RETURN_IF_ERROR(table.Add(key, WriteBundleEntry(entry)));
  SLUICE_RETURN_IF_ERROR(table.Finish());
  SLUICE_RETURN_IF_ERROR(file->Commit());
  if (shards_before == header.num_shards) return absl::OkStatus();
  for (int32_t shard = 0; shard < shards_before; ++shard) {
    ::unlink(BundleShardFile(prefix, shard, shards_before).c_str());
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "kernels/row_work.h"

#include <algorithm>
#include <limits>

#include "graph/base/checked_math.h"
#include "graph/base/status_macros.h"
#include "kernels/workers.h"

namespace sluice {

absl::Status ForEachRowRange(const KernelContext& context, const RowWork& rows, ScratchKeeper* keeper,
                             absl::FunctionRef<void(int64_t, int64_t, float*)> work) {
  constexpr double kShardNs = 1e5;  // Long enough for what is shared between neighbouring rows to pay.
  if (rows.rows <= 0) return absl::OkStatus();
  const Workers workers(context.run());
  const double per_shard = std::max(1.0, kShardNs / std::max(rows.row_ns, 1.0));
  const int64_t shard_rows = std::min(rows.rows, static_cast<int64_t>(per_shard));
  const int64_t shards = (rows.rows - 1) / shard_rows + 1;
  int64_t bytes = 0;
  if (!CheckedMul(rows.scratch_floats, static_cast<int64_t>(sizeof(float)), &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();  // Refused below.
  }
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, keeper));
  return workers.ForEachShard(
      shards, rows.row_ns * static_cast<double>(shard_rows), [&](int64_t shard, int worker) -> absl::Status {
        const int64_t begin = shard * shard_rows;
        work(begin, std::min(rows.rows, begin + shard_rows), static_cast<float*>(scratch.of(worker)));
        return absl::OkStatus();
      });
}

}  // namespace sluice

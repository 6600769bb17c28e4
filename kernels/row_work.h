#ifndef SLUICE_KERNELS_ROW_WORK_H_
#define SLUICE_KERNELS_ROW_WORK_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kernels/kernel_context.h"
#include "kernels/worker_scratch.h"

namespace sluice {

// Work on rows that do not depend on each other, each in about `row_ns`, with scratch memory for each thread.
struct RowWork {
  int64_t rows = 0;
  double row_ns = 0;
  int64_t scratch_floats = 0;
};

// Calls `work(begin, end, scratch)` for parts that make up [0, rows), on the threads of the run. A part cannot rely on
// what another one left in its scratch memory. `keeper` (may be null) is the kernel's. Results must not depend on the
// cut.
absl::Status ForEachRowRange(const KernelContext& context, const RowWork& rows, ScratchKeeper* keeper,
                             absl::FunctionRef<void(int64_t begin, int64_t end, float* scratch)> work);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ROW_WORK_H_

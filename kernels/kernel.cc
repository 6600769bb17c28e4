#include "kernels/kernel.h"

#include "graph/base/error.h"

namespace sluice {

absl::Status AsyncKernel::Compute(KernelContext&) const {
  return Error(ErrorCode::kInternal).Text("an asynchronous kernel was called as a synchronous one");
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_KERNEL_LATE_H_
#define SLUICE_KERNELS_KERNEL_LATE_H_

#include <exception>

namespace sluice {

// Ends a kernel whose run has passed its deadline, as KernelCancelled does where the run was cancelled. Thrown by
// KernelContext::ParallelFor and caught where kernels are called (StatusOfException in executor/node_error.h).
class KernelLate : public std::exception {
 public:
  const char* what() const noexcept override { return "the deadline of the run has passed"; }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_LATE_H_

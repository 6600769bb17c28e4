#ifndef SLUICE_KERNELS_STATE_VARIABLE_INPUT_H_
#define SLUICE_KERNELS_STATE_VARIABLE_INPUT_H_

#include "absl/status/statusor.h"
#include "kernels/kernel_context.h"
#include "kernels/resources/variable.h"

namespace sluice {

// The variable behind the handle in input 0. kResourceMissing when there is none, kResourceType when it holds another
// dtype than `dtype`, the node's.
absl::StatusOr<CountedPtr<Variable>> LookupVariable(const KernelContext& context, DType dtype);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_VARIABLE_INPUT_H_

#ifndef SLUICE_KERNELS_IO_INPUTS_H_
#define SLUICE_KERNELS_IO_INPUTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The local path in input `i`, whose name in messages is `what`. One string; a scalar where `only_scalar`. Errors of
// LocalPath, kOpShape.
absl::StatusOr<std::string> PathInput(const KernelContext& context, int i, absl::string_view what,
                                      bool only_scalar = false);

// The names and slices that a kernel of the second form reads and writes: inputs 1 and 2, vectors of `count` strings.
struct NamedSlices {
  absl::Span<const TString> names, slices;
};
absl::StatusOr<NamedSlices> NamesAndSlices(const KernelContext& context, int count);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IO_INPUTS_H_

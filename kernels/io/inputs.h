#ifndef SLUICE_KERNELS_IO_INPUTS_H_
#define SLUICE_KERNELS_IO_INPUTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The kind of access that a kernel asks for.
enum class PathUse : uint8_t { kRead, kWrite };

// The local path that `name`, in input `i`, stands for, if the session may use it so: see Note [Files are granted].
// Errors of LocalPath.
absl::StatusOr<std::string> GrantedPath(const KernelContext& context, int i, absl::string_view name, PathUse use);

// The same of the only string in input `i`, whose name in messages is `what`; a scalar where `only_scalar`. kOpShape.
absl::StatusOr<std::string> PathInput(const KernelContext& context, int i, absl::string_view what, PathUse use,
                                      bool only_scalar = false);

// The names and slices that a kernel of the second form reads and writes: inputs 1 and 2, vectors of `count` strings.
struct NamedSlices {
  absl::Span<const TString> names, slices;
};
absl::StatusOr<NamedSlices> NamesAndSlices(const KernelContext& context, int count);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IO_INPUTS_H_

#ifndef SLUICE_KERNELS_PARSING_EXAMPLE_BATCH_H_
#define SLUICE_KERNELS_PARSING_EXAMPLE_BATCH_H_

#include "absl/status/status.h"
#include "kernels/kernel_context.h"
#include "kernels/parsing/example_spec.h"

namespace sluice {

// The first output of each list; -1 if the op lacks it.
struct ExampleOutputs {
  int sparse_indices = 0;
  int sparse_values = 0;
  int sparse_shapes = 0;
  int dense = 0;
  int ragged_values = -1;
  int ragged_splits = -1;
};

// Parses `serialized`, a vector of Examples or a scalar: one, whose outputs lack the dimension of the batch. `names`
// (null: none) are what errors call the examples by, as many as they are or none. kOpValue for an example that is
// malformed, lacks a feature without a default, or has values of another type or number than the spec says.
absl::Status ParseExamples(KernelContext& context, const ExampleSpec& spec, const ExampleNames& names,
                           const Tensor& serialized, const Tensor* example_names, const ExampleOutputs& outputs);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_EXAMPLE_BATCH_H_

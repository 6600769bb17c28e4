#ifndef SLUICE_KERNELS_PARSING_LIST_OUTPUTS_H_
#define SLUICE_KERNELS_PARSING_LIST_OUTPUTS_H_

// Outputs made from the values that the parts of a batch have of one feature.

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/kernel_context.h"
#include "kernels/parsing/feature.h"

namespace sluice {

// The parts in order.
using FeatureLists = absl::Span<const FeatureValues* const>;

// How many values there are, how many entries of `ends` they belong to, and what the longest entry has.
struct ListTotal {
  size_t count = 0;
  size_t entries = 0;
  size_t longest = 0;
};
ListTotal TotalOf(FeatureLists lists);

// Which outputs a sparse tensor goes to.
struct SparseOutputs {
  int indices = 0;
  int values = 0;
  int shape = 0;
};

// All values one after another.
absl::Status SetValuesOutput(KernelContext& context, FeatureLists lists, int output);
// 0 and where each entry ends. kOpValue where int32 cannot count so far.
absl::Status SetSplitsOutput(KernelContext& context, FeatureLists lists, int output);
// The same with a batch; without one a single 0, as there are no entries to tell apart.
absl::Status SetSplitsOrZero(KernelContext& context, FeatureLists lists, bool has_batch, int output);
// Entries as rows of a matrix; without `has_batch` the only one as a vector.
absl::Status SetSparseOutputs(KernelContext& context, FeatureLists lists, bool has_batch, const SparseOutputs& outputs);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_LIST_OUTPUTS_H_

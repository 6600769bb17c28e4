#ifndef SLUICE_KERNELS_PARSING_SEQUENCE_BATCH_H_
#define SLUICE_KERNELS_PARSING_SEQUENCE_BATCH_H_

#include <vector>

#include "absl/status/status.h"
#include "kernels/kernel_context.h"
#include "kernels/parsing/example_batch.h"
#include "kernels/parsing/example_spec.h"

namespace sluice {

// The features to read from SequenceExamples: features of the context, as of an Example, and feature lists, whose
// entries are one dimension more. No dense feature is of variable length.
struct SequenceSpec {
  ExampleSpec context;
  ExampleSpec lists;
};

struct SequenceNames {
  ExampleNames context;                    // `places` is not used.
  ExampleNames lists;                      // Neither are `defaults` here:
  std::vector<bool> may_lists_be_missing;  // Whether a dense list that is missing counts as empty.
  bool may_kinds_share = false;            // Whether a dense and a sparse feature, say, may have one name.
};

// The first output of each list of the op; -1 if the op lacks it.
struct SequenceOutputs {
  ExampleOutputs context;
  ExampleOutputs lists;        // ragged_splits: the inner ones.
  int list_lengths = -1;       // Of dense lists.
  int list_outer_splits = -1;  // Of ragged lists.
};

// Parses `serialized`, a vector of SequenceExamples or a scalar, as ParseExamples does Examples.
absl::Status ParseSequenceExamples(KernelContext& context, const SequenceSpec& spec, const SequenceNames& names,
                                   const Tensor& serialized, const Tensor& example_names,
                                   const SequenceOutputs& outputs);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_SEQUENCE_BATCH_H_

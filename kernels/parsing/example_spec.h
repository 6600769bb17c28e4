#ifndef SLUICE_KERNELS_PARSING_EXAMPLE_SPEC_H_
#define SLUICE_KERNELS_PARSING_EXAMPLE_SPEC_H_

// What the attrs and inputs of the ops that parse examples say about the features wanted.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// A feature that becomes one dense tensor.
struct DenseFeature {
  DType dtype = DType::kInvalid;
  PartialShape stated;       // As the attr says it.
  bool is_variable = false;  // The first dimension is as long as the longest example.
  Shape shape;               // Of an example; where is_variable, without the first dimension.
  size_t elements = 0;       // Of `shape`.
};

// The attrs. Immutable after it is made.
struct ExampleSpec {
  std::vector<DenseFeature> dense;
  std::vector<DType> sparse;
  std::vector<DType> ragged;
  std::vector<DType> ragged_splits;
};

// Dense features of `types` and `shapes`. kOpAttr where they are not as many, or a dimension but the first is unknown.
absl::StatusOr<std::vector<DenseFeature>> MakeDenseFeatures(const std::vector<DType>& types,
                                                            const std::vector<PartialShape>& shapes);

// Where a feature goes.
struct FeaturePlace {
  enum class Kind : uint8_t { kDense, kSparse, kRagged };
  Kind kind = Kind::kDense;
  size_t index = 0;
};

// Names and defaults of one call, borrowed from its inputs.
struct ExampleNames {
  std::vector<absl::string_view> dense, sparse, ragged;
  std::vector<const Tensor*> defaults;  // One for each dense feature; without elements: the feature must be there.
  HashMap<absl::string_view, FeaturePlace> places;

  // Fills `places` from the names. kOpValue for a name that is wanted twice. (TensorFlow then treats all features as
  // missing.)
  absl::Status Index();
};

// Adds the strings of input `i`, a vector of `count`, to `*names`. kOpShape if it is not such a vector.
absl::Status ReadNames(const KernelContext& context, int i, absl::string_view argument, size_t count,
                       std::vector<absl::string_view>* names);
// Adds the scalars among inputs `range` to `*names`.
absl::Status ReadScalarNames(const KernelContext& context, ArgRange range, absl::string_view argument,
                             std::vector<absl::string_view>* names);
// Inputs `range` as defaults of `dense`. kOpShape where one does not fit its feature.
absl::Status ReadDefaults(const KernelContext& context, ArgRange range, absl::Span<const DenseFeature> dense,
                          std::vector<const Tensor*>* defaults);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_EXAMPLE_SPEC_H_

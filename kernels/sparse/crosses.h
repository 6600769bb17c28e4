#ifndef SLUICE_KERNELS_SPARSE_CROSSES_H_
#define SLUICE_KERNELS_SPARSE_CROSSES_H_

// Combinations of features, row by row: one of each column, the last column running fastest.

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "kernels/kernel_context.h"

namespace sluice {

// One input: features in rows; row r has features [begins[r], begins[r + 1]). Numbers or strings.
struct Column {
  const Tensor* values = nullptr;
  absl::Span<int64_t> begins;
  bool is_dense = false;

  int64_t count(int64_t row) const { return begins[static_cast<size_t>(row) + 1] - begins[static_cast<size_t>(row)]; }
  bool is_text() const { return values->dtype() == DType::kString; }
  absl::string_view text(int64_t i) const { return values->flat<TString>()[static_cast<size_t>(i)].view(); }
  int64_t number(int64_t i) const { return values->flat<int64_t>()[static_cast<size_t>(i)]; }
};

// All inputs, and where the combinations of each row go.
struct CrossPlan {
  std::vector<Column> columns;
  int64_t rows = 0;
  Tensor storage;              // Of all `begins`: shapes may claim any number of rows, which takes the run's memory.
  absl::Span<int64_t> begins;  // Of the combinations of each row.
  int64_t widest = 0;
};

// Fills `begins` and `widest`: counts the combinations of each row. kOpTooLarge.
absl::Status CountCrosses(CrossPlan* plan);

// Output `output`: the features of each combination as a text, with `separator` between them.
absl::Status OutputCrossTexts(KernelContext& context, const CrossPlan& plan, absl::string_view separator, int output);

// The hash of feature `i` of a column.
using HashFeature = absl::FunctionRef<uint64_t(const Column& column, int64_t i)>;
// The fingerprint of a text, a number itself.
uint64_t FeatureFingerprint(const Column& column, int64_t i);

// Output `output`: a hash of the features of each combination; `seed` (null: none) comes before these. Reduces a hash
// to a bucket number in [0, buckets); if `buckets` is 0, to any number that is not negative.
absl::Status OutputCrossHashes(KernelContext& context, const CrossPlan& plan, const uint64_t* seed, int64_t buckets,
                               HashFeature hash_feature, int output);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_CROSSES_H_

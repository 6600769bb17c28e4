#include "kernels/ragged/row_splits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

absl::Status CheckOne(const Tensor& splits, int input, absl::string_view name, int64_t rows, SplitsRule rule) {
  if (splits.rank() != 1 || splits.num_elements() == 0) {
    return ShapeError(input, name, splits.shape(), "a vector of one element or more");
  }
  const auto bad = [&](int64_t i, absl::string_view expected) {
    return ValueError(input, name, absl::StrCat(IndexAt(splits, i), " as split ", i), expected);
  };
  const int64_t last = splits.num_elements() - 1;
  int64_t before = 0;
  for (int64_t i = 0; i <= last; ++i) {
    const int64_t split = IndexAt(splits, i);
    if (split < before) return bad(i, absl::StrCat(before, " or more: splits ascend from 0 on"));
    before = split;
  }
  if (before > rows) return bad(last, absl::StrCat("at most ", rows, ", as there are rows"));
  if (rule == SplitsRule::kInside) return absl::OkStatus();
  if (IndexAt(splits, 0) != 0) return bad(0, "0");
  if (before != rows) return bad(last, absl::StrCat(rows, ", as there are rows"));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRowSplits(const KernelContext& context, ArgRange splits, absl::string_view name, int values,
                            SplitsRule rule) {
  if (context.input(values).rank() == 0) return ShapeError(values, "", "a scalar", "rows, one dimension or more");
  int64_t rows = context.input(values).dim(0);
  for (int i = splits.first + splits.count - 1; i >= splits.first; --i) {
    const absl::Status status = CheckOne(context.input(i), i, name, rows, rule);
    if (!status.ok()) return status;
    rows = context.input(i).num_elements() - 1;
  }
  return absl::OkStatus();
}

int64_t LongestRow(const Tensor& splits) {
  int64_t longest = 0;
  for (int64_t i = 0; i + 1 < splits.num_elements(); ++i) {
    longest = std::max(longest, IndexAt(splits, i + 1) - IndexAt(splits, i));
  }
  return longest;
}

int64_t ElementsOfRow(const Tensor& tensor) {
  int64_t elements = 1;
  for (int axis = 1; axis < tensor.rank(); ++axis) elements *= tensor.dim(axis);
  return elements;
}

}  // namespace sluice

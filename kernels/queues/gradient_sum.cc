#include "kernels/queues/gradient_sum.h"

#include <algorithm>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/queues/element_rows.h"
#include "kernels/state/tensor_update.h"

namespace sluice {
namespace {

using SumTypes = TypeList<float, double, Half>;

absl::Status CheckEqual(const Shape& found, const Shape& expected) {
  if (found == expected) return absl::OkStatus();
  return Error(ErrorCode::kOpShapes)
      .Found(found.ToString())
      .Expected(expected.ToString())
      .Text("gradients of different shapes are added up");
}

// Where a row of the result comes from: rows of the sum so far and of the new gradient, or -1.
struct Source {
  int64_t old_row, new_row;
};

std::vector<Source> Merge(absl::Span<const int64_t> old_indices, absl::Span<const int64_t> new_indices) {
  std::vector<Source> sources;
  sources.reserve(old_indices.size() + new_indices.size());
  size_t i = 0, k = 0;
  while (i < old_indices.size() || k < new_indices.size()) {
    const bool takes_old = k == new_indices.size() || (i < old_indices.size() && old_indices[i] <= new_indices[k]);
    const bool takes_new = i == old_indices.size() || (k < new_indices.size() && new_indices[k] <= old_indices[i]);
    sources.push_back({takes_old ? static_cast<int64_t>(i) : -1, takes_new ? static_cast<int64_t>(k) : -1});
    i += takes_old ? 1 : 0;
    k += takes_new ? 1 : 0;
  }
  return sources;
}

template <typename T>
void MergeRows(const std::vector<Source>& sources, int64_t inner, const T* old_rows, const T* new_rows, T* out) {
  for (const Source& source : sources) {
    const T* const a = source.old_row < 0 ? nullptr : old_rows + source.old_row * inner;
    const T* const b = source.new_row < 0 ? nullptr : new_rows + source.new_row * inner;
    if (a != nullptr && b != nullptr) {
      for (int64_t i = 0; i < inner; ++i) out[i] = AddElements()(a[i], b[i]);
    } else {
      std::copy_n(a != nullptr ? a : b, inner, out);
    }
    out += inner;
  }
}

template <typename T>
void DivideRow(T* row, int64_t size, int64_t count) {
  const T divisor = T(static_cast<float>(count));
  for (int64_t i = 0; i < size; ++i) row[i] = DivideElements()(row[i], divisor);
}

}  // namespace

absl::Status GradientSum::Add(Tensor gradient, Allocator& allocator) {
  if (!values.has_value()) {
    SLUICE_ASSIGN_OR_RETURN(values, ToKeep(std::move(gradient), allocator));
    return absl::OkStatus();
  }
  SLUICE_RETURN_IF_ERROR(CheckEqual(gradient.shape(), values.shape()));
  Tensor old;
  return UpdateTensor(values, DenseUpdate::kAdd, std::move(gradient), allocator, &old);
}

absl::Status GradientSum::AddRows(const Tensor& row_indices, Tensor rows, Allocator& allocator) {
  const absl::Span<const int64_t> added = row_indices.flat<int64_t>();
  if (!values.has_value()) {
    SLUICE_ASSIGN_OR_RETURN(values, ToKeep(std::move(rows), allocator));
    indices.assign(added.begin(), added.end());
    counts.assign(added.size(), 1);
    return absl::OkStatus();
  }
  IndexVector dims(rows.shape().dims().begin(), rows.shape().dims().end());
  dims[0] = values.dim(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape wanted, MakeShape(dims));
  SLUICE_RETURN_IF_ERROR(CheckEqual(wanted, values.shape()));
  const std::vector<Source> sources = Merge(indices, added);
  dims[0] = static_cast<int64_t>(sources.size());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor merged, Tensor::Make(values.dtype(), shape, allocator));
  const int64_t inner = SizeOfAxes(shape, 1, shape.rank());
  DispatchDType<SumTypes>(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    MergeRows(sources, inner, std::as_const(values).flat<T>().data(), std::as_const(rows).flat<T>().data(),
              merged.flat<T>().data());
  });
  std::vector<int64_t> new_indices, new_counts;
  for (const Source& source : sources) {
    const size_t i = static_cast<size_t>(source.old_row), k = static_cast<size_t>(source.new_row);
    new_indices.push_back(source.old_row >= 0 ? indices[i] : added[k]);
    new_counts.push_back((source.old_row >= 0 ? counts[i] : 0) + (source.new_row >= 0 ? 1 : 0));
  }
  values = std::move(merged);
  indices = std::move(new_indices);
  counts = std::move(new_counts);
  return absl::OkStatus();
}

absl::Status GradientSum::Average(int64_t count, bool is_sparse, Allocator& allocator) {
  if (!values.IsUniquelyOwned()) {
    SLUICE_ASSIGN_OR_RETURN(values, CopyOf(values, allocator));
  }
  DispatchDType<SumTypes>(values.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const elements = values.flat<T>().data();
    if (!is_sparse) return DivideRow(elements, values.num_elements(), count);
    const int64_t inner = SizeOfAxes(values.shape(), 1, values.rank());
    for (size_t row = 0; row < counts.size(); ++row) {
      DivideRow(elements + static_cast<int64_t>(row) * inner, inner, counts[row]);
    }
  });
  return absl::OkStatus();
}

}  // namespace sluice

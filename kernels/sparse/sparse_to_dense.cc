#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/wide_type.h"

namespace sluice {
namespace {

// SparseToDense: a tensor of one default value, but for the entries.
class SparseToDenseKernel : public Kernel {
 public:
  explicit SparseToDenseKernel(bool must_ascend) : must_ascend_(must_ascend) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& indices = context.input(0);
    const Tensor& values = context.input(2);
    const Tensor& otherwise = context.input(3);
    const int64_t entries = indices.rank() > 0 ? indices.dim(0) : 1;
    const int64_t width = indices.rank() > 1 ? indices.dim(1) : 1;
    if (indices.rank() > 2 || context.input(1).rank() != 1 || context.input(1).dim(0) != width) {
      return Error(ErrorCode::kOpShapes)
          .Found(absl::StrCat("sparse_indices ", indices.shape().ToString(), ", output_shape ",
                              context.input(1).shape().ToString()))
          .Expected("[entries, rank] and [rank], or [entries] and [1]");
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != entries)) {
      return Error(ErrorCode::kOpShape)
          .Input(2, "sparse_values")
          .Found(values.shape().ToString())
          .Expected(absl::StrCat("a scalar, or a vector of ", entries));
    }
    if (otherwise.rank() != 0) {
      return Error(ErrorCode::kOpShape)
          .Input(3, "default_value")
          .Found(otherwise.shape().ToString())
          .Expected("a scalar");
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 1, "output_shape"));
    SLUICE_ASSIGN_OR_RETURN(Tensor places, context.AllocateTemp(DType::kInt64, Shape::Of({entries})));
    SLUICE_RETURN_IF_ERROR(Locate(indices, shape, places.flat<int64_t>()));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    DispatchMoved(values.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      Put(context, places.flat<int64_t>(), Elements<T>(values), values.rank() > 0, Elements<T>(otherwise)[0],
          absl::MakeSpan(Elements<T>(*out), static_cast<size_t>(shape.num_elements())));
    });
    return absl::OkStatus();
  }

 private:
  // Where in a tensor of `shape` each entry stands.
  absl::Status Locate(const Tensor& indices, const Shape& shape, absl::Span<int64_t> places) const {
    const int64_t rank = shape.rank();
    const IndexVector strides = RowMajorStrides(shape);
    for (size_t i = 0; i < places.size(); ++i) {
      int64_t place = 0;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t at = IndexAt(indices, static_cast<int64_t>(i) * rank + d);
        if (at < 0 || at >= shape.dim(static_cast<int>(d))) {
          return Error(ErrorCode::kOpValue)
              .Input(0, "sparse_indices")
              .Found(absl::StrCat(at, " in entry ", i))
              .Expected(absl::StrCat("indices in ", shape.ToString()));
        }
        place += at * strides[static_cast<size_t>(d)];
      }
      places[i] = place;
      if (must_ascend_ && i > 0 && place <= places[i - 1]) {
        return Error(ErrorCode::kOpValue)
            .Input(0, "sparse_indices")
            .Found(absl::StrCat("entry ", i, " at or before the one that it follows"))
            .Expected("ascending indices without repeats");
      }
    }
    return absl::OkStatus();
  }

  template <typename T>
  static void Put(const KernelContext& context, absl::Span<const int64_t> places, const T* values, bool one_each,
                  const T& otherwise, absl::Span<T> out) {
    context.ParallelFor(static_cast<int64_t>(out.size()), kMoveNs<T>,
                        [&](int64_t begin, int64_t end) { std::fill_n(out.data() + begin, end - begin, otherwise); });
    for (size_t i = 0; i < places.size(); ++i) out[static_cast<size_t>(places[i])] = values[one_each ? i : 0];
  }

  const bool must_ascend_;
};

// SparseFillEmptyRows: every row of the dense tensor has an entry afterwards.
absl::Status ComputeFillEmptyRows(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
  const Tensor& otherwise = context.input(3);
  if (sparse.rank == 0 || otherwise.rank() != 0) {
    return Error(ErrorCode::kOpShape)
        .Input(sparse.rank == 0 ? 2 : 3)
        .Found(context.input(sparse.rank == 0 ? 2 : 3).shape().ToString())
        .Expected(sparse.rank == 0 ? "the shape of a tensor that has rows" : "a scalar");
  }
  const int64_t rows = sparse.shape.dim(0);
  for (int64_t i = 0; i < sparse.entries; ++i) {
    if (sparse.at(i)[0] >= 0 && sparse.at(i)[0] < rows) continue;
    return Error(ErrorCode::kOpValue)
        .Input(0, "indices")
        .Found(absl::StrCat("row ", sparse.at(i)[0], " in entry ", i))
        .Expected(absl::StrCat("0 to ", rows - 1));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const is_empty, context.AllocateOutput(2, Shape::Of({rows})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const new_places, context.AllocateOutput(3, Shape::Of({sparse.entries})));
  // Where the next entry of each row goes.
  SLUICE_ASSIGN_OR_RETURN(Tensor next_of_row, context.AllocateTemp(DType::kInt64, Shape::Of({rows})));
  const absl::Span<int64_t> next = next_of_row.flat<int64_t>();
  std::fill(next.begin(), next.end(), 0);
  for (int64_t i = 0; i < sparse.entries; ++i) ++next[static_cast<size_t>(sparse.at(i)[0])];
  int64_t total = 0;
  for (size_t row = 0; row < next.size(); ++row) {
    const int64_t count = next[row];
    is_empty->flat<bool>()[row] = count == 0;
    next[row] = total;
    total += std::max<int64_t>(count, 1);
  }
  const Shape indices_shape = Shape::Of({total, sparse.rank});
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, indices_shape));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({total})));
  int64_t* const to = indices->flat<int64_t>().data();
  for (int64_t row = 0; row < rows; ++row) {
    if (!is_empty->flat<bool>()[static_cast<size_t>(row)]) continue;
    int64_t* const at = to + next[static_cast<size_t>(row)] * sparse.rank;
    std::fill_n(at, sparse.rank, 0);
    at[0] = row;
  }
  DispatchMoved(values->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(*sparse.values);
    T* const out = Elements<T>(*values);
    for (size_t row = 0; row < next.size(); ++row) {
      if (is_empty->flat<bool>()[row]) out[next[row]] = Elements<T>(otherwise)[0];
    }
    for (int64_t i = 0; i < sparse.entries; ++i) {
      const int64_t place = next[static_cast<size_t>(sparse.at(i)[0])]++;
      new_places->flat<int64_t>()[static_cast<size_t>(i)] = place;
      std::copy_n(sparse.at(i), sparse.rank, to + place * sparse.rank);
      out[place] = from[i];
    }
  });
  return absl::OkStatus();
}

// The gradients of the entries, and of the default value: the sum of all others.
absl::Status ComputeFillEmptyRowsGrad(KernelContext& context) {
  const Tensor& places = context.input(0);
  const Tensor& grad = context.input(1);
  if (places.rank() != 1 || grad.rank() != 1) {
    return Error(ErrorCode::kOpShapes)
        .Found(absl::StrCat("reverse_index_map ", places.shape().ToString(), ", grad_values ", grad.shape().ToString()))
        .Expected("two vectors");
  }
  const absl::Span<const int64_t> from = places.flat<int64_t>();
  std::vector<bool> is_taken(static_cast<size_t>(grad.num_elements()), false);
  for (const int64_t place : from) {
    if (place < 0 || place >= grad.num_elements()) {
      return Error(ErrorCode::kOpValue)
          .Input(0, "reverse_index_map")
          .Found(absl::StrCat(place))
          .Expected(absl::StrCat("0 to ", grad.num_elements() - 1));
    }
    is_taken[static_cast<size_t>(place)] = true;
  }
  SLUICE_RETURN_IF_ERROR(GiveElements(context, 0, grad, from));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const rest, context.AllocateOutput(1, Shape()));
  DispatchDType<SumCppTypes>(AsUnsigned(grad.dtype()), [&](auto type) {
    using T = typename decltype(type)::Type;
    T sum = T(Wide<T>(0));
    for (size_t i = 0; i < is_taken.size(); ++i) {
      if (!is_taken[i])
        sum = T(static_cast<Wide<T>>(static_cast<Wide<T>>(sum) + static_cast<Wide<T>>(Elements<T>(grad)[i])));
    }
    Elements<T>(*rest)[0] = sum;
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("SparseToDense", FromAttr<SparseToDenseKernel, bool>("validate_indices")),
    KernelRow("SparseFillEmptyRows", &Call<ComputeFillEmptyRows>),
    KernelRow("SparseFillEmptyRowsGrad", &Call<ComputeFillEmptyRowsGrad>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> SparseToDenseKernels() { return kRows; }

}  // namespace sluice

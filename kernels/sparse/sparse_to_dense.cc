#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
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
      return ShapesError(absl::StrCat("sparse_indices ", indices.shape().ToString(), ", output_shape ",
                                      context.input(1).shape().ToString()),
                         "[entries, rank] and [rank], or [entries] and [1]");
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != entries)) {
      return ShapeError(2, "sparse_values", values.shape(), absl::StrCat("a scalar, or a vector of ", entries));
    }
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 3, "default_value"));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 1, "output_shape"));
    SLUICE_ASSIGN_OR_RETURN(const Tensor positions, ReadPositions(context, 0, "sparse_indices", shape));
    const absl::Span<const int64_t> places = positions.flat<int64_t>();
    if (must_ascend_) SLUICE_RETURN_IF_ERROR(CheckAscending(places));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    DispatchMoved(values.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      Put(context, places, Elements<T>(values), values.rank() > 0, Elements<T>(otherwise)[0],
          absl::MakeSpan(Elements<T>(*out), static_cast<size_t>(shape.num_elements())));
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckAscending(absl::Span<const int64_t> places) {
    for (size_t i = 1; i < places.size(); ++i) {
      if (places[i] > places[i - 1]) continue;
      return ValueError(0, "sparse_indices", absl::StrCat("entry ", i, " at or before the one that it follows"),
                        "ascending indices without repeats");
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

// Entries by row: coordinates [entries, rank], whose first column is the row, and values.
struct RowEntries {
  const int64_t* indices = nullptr;
  int64_t entries = 0;
  int64_t rank = 1;
  int64_t rows = 0;
  const Tensor* values = nullptr;

  int64_t row_of(int64_t i) const { return indices[i * rank]; }
};

// Gives output 2, whether each row is empty, and in `next` where the first entry of each row goes when every empty row
// has got one; the number of entries there are then.
absl::StatusOr<int64_t> FindEmptyRows(KernelContext& context, const RowEntries& from, absl::Span<int64_t> next) {
  for (int64_t i = 0; i < from.entries; ++i) {
    if (from.row_of(i) >= 0 && from.row_of(i) < from.rows) continue;
    return ValueError(0, "", absl::StrCat("row ", from.row_of(i), " in entry ", i),
                      absl::StrCat("0 to ", from.rows - 1));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const is_empty, context.AllocateOutput(2, Shape::Of({from.rows})));
  std::fill(next.begin(), next.end(), 0);
  for (int64_t i = 0; i < from.entries; ++i) ++next[static_cast<size_t>(from.row_of(i))];
  int64_t total = 0;
  for (size_t row = 0; row < next.size(); ++row) {
    const int64_t count = next[row];
    is_empty->flat<bool>()[row] = count == 0;
    next[row] = total;
    total += std::max<int64_t>(count, 1);
  }
  return total;
}

// Every row has an entry afterwards. Outputs: indices, a vector where `is_flat`; values; which rows were empty; where
// each entry went.
absl::Status FillEmptyRows(KernelContext& context, const RowEntries& from, const Tensor& otherwise, bool is_flat) {
  // Where the next entry of each row goes.
  SLUICE_ASSIGN_OR_RETURN(Tensor next_of_row, context.AllocateTemp(DType::kInt64, Shape::Of({from.rows})));
  const absl::Span<int64_t> next = next_of_row.flat<int64_t>();
  SLUICE_ASSIGN_OR_RETURN(const int64_t total, FindEmptyRows(context, from, next));
  const absl::Span<const bool> is_empty = context.output_entry(2).value().flat<bool>();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const new_places, context.AllocateOutput(3, Shape::Of({from.entries})));
  // Without rows TensorFlow gives an empty matrix for a vector, too.
  const Shape indices_shape = is_flat && from.rows > 0 ? Shape::Of({total}) : Shape::Of({total, from.rank});
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, indices_shape));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({total})));
  int64_t* const to = indices->flat<int64_t>().data();
  for (size_t row = 0; row < next.size(); ++row) {
    if (!is_empty[row]) continue;
    int64_t* const at = to + next[row] * from.rank;
    std::fill_n(at, from.rank, 0);
    at[0] = static_cast<int64_t>(row);
  }
  DispatchMoved(values->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const source = Elements<T>(*from.values);
    T* const out = Elements<T>(*values);
    for (size_t row = 0; row < next.size(); ++row) {
      if (is_empty[row]) out[next[row]] = Elements<T>(otherwise)[0];
    }
    for (int64_t i = 0; i < from.entries; ++i) {
      const int64_t place = next[static_cast<size_t>(from.row_of(i))]++;
      new_places->flat<int64_t>()[static_cast<size_t>(i)] = place;
      std::copy_n(from.indices + i * from.rank, from.rank, to + place * from.rank);
      out[place] = source[i];
    }
  });
  return absl::OkStatus();
}

absl::Status ComputeFillEmptyRows(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny, SizeRule::kAny));
  const Tensor& otherwise = context.input(3);
  if (sparse.rank == 0 || otherwise.rank() != 0) {
    return ShapeError(sparse.rank == 0 ? 2 : 3, "", context.input(sparse.rank == 0 ? 2 : 3).shape().ToString(),
                      sparse.rank == 0 ? "the shape of a tensor that has rows" : "a scalar");
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape rows, MakeShape({sparse.dims[0]}));
  return FillEmptyRows(context, {sparse.at(0), sparse.entries, sparse.rank, rows.dim(0), sparse.values}, otherwise,
                       /*is_flat=*/false);
}

// The same for values that each state the number of their row.
absl::Status ComputeRaggedFillEmptyRows(KernelContext& context) {
  const Tensor& ids = context.input(0);
  const Tensor& values = context.input(1);
  if (ids.rank() != 1 || values.shape() != ids.shape()) {
    return ShapesError(absl::StrCat("value_rowids ", ids.shape().ToString(), ", values ", values.shape().ToString()),
                       "two vectors of one length");
  }
  for (const int input : {2, 3}) SLUICE_RETURN_IF_ERROR(CheckScalar(context, input, ""));
  SLUICE_ASSIGN_OR_RETURN(const Shape rows, MakeShape({context.input(2).flat<int64_t>()[0]}));
  return FillEmptyRows(context, {ids.flat<int64_t>().data(), ids.num_elements(), 1, rows.dim(0), &values},
                       context.input(3), /*is_flat=*/true);
}

// The gradients of the entries, and of the default value: the sum of all others.
absl::Status ComputeFillEmptyRowsGrad(KernelContext& context) {
  const Tensor& places = context.input(0);
  const Tensor& grad = context.input(1);
  if (places.rank() != 1 || grad.rank() != 1) {
    return ShapesError(
        absl::StrCat("reverse_index_map ", places.shape().ToString(), ", grad_values ", grad.shape().ToString()),
        "two vectors");
  }
  const absl::Span<const int64_t> from = places.flat<int64_t>();
  std::vector<bool> is_taken(static_cast<size_t>(grad.num_elements()), false);
  for (const int64_t place : from) {
    if (place < 0 || place >= grad.num_elements()) {
      return ValueError(0, "reverse_index_map", place, absl::StrCat("0 to ", grad.num_elements() - 1));
    }
    is_taken[static_cast<size_t>(place)] = true;
  }
  SLUICE_RETURN_IF_ERROR(OutputElements(context, 0, grad, from));
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
    KernelRow("RaggedFillEmptyRows", &Call<ComputeRaggedFillEmptyRows>),
    KernelRow("RaggedFillEmptyRowsGrad", &Call<ComputeFillEmptyRowsGrad>).Types("T", kNumberTypes),
    KernelRow("SparseToDense", FromAttr<SparseToDenseKernel, bool>("validate_indices")),
    KernelRow("SparseFillEmptyRows", &Call<ComputeFillEmptyRows>),
    KernelRow("SparseFillEmptyRowsGrad", &Call<ComputeFillEmptyRowsGrad>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> SparseToDenseKernels() { return kRows; }

}  // namespace sluice

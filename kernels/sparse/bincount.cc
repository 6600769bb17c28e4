#include <algorithm>
#include <memory>
#include <utility>

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

// The inputs of any of the ops: numbers, how many bins there are, and weights, or none.
struct BinInputs {
  const Tensor& values;
  const Tensor& size;
  const Tensor& weights;
  int first = 0;  // The input that `values` is.
};

// How many bins there are.
absl::StatusOr<int64_t> ReadBins(const BinInputs& in) {
  if (in.size.rank() != 0) return ShapeError(in.first + 1, "size", in.size.shape(), "a scalar");
  const int64_t bins = IndexAt(in.size, 0);
  if (bins < 0) return ValueError(in.first + 1, "size", bins, "0 or more");
  if (in.weights.num_elements() != 0 && in.weights.shape() != in.values.shape()) {
    return ShapesError(in.first + 2, "weights", in.weights.shape(),
                       absl::StrCat("no element, or ", in.values.shape().ToString()));
  }
  for (int64_t i = 0; i < in.values.num_elements(); ++i) {
    const int64_t value = IndexAt(in.values, i);
    if (value >= 0) continue;
    return ValueError(in.first, "", absl::StrCat(value, " at ", i), "0 or more");
  }
  return bins;
}

// Counts values, or adds up their weights, in the row of `out` that `row_of(i)` says; values beyond the bins count
// nowhere. With `is_binary` a bin that has a value is 1.
template <typename RowOf>
void CountInto(const BinInputs& in, bool is_binary, int64_t bins, Tensor& out, RowOf row_of) {
  const bool is_weighted = in.weights.num_elements() > 0 && !is_binary;
  DispatchDType<TypeList<float, double, uint32_t, uint64_t>>(AsUnsigned(out.dtype()), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* const to = Elements<T>(out);
    std::fill_n(to, out.num_elements(), T(0));
    for (int64_t i = 0; i < in.values.num_elements(); ++i) {
      const int64_t value = IndexAt(in.values, i);
      if (value >= bins) continue;
      T& bin = to[row_of(i) * bins + value];
      bin = is_binary ? T(1) : bin + (is_weighted ? Elements<T>(in.weights)[i] : T(1));
    }
  });
}

// Bincount, DenseBincount: of all values, or, for a matrix in the second op, of each row.
class DenseKernel : public Kernel {
 public:
  explicit DenseKernel(bool is_binary, bool by_rows) : is_binary_(is_binary), by_rows_(by_rows) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool is_binary, construction.GetOr<bool>("binary_output", false));
    return std::make_unique<DenseKernel>(is_binary, construction.op() == "DenseBincount");
  }

  absl::Status Compute(KernelContext& context) const override {
    const BinInputs in{context.input(0), context.input(1), context.input(2), 0};
    if (by_rows_ && in.values.rank() > 2) return ShapeError(0, "input", in.values.shape(), "rank 2 or less");
    SLUICE_ASSIGN_OR_RETURN(const int64_t bins, ReadBins(in));
    const bool has_rows = by_rows_ && in.values.rank() == 2;
    const IndexVector dims = has_rows ? IndexVector{in.values.dim(0), bins} : IndexVector{bins};
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const int64_t width = has_rows ? std::max<int64_t>(in.values.dim(1), 1) : in.values.num_elements() + 1;
    CountInto(in, is_binary_, bins, *out, [width](int64_t i) { return i / width; });
    return absl::OkStatus();
  }

 private:
  const bool is_binary_, by_rows_;
};

// SparseBincount: of all values of a sparse vector, or of each row of a tensor of more axes.
class SparseKernel : public Kernel {
 public:
  explicit SparseKernel(bool is_binary) : is_binary_(is_binary) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kInside, SizeRule::kAny));
    if (sparse.rank < 1) return ShapeError(2, "dense_shape", "a scalar", "rank 1 or more");
    const BinInputs in{context.input(1), context.input(3), context.input(4), 1};
    SLUICE_ASSIGN_OR_RETURN(const int64_t bins, ReadBins(in));
    const bool has_rows = sparse.rank > 1;
    const IndexVector dims = has_rows ? IndexVector{sparse.dims[0], bins} : IndexVector{bins};
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    CountInto(in, is_binary_, bins, *out, [&](int64_t i) { return has_rows ? sparse.at(i)[0] : 0; });
    return absl::OkStatus();
  }

 private:
  const bool is_binary_;
};

// RaggedBincount: of each row, where row r is values [splits[r], splits[r + 1]).
class RaggedKernel : public Kernel {
 public:
  explicit RaggedKernel(bool is_binary) : is_binary_(is_binary) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& splits = context.input(0);
    const BinInputs in{context.input(1), context.input(2), context.input(3), 1};
    SLUICE_RETURN_IF_ERROR(CheckSplits(splits, in.values));
    SLUICE_ASSIGN_OR_RETURN(const int64_t bins, ReadBins(in));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({splits.dim(0) - 1, bins}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const absl::Span<const int64_t> ends = splits.flat<int64_t>();
    size_t row = 0;
    CountInto(in, is_binary_, bins, *out, [&](int64_t i) {
      if (i < ends[row]) row = 0;  // A new pass over the values.
      while (i >= ends[row + 1]) ++row;
      return static_cast<int64_t>(row);
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckSplits(const Tensor& splits, const Tensor& values) {
    bool fits = splits.rank() == 1 && splits.dim(0) > 0 && values.rank() == 1;
    if (fits) {
      const absl::Span<const int64_t> ends = splits.flat<int64_t>();
      fits = ends.front() == 0 && ends.back() == values.dim(0) && std::is_sorted(ends.begin(), ends.end());
    }
    if (fits) return absl::OkStatus();
    return ValueError(0, "splits", splits.ToString(),
                      absl::StrCat("ascending numbers from 0 to the number of values, ", values.num_elements()));
  }

  const bool is_binary_;
};

constexpr DTypeSet kCounted{DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble};

constexpr KernelRow kRows[] = {
    KernelRow("Bincount", &New<DenseKernel>).Types("T", kCounted),
    KernelRow("DenseBincount", &New<DenseKernel>).Types("T", kCounted),
    KernelRow("SparseBincount", FromAttr<SparseKernel, bool>("binary_output")).Types("T", kCounted),
    KernelRow("RaggedBincount", FromAttr<RaggedKernel, bool>("binary_output")).Types("T", kCounted),
};

}  // namespace

absl::Span<const KernelRow> BincountKernels() { return kRows; }

}  // namespace sluice

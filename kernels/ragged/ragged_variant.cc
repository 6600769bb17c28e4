// Ragged tensors as elements of other tensors: RaggedTensorToVariant, RaggedTensorFromVariant,
// RaggedTensorToVariantGradient.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/variant.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/ragged/families.h"
#include "kernels/ragged/ragged_value.h"
#include "kernels/ragged/row_splits.h"
#include "kernels/variant_functions.h"

namespace sluice {
namespace {

using Pieces = std::vector<const RaggedValue*>;

// All elements of `from` become those of `to` from `at` on. REQUIRES: equal dtypes, enough room.
void CopyTo(const Tensor& from, Tensor* to, int64_t at) {
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(from), from.num_elements(), Elements<T>(*to) + at);
  });
}

Variant MakeValue(std::vector<Tensor> splits, Tensor values) {
  return Variant(MakeCounted<RaggedValue>(std::move(splits), std::move(values)));
}

// --- RaggedTensorToVariant ----------------------------------------------------------------------------------------

// The ragged tensor as one element, or each of its rows as one.
class ToVariantKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<ToVariantKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->splits_, construction.InputRange("rt_nested_splits"));
    SLUICE_ASSIGN_OR_RETURN(kernel->in_rows_, construction.Get<bool>("batched_input"));
    if (kernel->in_rows_ && kernel->splits_.count == 0) {
      kernel->in_rows_ = false;
      kernel->cannot_divide_ = true;
    }
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    if (cannot_divide_) return AttrError("RAGGED_RANK", "0", "1 or more, as attr batched_input is true");
    if (splits_.count > 0) {
      SLUICE_RETURN_IF_ERROR(CheckRowSplits(context, splits_, "rt_nested_splits", splits_.count, SplitsRule::kAll));
    }
    if (in_rows_) return OutputRows(context);
    std::vector<Tensor> splits;
    for (int i = 0; i < splits_.count; ++i) splits.push_back(context.input(i));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape()));
    out->flat<Variant>()[0] = MakeValue(std::move(splits), context.input(splits_.count));
    return absl::OkStatus();
  }

 private:
  absl::Status OutputRows(KernelContext& context) const {
    const Tensor& top = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({top.dim(0) - 1})));
    const absl::Span<Variant> rows = out->flat<Variant>();
    for (size_t row = 0; row < rows.size(); ++row) {
      SLUICE_ASSIGN_OR_RETURN(rows[row], CopyRow(context, static_cast<int64_t>(row)));
    }
    return absl::OkStatus();
  }

  // A row in memory of its own: it may outlive the others.
  absl::StatusOr<Variant> CopyRow(KernelContext& context, int64_t row) const {
    int64_t begin = IndexAt(context.input(0), row), end = IndexAt(context.input(0), row + 1);
    std::vector<Tensor> splits;
    for (int i = 1; i < splits_.count; ++i) {
      const Tensor& all = context.input(i);
      SLUICE_ASSIGN_OR_RETURN(Tensor own, context.AllocateTemp(all.dtype(), Shape::Of({end - begin + 1})));
      const int64_t shift = IndexAt(all, begin);
      DispatchDType<IndexCppTypes>(all.dtype(), [&](auto type) {
        using T = typename decltype(type)::Type;
        const absl::Span<T> to = own.flat<T>();
        for (size_t k = 0; k < to.size(); ++k) {
          to[k] = static_cast<T>(IndexAt(all, begin + static_cast<int64_t>(k)) - shift);
        }
      });
      splits.push_back(std::move(own));
      end = IndexAt(all, end);
      begin = shift;
    }
    const Tensor& all = context.input(splits_.count);
    const Tensor part = all.SliceRows(begin, end);
    SLUICE_ASSIGN_OR_RETURN(Tensor values, context.AllocateTemp(all.dtype(), part.shape()));
    CopyTo(part, &values, 0);
    return MakeValue(std::move(splits), std::move(values));
  }

  ArgRange splits_;
  bool in_rows_ = false;
  bool cannot_divide_ = false;  // Found when the kernel is made, an error of each run.
};

// --- RaggedTensorFromVariant --------------------------------------------------------------------------------------

// The axes of a tensor of ragged tensors and those of its elements, as one ragged tensor.
class FromVariantKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<FromVariantKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->inner_rank_, construction.Get<int64_t>("input_ragged_rank"));
    SLUICE_ASSIGN_OR_RETURN(kernel->rank_, construction.Get<int64_t>("output_ragged_rank"));
    SLUICE_ASSIGN_OR_RETURN(kernel->splits_type_, construction.Get<DType>("Tsplits"));
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    int64_t inner = inner_rank_;
    if (inner < 0) inner = rank_ == 0 ? 0 : rank_ - input.rank();
    if (inner < 0 || ((rank_ != 0 || inner != 0) && rank_ - inner != input.rank())) {
      return ValueError(
          0, "encoded_ragged",
          absl::StrCat("rank ", input.rank(), ", input_ragged_rank ", inner_rank_, ", output_ragged_rank ", rank_),
          "ranks that add up: output_ragged_rank = input_ragged_rank + rank");
    }
    SLUICE_ASSIGN_OR_RETURN(const Pieces pieces, ReadPieces(context, inner));
    if (input.rank() == 0) {
      for (int i = 0; i < rank_; ++i) context.SetOutput(i, pieces[0]->splits()[static_cast<size_t>(i)]);
      context.SetOutput(static_cast<int>(rank_), pieces[0]->values());
      return absl::OkStatus();
    }
    SLUICE_RETURN_IF_ERROR(OutputValues(context, pieces));
    if (rank_ == 0) return absl::OkStatus();  // No axis is ragged: elements of one shape, stacked.
    return splits_type_ == DType::kInt32 ? OutputSplits<int32_t>(context, pieces, inner)
                                         : OutputSplits<int64_t>(context, pieces, inner);
  }

 private:
  absl::StatusOr<Pieces> ReadPieces(const KernelContext& context, int64_t inner) const {
    const DType type = context.output_type(static_cast<int>(rank_));
    Pieces pieces;
    for (const Variant& element : context.input(0).flat<Variant>()) {
      const RaggedValue* const piece = element.Get<RaggedValue>();
      const auto wrong = [&pieces](absl::string_view found, absl::string_view expected) {
        return ValueError(0, "encoded_ragged", absl::StrCat(found, " in element ", pieces.size()), expected);
      };
      if (piece == nullptr) {
        return wrong(element.has_value() ? absl::StrCat("a ", element.type_name()) : "no value", "a ragged tensor");
      }
      if (static_cast<int64_t>(piece->splits().size()) != inner) {
        return wrong(absl::StrCat(piece->splits().size(), " ragged axes"), absl::StrCat(inner));
      }
      if (piece->values().dtype() != type) return wrong(DTypeName(piece->values().dtype()), DTypeName(type));
      if (piece->values().rank() < 1 && rank_ != 0) return wrong("a scalar as values", "rows");
      for (const Tensor& splits : piece->splits()) {
        if (splits.dtype() == splits_type_ && splits.rank() == 1 && splits.num_elements() > 0) continue;
        return wrong(absl::StrCat("row splits ", DTypeName(splits.dtype()), splits.shape().ToString()),
                     absl::StrCat("a vector of ", DTypeName(splits_type_), " that is not empty"));
      }
      pieces.push_back(piece);
    }
    return pieces;
  }

  // The values of all, one after the other; as rows of a new axis where no axis is ragged.
  absl::Status OutputValues(KernelContext& context, const Pieces& pieces) const {
    IndexVector dims = {0};
    if (!pieces.empty()) {
      const absl::Span<const int64_t> first = pieces[0]->values().shape().dims();
      dims.insert(dims.end(), first.begin() + (rank_ > 0 ? 1 : 0), first.end());
    }
    for (const RaggedValue* const piece : pieces) {
      const absl::Span<const int64_t> own = piece->values().shape().dims();
      const size_t skipped = rank_ > 0 ? 1 : 0;
      if (!std::equal(dims.begin() + 1, dims.end(), own.begin() + skipped, own.end())) {
        return ShapesError(0, "encoded_ragged",
                           absl::StrCat("values ", piece->values().shape().ToString(), " and ",
                                        pieces[0]->values().shape().ToString()),
                           rank_ > 0 ? "equal sizes but of the first axis" : "equal shapes");
      }
      if (!CheckedAdd(dims[0], rank_ > 0 ? own[0] : 1, &dims[0])) {
        return Error(ErrorCode::kOpTooLarge).Text("no rows of the result can be counted");
      }
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(static_cast<int>(rank_), shape));
    int64_t at = 0;
    for (const RaggedValue* const piece : pieces) {
      CopyTo(piece->values(), out, at);
      at += piece->values().num_elements();
    }
    return absl::OkStatus();
  }

  // Splits of the axes of the input, then of those of its elements.
  template <typename Split>
  absl::Status OutputSplits(KernelContext& context, const Pieces& pieces, int64_t inner) const {
    const Shape& batch = context.input(0).shape();
    for (int axis = 0; axis + 1 < batch.rank(); ++axis) {
      SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({batch.dim(axis) + 1}));
      SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(axis, shape));
      // As in TensorFlow: so many, whatever the axes before. Wraps: beside an axis without elements any size may stand.
      for (int64_t i = 0; i <= batch.dim(axis); ++i) {
        out->flat<Split>()[static_cast<size_t>(i)] =
            static_cast<Split>(static_cast<uint64_t>(i) * static_cast<uint64_t>(batch.dim(axis + 1)));
      }
    }
    std::vector<int64_t> counts;
    for (const RaggedValue* const piece : pieces) {
      counts.push_back(inner > 0 ? piece->splits()[0].num_elements() - 1 : piece->values().dim(0));
    }
    SLUICE_ASSIGN_OR_RETURN(
        Tensor* const rows,
        context.AllocateOutput(batch.rank() - 1, Shape::Of({static_cast<int64_t>(counts.size()) + 1})));
    Split* to = rows->flat<Split>().data();
    *to = 0;
    for (const int64_t count : counts) to = AddTo<Split>(to, count);
    for (int64_t level = 0; level < inner; ++level) {
      SLUICE_RETURN_IF_ERROR(
          JoinSplits<Split>(context, pieces, static_cast<size_t>(level), static_cast<int>(batch.rank() + level)));
    }
    return absl::OkStatus();
  }

  // Writes *last + count behind `last`. Wraps around: splits inside elements have not been checked.
  template <typename Split>
  static Split* AddTo(Split* last, int64_t count) {
    last[1] = static_cast<Split>(static_cast<uint64_t>(*last) + static_cast<uint64_t>(count));
    return last + 1;
  }

  template <typename Split>
  static absl::Status JoinSplits(KernelContext& context, const Pieces& pieces, size_t level, int output) {
    int64_t total = 1;
    for (const RaggedValue* const piece : pieces) total += piece->splits()[level].num_elements() - 1;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(output, Shape::Of({total})));
    Split* to = out->flat<Split>().data();
    *to = 0;
    for (const RaggedValue* const piece : pieces) {
      const Split base = *to;
      for (const Split split : piece->splits()[level].flat<Split>().subspan(1)) {
        *++to = static_cast<Split>(static_cast<uint64_t>(base) + static_cast<uint64_t>(split));
      }
    }
    return absl::OkStatus();
  }

  int64_t inner_rank_ = 0, rank_ = 0;
  DType splits_type_ = DType::kInt64;
};

// --- RaggedTensorToVariantGradient --------------------------------------------------------------------------------

// The elements of the gradient of row `i` of values of `shape`: of the gradient itself or, where it is not there
// (null), of as many rows as the splits say.
absl::StatusOr<int64_t> SizeOfRow(const KernelContext& context, const Tensor* grad, int64_t i, const Shape& shape) {
  if (grad != nullptr) {
    if (grad->dtype() == context.output_type(0)) return grad->num_elements();
    return ValueError(0, "encoded_ragged_grad", absl::StrCat(DTypeName(grad->dtype()), " in element ", i),
                      DTypeName(context.output_type(0)));
  }
  const Tensor& splits = context.input(1);
  if (i + 1 >= splits.num_elements() || shape.rank() == 0) {
    return ShapeError(1, "row_splits", splits.shape(),
                      absl::StrCat("splits of ", context.input(0).num_elements(), " rows"));
  }
  const int64_t begin = IndexAt(splits, i), end = IndexAt(splits, i + 1);
  if (begin < 0 || end < begin || end > shape.dim(0)) {
    return ValueError(1, "row_splits", absl::StrCat(begin, " to ", end, " as row ", i),
                      absl::StrCat("rows that ascend up to ", shape.dim(0)));
  }
  return (end - begin) * SizeOfAxes(shape, 1, shape.rank());
}

// The values of ragged gradients, one after the other; zeros for one that is not there.
absl::Status ToVariantGradient(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 2, "dense_values_shape"));
  std::vector<const Tensor*> pieces;
  std::vector<int64_t> sizes;
  int64_t missing = shape.num_elements();
  for (const Variant& element : context.input(0).flat<Variant>()) {
    const RaggedValue* const grad = element.Get<RaggedValue>();
    pieces.push_back(grad != nullptr ? &grad->values() : nullptr);
    const int64_t row = static_cast<int64_t>(sizes.size());
    SLUICE_ASSIGN_OR_RETURN(const int64_t size, SizeOfRow(context, pieces.back(), row, shape));
    sizes.push_back(size);
    missing = missing < size ? -1 : missing - size;
  }
  if (pieces.size() == 1 && pieces[0] != nullptr) {
    context.SetOutput(0, *pieces[0]);
    return absl::OkStatus();
  }
  if (missing != 0) {
    return ShapesError(absl::StrCat(missing < 0 ? "more" : "fewer", " elements of gradients"),
                       absl::StrCat(shape.num_elements(), ", as the values have"));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  int64_t at = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i] != nullptr) {
      CopyTo(*pieces[i], out, at);
    } else {
      DispatchMoved(out->dtype(), [&](auto type) {
        using T = typename decltype(type)::Type;
        std::fill_n(Elements<T>(*out) + at, sizes[i], T());
      });
    }
    at += sizes[i];
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("RaggedTensorFromVariant", &New<FromVariantKernel>).Types("Tsplits", kIndexTypes),
    KernelRow("RaggedTensorToVariant", &New<ToVariantKernel>).Types("Tsplits", kIndexTypes),
    KernelRow("RaggedTensorToVariantGradient", &Call<ToVariantGradient>).Types("Tsplits", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> RaggedVariantKernels() {
  // Once in the process. A host program that has given the type functions of its own keeps them.
  static const absl::Status added = AddVariantFunctions(RaggedValueFunctions());
  added.IgnoreError();
  return kRows;
}

}  // namespace sluice

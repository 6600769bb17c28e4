#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/state/families.h"
#include "kernels/state/rows.h"
#include "kernels/state/tensor_array.h"

namespace sluice {
namespace {

using Indices = std::vector<int64_t>;

Indices Iota(int64_t count) {
  Indices indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// The numbers in input `i`, a vector.
absl::StatusOr<Indices> VectorInput(const KernelContext& context, int i, absl::string_view name) {
  const Tensor& input = context.input(i);
  SLUICE_RETURN_IF_ERROR(CheckVector(context, i, name));
  Indices values(static_cast<size_t>(input.num_elements()));
  for (size_t k = 0; k < values.size(); ++k) values[k] = IndexAt(input, static_cast<int64_t>(k));
  return values;
}

absl::StatusOr<Shape> WithFirst(int64_t first, absl::Span<const int64_t> rest) {
  IndexVector dims{first};
  dims.insert(dims.end(), rest.begin(), rest.end());
  return MakeShape(dims);
}

// The rank of the value in input `i` must be at least 1.
absl::Status CheckHasRows(const Tensor& value, int i) {
  if (value.rank() > 0) return absl::OkStatus();
  return ShapeError(i, "value", "a scalar", "at least a vector");
}

// No elements: the shape of the result follows from the elements' declared shape, which must be fully known.
absl::Status GiveEmpty(KernelContext& context, const PartialShape& rest) {
  if (!rest.IsFullyDefined()) {
    return Error(ErrorCode::kOpUnimplemented)
        .Found(absl::StrCat("no elements, of shape ", rest.ToString()))
        .Expected("a fully known shape of the elements");
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithFirst(0, rest.dims()));
  return context.AllocateOutput(0, shape).status();
}

absl::Status ShapesDiffer(size_t i, const Tensor& found, const Tensor& first) {
  return Error(ErrorCode::kTensorArray)
      .Found(found.shape().ToString())
      .Expected(first.shape().ToString())
      .Text(absl::StrCat("element ", i, " of those read differs in shape from the first"));
}

// Gather and Pack: elements as rows of a tensor.
class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(PartialShape element_shape) : element_shape_(std::move(element_shape)) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
    SLUICE_RETURN_IF_ERROR(array->CheckDType(context.output_type(0)));
    SLUICE_RETURN_IF_ERROR(array->MergeElementShape(element_shape_).status());
    Indices indices;
    if (context.num_inputs() == 3) {
      SLUICE_ASSIGN_OR_RETURN(indices, VectorInput(context, 1, "indices"));
    } else {
      SLUICE_ASSIGN_OR_RETURN(const int64_t size, array->SizeToConcat());
      indices = Iota(size);
    }
    if (indices.empty()) return GiveEmpty(context, element_shape_);  // Whatever the array knows.
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, array->Read(indices, context.allocator()));
    if (!element_shape_.IsCompatibleWith(values[0].shape())) {
      return Error(ErrorCode::kTensorArray)
          .Found(values[0].shape().ToString())
          .Expected(element_shape_.ToString())
          .Text(absl::StrCat("element ", indices[0], " has another shape than the op declares"));
    }
    return Stack(context, values);
  }

 private:
  static absl::Status Stack(KernelContext& context, const std::vector<Tensor>& values) {
    const Tensor& first = values[0];
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithFirst(static_cast<int64_t>(values.size()), first.shape().dims()));
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i].shape() != first.shape()) return ShapesDiffer(i, values[i], first);
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    for (size_t i = 0; i < values.size(); ++i) {
      PutElements(*out, static_cast<int64_t>(i) * first.num_elements(), values[i]);
    }
    return absl::OkStatus();
  }

  const PartialShape element_shape_;
};

// All elements one after the other along their first axis, and how long each was.
class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(PartialShape rest) : rest_(std::move(rest)) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
    SLUICE_RETURN_IF_ERROR(array->CheckDType(context.output_type(0)));
    SLUICE_ASSIGN_OR_RETURN(const int64_t size, array->SizeToConcat());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const lengths, context.AllocateOutput(1, Shape::Of({size})));
    if (size == 0) return GiveEmpty(context, rest_);
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, array->Read(Iota(size), context.allocator()));
    SLUICE_ASSIGN_OR_RETURN(const int64_t rows, MeasureRows(values, lengths->flat<int64_t>()));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithFirst(rows, values[0].shape().dims().subspan(1)));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    int64_t begin = 0;
    for (const Tensor& value : values) {
      PutElements(*out, begin, value);
      begin += value.num_elements();
    }
    return absl::OkStatus();
  }

 private:
  // Rows of all values together, and of each.
  absl::StatusOr<int64_t> MeasureRows(const std::vector<Tensor>& values, absl::Span<int64_t> lengths) const {
    int64_t rows = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const Tensor& value = values[i];
      if (value.rank() == 0) {
        return Error(ErrorCode::kTensorArray).Text(absl::StrCat("element ", i, " is a scalar and has no first axis"));
      }
      const absl::Span<const int64_t> rest = value.shape().dims().subspan(1);
      if (rest != values[0].shape().dims().subspan(1)) return ShapesDiffer(i, value, values[0]);
      SLUICE_ASSIGN_OR_RETURN(const PartialShape known, PartialShape::Make(rest));
      if (!rest_.IsCompatibleWith(known)) {
        return Error(ErrorCode::kTensorArray)
            .Found(value.shape().ToString())
            .Expected(absl::StrCat("[?] followed by ", rest_.ToString()));
      }
      lengths[i] = value.dim(0);
      if (!CheckedAdd(rows, value.dim(0), &rows)) return Error(ErrorCode::kOpTooLarge).Text("too many rows");
    }
    return rows;
  }

  const PartialShape rest_;
};

// Scatter and Unpack: rows of a tensor as elements.
absl::Status ComputeScatter(KernelContext& context) {
  const bool has_indices = context.num_inputs() == 4;
  const int value_input = has_indices ? 2 : 1;
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  const Tensor& value = context.input(value_input);
  SLUICE_RETURN_IF_ERROR(CheckHasRows(value, value_input));
  SLUICE_RETURN_IF_ERROR(array->CheckDType(value.dtype()));
  SLUICE_ASSIGN_OR_RETURN(const Shape row, Shape::Make(value.shape().dims().subspan(1)));
  Indices indices;
  if (has_indices) {
    SLUICE_ASSIGN_OR_RETURN(indices, VectorInput(context, 1, "indices"));
    if (static_cast<int64_t>(indices.size()) != value.dim(0)) {
      return ShapesError(absl::StrCat(indices.size(), " indices, value ", value.shape().ToString()),
                         "as many rows as indices");
    }
  } else {
    SLUICE_RETURN_IF_ERROR(array->CheckOrGrowSize(value.dim(0)));  // First: it bounds the size.
    indices = Iota(value.dim(0));
  }
  std::vector<Tensor> rows;
  rows.reserve(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * row.num_elements();
    SLUICE_ASSIGN_OR_RETURN(Tensor part, CopyElements(value, begin, row, context.allocator()));
    rows.push_back(std::move(part));
  }
  SLUICE_RETURN_IF_ERROR(array->Write(indices, absl::MakeSpan(rows), context.allocator()));
  context.SetOutput(0, context.TakeInput(value_input + 1));
  return absl::OkStatus();
}

// Checks that `lengths` cut `rows` rows up without a rest.
absl::Status CheckLengths(const Indices& lengths, int64_t rows) {
  int64_t left = rows;
  for (const int64_t length : lengths) {
    if (length < 0 || length > left) {
      left = -1;
      break;
    }
    left -= length;
  }
  if (left == 0) return absl::OkStatus();
  return ShapesError(absl::StrCat(rows, " rows, ", lengths.size(), " lengths"),
                     "lengths that add up to the number of rows");
}

// Parts of a tensor, cut along the first axis, as elements.
absl::Status ComputeSplit(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<TensorArray> array, LookupStepInput<TensorArray>(context, 0));
  const Tensor& value = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckHasRows(value, 1));
  SLUICE_RETURN_IF_ERROR(array->CheckDType(value.dtype()));
  SLUICE_ASSIGN_OR_RETURN(const Indices lengths, VectorInput(context, 2, "lengths"));
  SLUICE_RETURN_IF_ERROR(CheckLengths(lengths, value.dim(0)));
  SLUICE_RETURN_IF_ERROR(array->CheckOrGrowSize(static_cast<int64_t>(lengths.size())));
  std::vector<Tensor> parts;
  parts.reserve(lengths.size());
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, WithFirst(length, value.shape().dims().subspan(1)));
    SLUICE_ASSIGN_OR_RETURN(Tensor part, CopyElements(value, begin, shape, context.allocator()));
    begin += shape.num_elements();
    parts.push_back(std::move(part));
  }
  const Indices indices = Iota(static_cast<int64_t>(parts.size()));
  SLUICE_RETURN_IF_ERROR(array->Write(indices, absl::MakeSpan(parts), context.allocator()));
  context.SetOutput(0, context.TakeInput(3));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("TensorArrayGather", FromAttr<GatherKernel, PartialShape>("element_shape")),
    KernelRow("TensorArrayGatherV2", FromAttr<GatherKernel, PartialShape>("element_shape")),
    KernelRow("TensorArrayGatherV3", FromAttr<GatherKernel, PartialShape>("element_shape")),
    KernelRow("TensorArrayPack", FromAttr<GatherKernel, PartialShape>("element_shape")),
    KernelRow("TensorArrayConcat", FromAttr<ConcatKernel, PartialShape>("element_shape_except0")),
    KernelRow("TensorArrayConcatV2", FromAttr<ConcatKernel, PartialShape>("element_shape_except0")),
    KernelRow("TensorArrayConcatV3", FromAttr<ConcatKernel, PartialShape>("element_shape_except0")),
    KernelRow("TensorArrayScatter", &Call<ComputeScatter>),
    KernelRow("TensorArrayScatterV2", &Call<ComputeScatter>),
    KernelRow("TensorArrayScatterV3", &Call<ComputeScatter>),
    KernelRow("TensorArrayUnpack", &Call<ComputeScatter>),
    KernelRow("TensorArraySplit", &Call<ComputeSplit>),
    KernelRow("TensorArraySplitV2", &Call<ComputeSplit>),
    KernelRow("TensorArraySplitV3", &Call<ComputeSplit>),
};

}  // namespace

absl::Span<const KernelRow> TensorArrayRowsKernels() { return kRows; }

}  // namespace sluice

#include "kernels/array/index_values.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/checked_math.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// "[2,3]"; the first few sizes of a long list.
std::string SizesText(absl::Span<const int64_t> dims) {
  constexpr size_t kShown = 16;
  if (dims.size() <= kShown) return absl::StrCat("[", absl::StrJoin(dims, ","), "]");
  return absl::StrCat("[", absl::StrJoin(dims.first(kShown), ","), ",... ", dims.size(), " in all]");
}

// As TensorFlow has it: elements that an int64 counts are only too many for this machine's memory, more than that are
// an error of the graph.
ErrorCode CodeOfTooMany(absl::Span<const int64_t> dims) {
  int64_t elements = 1;
  const bool is_counted =
      std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return CheckedMul(elements, d, &elements); });
  return is_counted ? ErrorCode::kOutOfMemory : ErrorCode::kOpTooLarge;
}

}  // namespace

absl::StatusOr<IndexVector> ReadIndexVector(const KernelContext& context, int input, absl::string_view name,
                                            ListRank rank) {
  const Tensor& tensor = context.input(input);
  const bool fits =
      rank == ListRank::kAny || tensor.rank() == 1 || (rank == ListRank::kScalarOrVector && tensor.rank() == 0);
  if (!fits || (rank != ListRank::kAny && tensor.num_elements() > kMaxRank)) {
    return ShapeError(input, name, tensor.shape(), fits ? absl::StrCat("at most ", kMaxRank, " elements") : "a vector");
  }
  IndexVector values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = IndexAt(tensor, static_cast<int64_t>(i));
  return values;
}

absl::StatusOr<int64_t> ReadIndexScalar(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& tensor = context.input(input);
  if (tensor.num_elements() != 1) return ShapeError(input, name, tensor.shape(), "a scalar");
  return IndexAt(tensor, 0);
}

absl::StatusOr<int64_t> ReadScalar(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, input, name));
  return IndexAt(context.input(input), 0);
}

absl::StatusOr<int64_t> ReadCount(const KernelContext& context, int input, absl::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, ReadScalar(context, input, name));
  if (count >= 0) return count;
  return ValueError(input, name, count, "0 or more");
}

absl::Status SetIndexOutput(KernelContext& context, int i, absl::Span<const int64_t> values) {
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, Shape::Of({static_cast<int64_t>(values.size())})));
  if (output->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), output->flat<int64_t>().begin());
  } else {
    std::transform(values.begin(), values.end(), output->flat<int32_t>().begin(),
                   [](int64_t value) { return static_cast<int32_t>(value); });
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> ReadShapeInput(const KernelContext& context, int input, absl::string_view name, ListRank rank) {
  SLUICE_ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(context, input, name, rank));
  for (const int64_t size : dims) {
    if (size < 0) return ValueError(input, name, size, "sizes of 0 or more");
  }
  return MakeShape(dims);
}

absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, int input, absl::string_view name) {
  if (axis < -rank || axis >= rank) {
    return ValueError(input, name, absl::StrCat("axis ", axis),
                      rank == 0 ? "no axis: the tensor is a scalar" : absl::StrCat(-rank, " to ", rank - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int> ReadAxis(const KernelContext& context, int input, absl::string_view name, int rank) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t axis, ReadIndexScalar(context, input, name));
  return ResolveAxis(axis, rank, input, name);
}

absl::StatusOr<Shape> MakeShape(absl::Span<const int64_t> dims) {
  // No memory holds more: 2^48 is the address space.
  constexpr int64_t kMaxElements = int64_t{1} << 48;
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (shape.ok() && shape->num_elements() <= kMaxElements) return shape;
  if (dims.size() > kMaxRank) {
    return Error(ErrorCode::kOpTooLarge)
        .Found(absl::StrCat(dims.size(), " dimensions"))
        .Expected(absl::StrCat("at most ", kMaxRank));
  }
  const auto negative = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
  if (negative != dims.end()) {
    return ValueError(absl::StrCat("size ", *negative, " in dimension ", negative - dims.begin()),
                      "sizes of 0 or more");
  }
  return Error(CodeOfTooMany(dims)).Found(SizesText(dims)).Text("no memory holds a tensor of this shape");
}

IndexVector RowMajorStrides(const Shape& shape) {
  IndexVector strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    stride *= shape.dim(axis);
  }
  return strides;
}

int64_t SizeOfAxes(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= shape.dim(axis);
  return product;
}

}  // namespace sluice

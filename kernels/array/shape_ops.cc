#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

absl::Status TooLargeForInt32(int input, int64_t value) {
  return Error(ErrorCode::kOpValue)
      .Input(input)
      .Found(absl::StrCat("size ", value))
      .Expected("a size that fits int32")
      .Help("Set attr 'out_type' to int64.");
}

// --- Shape, ShapeN, Size, Rank -----------------------------------------------------------------------------------

// The sizes of each input, as a vector.
absl::Status ComputeShape(KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Shape& shape = context.input(i).shape();
    SLUICE_ASSIGN_OR_RETURN(Tensor * sizes, context.AllocateOutput(i, Shape::Of({shape.rank()})));
    if (sizes->dtype() == DType::kInt64) {
      std::copy(shape.dims().begin(), shape.dims().end(), sizes->flat<int64_t>().begin());
      continue;
    }
    const absl::Span<int32_t> values = sizes->flat<int32_t>();
    for (size_t axis = 0; axis < values.size(); ++axis) {
      const int64_t size = shape.dims()[axis];
      if (size > kMaxInt32) return TooLargeForInt32(i, size);
      values[axis] = static_cast<int32_t>(size);
    }
  }
  return absl::OkStatus();
}

absl::Status ComputeSize(KernelContext& context) {
  const int64_t size = context.input(0).num_elements();
  if (context.output_type(0) == DType::kInt64) {
    context.SetScalar<int64_t>(0, size);
  } else if (size > kMaxInt32) {
    return TooLargeForInt32(0, size);
  } else {
    context.SetScalar<int32_t>(0, static_cast<int32_t>(size));
  }
  return absl::OkStatus();
}

absl::Status ComputeRank(KernelContext& context) {
  context.SetScalar<int32_t>(0, context.input(0).rank());
  return absl::OkStatus();
}

// --- Reshape, ExpandDims, Squeeze, EnsureShape -------------------------------------------------------------------

// Hands input 0 on as output 0 under another shape of as many elements.
absl::Status ForwardAs(KernelContext& context, const Shape& shape) {
  if (context.input(0).shape() == shape) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor reshaped, context.TakeInput(0).Reshaped(shape));
  context.SetOutput(0, std::move(reshaped));
  return absl::OkStatus();
}

// Replaces the -1 of `dims` by the size that `shape` leaves for it. Sizes of 0 are left out of the count unless no
// wanted size is 0: [0,3] becomes [3,0] for [-1,0].
absl::Status InferSize(const Shape& shape, IndexVector* dims) {
  int64_t* unknown = nullptr;
  bool wants_zero = false;
  int64_t known = 1;
  for (int64_t& size : *dims) {
    if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else if (size < 0) {
      return ValueError(1, "shape", size, "sizes of 0 or more, or -1 once");
    } else if (size == 0) {
      wants_zero = true;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return Error(ErrorCode::kOpTooLarge).Input(1, "shape").Text("holds sizes whose product overflows");
    }
  }
  if (unknown == nullptr) return absl::OkStatus();
  int64_t elements = 1;
  for (const int64_t size : shape.dims()) {
    if (size > 0 || !wants_zero) elements *= size;
  }
  *unknown = elements / known;
  return absl::OkStatus();
}

absl::Status ComputeReshape(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(IndexVector dims, ReadIndexVector(context, 1, "shape", ListRank::kScalarOrVector));
  const Tensor& tensor = context.input(0);
  SLUICE_RETURN_IF_ERROR(InferSize(tensor.shape(), &dims));
  int64_t elements = 1;  // InferSize has seen that the product can be counted.
  for (const int64_t size : dims) elements *= size;
  // Before the shape is made: that a shape is too large for any memory is not what is wrong here.
  if (elements != tensor.num_elements()) {
    return ShapesError(absl::StrCat(tensor.shape().ToString(), " with ", tensor.num_elements(), " elements"),
                       absl::StrCat(elements, " elements for shape [", absl::StrJoin(dims, ","), "]"));
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  return ForwardAs(context, shape);
}

absl::Status ComputeExpandDims(KernelContext& context) {
  const Shape& old = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 1, "dim", old.rank() + 1));
  IndexVector dims(old.dims().begin(), old.dims().end());
  dims.insert(dims.begin() + axis, 1);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  return ForwardAs(context, shape);
}

// Leaves out axes of size 1: those of attr squeeze_dims, or all.
class SqueezeKernel final : public Kernel {
 public:
  explicit SqueezeKernel(std::vector<int64_t> axes) : axes_(std::move(axes)) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape& old = context.input(0).shape();
    IndexVector dims(old.dims().begin(), old.dims().end());
    for (const int64_t axis : axes_) {
      if (axis < -old.rank() || axis >= old.rank()) {
        return AttrError("squeeze_dims", absl::StrCat("axis ", axis),
                         absl::StrCat(-old.rank(), " to ", old.rank() - 1, " for shape ", old.ToString()));
      }
      int64_t& size = dims[static_cast<size_t>(axis < 0 ? axis + old.rank() : axis)];
      if (size != 1 && size != kLeftOut) return ShapeError(0, "", old, absl::StrCat("size 1 in dimension ", axis));
      size = kLeftOut;
    }
    const int64_t gone = axes_.empty() ? 1 : kLeftOut;
    dims.erase(std::remove(dims.begin(), dims.end(), gone), dims.end());
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    return ForwardAs(context, shape);
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static constexpr int64_t kLeftOut = -1;
  const std::vector<int64_t> axes_;
};

// Hands its input on if it has the shape that attr `shape` asks for.
class EnsureShapeKernel final : public Kernel {
 public:
  explicit EnsureShapeKernel(PartialShape shape) : shape_(std::move(shape)) {}
  absl::Status Compute(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape();
    if (!shape_.IsCompatibleWith(shape)) return ShapeError(0, "", shape, shape_.ToString());
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const PartialShape shape_;
};

// Hands its input on: what it says about it is for passes.
absl::Status ComputeGuaranteeConst(KernelContext& context) {
  context.SetOutput(0, context.TakeInput(0));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("GuaranteeConst", &Call<ComputeGuaranteeConst>).Cheap().Shared(Sharing::kEqualNodes),
    KernelRow("Shape", &Call<ComputeShape>).Cheap(),
    KernelRow("ShapeN", &Call<ComputeShape>).Cheap(),
    KernelRow("Size", &Call<ComputeSize>).Cheap(),
    KernelRow("Rank", &Call<ComputeRank>).Cheap(),
    KernelRow("Reshape", &Call<ComputeReshape>).Cheap(),
    KernelRow("ExpandDims", &Call<ComputeExpandDims>).Cheap(),
    KernelRow("Squeeze", FromAttr<SqueezeKernel, std::vector<int64_t>>("squeeze_dims")),
    KernelRow("EnsureShape", FromAttr<EnsureShapeKernel, PartialShape>("shape")),
};

}  // namespace

absl::Span<const KernelRow> ShapeKernels() { return kRows; }

}  // namespace sluice

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

constexpr int kMaxReverseRank = 8;

// --- Reverse, ReverseV2 ------------------------------------------------------------------------------------------

// Output 0 becomes input 0 with the axes that are marked running backwards.
absl::Status ReverseAxes(KernelContext& context, absl::Span<const bool> backwards) {
  const Tensor& input = context.input(0);
  if (input.rank() > kMaxReverseRank) {
    return Error(ErrorCode::kOpUnimplemented)
        .Input(0, "tensor")
        .Found(absl::StrCat("rank ", input.rank()))
        .Expected(absl::StrCat("at most ", kMaxReverseRank));
  }
  const IndexVector strides = RowMajorStrides(input.shape());
  CopyAxes axes(strides.size());
  int64_t first = 0;
  bool changes = false;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    const int64_t size = input.shape().dims()[axis];
    const bool turns = backwards[axis] && size > 1;
    axes[axis] = {size, strides[axis], turns ? -strides[axis] : strides[axis]};
    if (turns) first += (size - 1) * strides[axis];
    changes |= turns;
  }
  if (!changes || input.num_elements() == 0) return ForwardOrCopy(context, 0);
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
  CopyStrided(context, axes, *output, 0, input, first);
  return absl::OkStatus();
}

absl::Status ComputeReverse(KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& dims = context.input(1);
  if (dims.rank() != 1 || (input.rank() > 0 && dims.num_elements() != input.rank())) {
    return ShapeError(1, "dims", dims.shape(), absl::StrCat("one per dimension of ", input.shape().ToString()));
  }
  if (input.rank() == 0) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  if (input.dim(0) == 0) {  // So it is in TensorFlow, for the first dimension only.
    return ShapeError(0, "tensor", input.shape(), "some rows");
  }
  return ReverseAxes(context, dims.flat<bool>());
}

absl::Status ComputeReverseV2(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0 || input.num_elements() == 0) {  // Whatever the axes are.
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(context, 1, "axis"));
  absl::InlinedVector<bool, 16> backwards(static_cast<size_t>(input.rank()), false);
  for (const int64_t value : axes) {
    SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(value, input.rank(), 1, "axis"));
    if (backwards[static_cast<size_t>(axis)]) {
      return ValueError(1, "axis", absl::StrCat("axis ", value, " twice"), "each axis once");
    }
    backwards[static_cast<size_t>(axis)] = true;
  }
  return ReverseAxes(context, backwards);
}

// --- ReverseSequence ---------------------------------------------------------------------------------------------

// Turns the first seq_lengths[b] elements along seq_dim around, for each index b of batch_dim.
class ReverseSequenceKernel final : public Kernel {
 public:
  ReverseSequenceKernel(int64_t seq_dim, int64_t batch_dim) : seq_dim_(seq_dim), batch_dim_(batch_dim) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t seq_dim, construction.Get<int64_t>("seq_dim"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t batch_dim, construction.Get<int64_t>("batch_dim"));
    return std::make_unique<ReverseSequenceKernel>(seq_dim, batch_dim);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckInputs(input, context.input(1)));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    const IndexVector strides = RowMajorStrides(input.shape());
    CopyAxes axes(strides.size());
    for (size_t i = 0; i < strides.size(); ++i) axes[i] = {input.shape().dims()[i], strides[i], strides[i]};
    const size_t seq = static_cast<size_t>(seq_dim_);
    const size_t batch = static_cast<size_t>(batch_dim_);
    const int64_t whole = axes[seq].size;
    const int64_t stride = strides[seq];
    axes[batch].size = 1;
    for (int64_t b = 0; b < input.dim(static_cast<int>(batch_dim_)); ++b) {
      const int64_t length = IndexAt(context.input(1), b);
      const int64_t first = b * strides[batch];
      axes[seq] = {length, stride, -stride};
      CopyStrided(context, axes, *output, first, input, first + (length - 1) * stride);
      axes[seq] = {whole - length, stride, stride};
      CopyStrided(context, axes, *output, first + length * stride, input, first + length * stride);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckInputs(const Tensor& input, const Tensor& lengths) const {
    const int rank = input.rank();
    if (seq_dim_ == batch_dim_ || seq_dim_ < 0 || batch_dim_ < 0 || seq_dim_ >= rank || batch_dim_ >= rank) {
      return AttrError("seq_dim", absl::StrCat("seq_dim ", seq_dim_, ", batch_dim ", batch_dim_),
                       absl::StrCat("two dimensions of ", input.shape().ToString()));
    }
    if (lengths.rank() != 1 || lengths.num_elements() != input.dim(static_cast<int>(batch_dim_))) {
      return ShapeError(1, "seq_lengths", lengths.shape(),
                        absl::StrCat("[", input.dim(static_cast<int>(batch_dim_)), "]"));
    }
    for (int64_t i = 0; i < lengths.num_elements(); ++i) {
      const int64_t length = IndexAt(lengths, i);
      if (length >= 0 && length <= input.dim(static_cast<int>(seq_dim_))) continue;
      return ValueError(1, "seq_lengths", length, absl::StrCat("0 to ", input.dim(static_cast<int>(seq_dim_))));
    }
    return absl::OkStatus();
  }

  const int64_t seq_dim_;
  const int64_t batch_dim_;
};

// --- Roll --------------------------------------------------------------------------------------------------------

// By how many places each axis turns: those of equal axes add up.
absl::StatusOr<IndexVector> ReadShifts(const KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  if (shape.rank() == 0) return ShapeError(0, "input", "a scalar", "a vector");
  const Shape& shift_shape = context.input(1).shape();
  if (shift_shape.rank() > 1 || shift_shape != context.input(2).shape()) {
    return ShapesError(absl::StrCat("shift ", shift_shape.ToString(), ", axis ", context.input(2).shape().ToString()),
                       "two scalars or two vectors of one size");
  }
  IndexVector shifts(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0; i < shift_shape.num_elements(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(IndexAt(context.input(2), i), shape.rank(), 2, "axis"));
    const int64_t size = std::max<int64_t>(shape.dim(axis), 1);
    int64_t& shift = shifts[static_cast<size_t>(axis)];
    shift = (shift + IndexAt(context.input(1), i) % size + size) % size;
  }
  return shifts;
}

absl::Status ComputeRoll(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const IndexVector shifts, ReadShifts(context));
  if (std::all_of(shifts.begin(), shifts.end(), [](int64_t shift) { return shift == 0; }))
    return ForwardOrCopy(context, 0);
  Tensor rolled = context.TakeInput(0);
  const Shape shape = rolled.shape();
  const IndexVector strides = RowMajorStrides(shape);
  for (size_t axis = 0; axis < shifts.size() && shape.num_elements() > 0; ++axis) {
    const int64_t shift = shifts[axis];
    if (shift == 0) continue;
    SLUICE_ASSIGN_OR_RETURN(Tensor next, Tensor::Make(rolled.dtype(), shape, context.allocator()));
    const int64_t size = shape.dims()[axis];
    const int64_t row = strides[axis];
    const int64_t slab = size * row;
    const CopyAxis outer = {shape.num_elements() / slab, slab, slab};
    const CopyAxis head[] = {outer, {(size - shift) * row, 1, 1}};
    const CopyAxis tail[] = {outer, {shift * row, 1, 1}};
    CopyStrided(context, head, next, shift * row, rolled, 0);
    CopyStrided(context, tail, next, 0, rolled, (size - shift) * row);
    rolled = std::move(next);
  }
  context.SetOutput(0, std::move(rolled));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("Reverse", &Call<ComputeReverse>),
    KernelRow("ReverseV2", &Call<ComputeReverseV2>),
    KernelRow("ReverseSequence", &New<ReverseSequenceKernel>),
    KernelRow("Roll", &Call<ComputeRoll>),
};

}  // namespace

absl::Span<const KernelRow> ReverseKernels() { return kRows; }

}  // namespace sluice

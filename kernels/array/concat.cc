#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Copies input `i` between the others: of each row of `row` elements of the result its part begins at `offset`.
void CopyPart(const KernelContext& context, int i, int64_t rows, int64_t row, int64_t offset, Tensor& output) {
  const Tensor& part = context.input(i);
  if (part.num_elements() == 0) return;
  const int64_t size = part.num_elements() / rows;
  const CopyAxis axes[] = {{rows, row, size}, {size, 1, 1}};
  CopyStrided(context, axes, output, offset, part, 0);
}

// A list of inputs that is too short for its op.
absl::Status TooFewInputs(int found, int wanted) { return AttrError("N", found, absl::StrCat(wanted, " or more")); }

// --- Concat, ConcatV2 --------------------------------------------------------------------------------------------

// The axis that input `input` holds, for tensors of `rank` dimensions; the input itself has at most `max_rank`.
absl::StatusOr<int> ReadJoinAxis(const KernelContext& context, int input, absl::string_view name, int max_rank,
                                 int rank) {
  const Shape& shape = context.input(input).shape();
  if (shape.rank() <= max_rank) return ReadAxis(context, input, name, rank);
  return ShapeError(input, name, shape, "a scalar");
}

// The shape of inputs [first, first + count) one after the other along `axis`, whose number is input `axis_input`.
absl::StatusOr<Shape> JoinedShape(const KernelContext& context, int first, int count, int axis_input, int* axis) {
  const Shape& shape = context.input(first).shape();
  SLUICE_ASSIGN_OR_RETURN(*axis,
                          ReadJoinAxis(context, axis_input, axis_input == 0 ? "concat_dim" : "axis", 1, shape.rank()));
  IndexVector dims(shape.dims().begin(), shape.dims().end());
  int64_t& joined = dims[static_cast<size_t>(*axis)];
  for (int i = first + 1; i < first + count; ++i) {
    const Shape& other = context.input(i).shape();
    bool fits = other.rank() == shape.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = d == *axis || other.dim(d) == shape.dim(d);
    if (!fits) {
      return ShapesError(i, "", absl::StrCat(other.ToString(), " after ", shape.ToString()),
                         absl::StrCat("shapes that differ in dimension ", *axis, " only"));
    }
    if (!CheckedAdd(joined, other.dim(*axis), &joined)) {
      return Error(ErrorCode::kOpTooLarge).Text(absl::StrCat("the sizes of dimension ", *axis, " add up to too much"));
    }
  }
  return MakeShape(dims);
}

absl::Status ConcatInputs(KernelContext& context, int first, int axis_input) {
  const int count = context.num_inputs() - 1;
  if (count < 1) return TooFewInputs(count, 1);
  int axis = 0;
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, JoinedShape(context, first, count, axis_input, &axis));
  for (int i = first; i < first + count; ++i) {
    if (context.input(i).num_elements() == 0 || context.input(i).num_elements() != shape.num_elements()) continue;
    if (context.input(i).shape() != shape) continue;
    return ForwardOrCopy(context, i);  // All others are empty.
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t rows = SizeOfAxes(shape, 0, axis);
  const int64_t inner = SizeOfAxes(shape, axis + 1, shape.rank());
  int64_t offset = 0;
  for (int i = first; i < first + count; ++i) {
    CopyPart(context, i, rows, shape.dim(axis) * inner, offset, *output);
    offset += context.input(i).dim(axis) * inner;
  }
  return absl::OkStatus();
}

absl::Status ComputeConcat(KernelContext& context) { return ConcatInputs(context, 1, 0); }
absl::Status ComputeConcatV2(KernelContext& context) { return ConcatInputs(context, 0, context.num_inputs() - 1); }

// --- ConcatOffset ------------------------------------------------------------------------------------------------

// For each of the shapes that are joined along concat_dim, where its part begins.
template <typename T>
absl::Status ComputeConcatOffset(KernelContext& context) {
  if (context.num_inputs() < 2) return TooFewInputs(context.num_inputs() - 1, 1);
  const Tensor& first = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 1, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const int axis,
                          ReadJoinAxis(context, 0, "concat_dim", 0, static_cast<int>(first.num_elements())));
  const Shape shape = first.shape();
  const absl::Span<const T> wanted = first.flat<T>();
  for (int i = 2; i < context.num_inputs(); ++i) {
    const Tensor& other = context.input(i);
    bool fits = other.shape() == shape;
    for (size_t d = 0; fits && d < wanted.size(); ++d) {
      fits = static_cast<int>(d) == axis || other.flat<T>()[d] == wanted[d];
    }
    if (!fits) {
      return ShapesError(i, "shape", other.ToString(),
                         absl::StrCat("as ", first.ToString(), " in all dimensions but ", axis));
    }
  }
  int64_t offset = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const int64_t size = context.input(i + 1).flat<T>()[static_cast<size_t>(axis)];
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
    const absl::Span<T> values = output->flat<T>();
    std::fill(values.begin(), values.end(), T(0));
    values[static_cast<size_t>(axis)] = static_cast<T>(offset);
    if (!CheckedAdd(offset, size, &offset)) {
      return Error(ErrorCode::kOpTooLarge).Input(i + 1, "shape").Text("makes the offsets overflow");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcatOffset(const KernelConstruction& construction) {
  return construction.output_type(0) == DType::kInt64 ? Call<ComputeConcatOffset<int64_t>>(construction)
                                                      : Call<ComputeConcatOffset<int32_t>>(construction);
}

// --- Pack --------------------------------------------------------------------------------------------------------

// N tensors of one shape along a new axis, which attr `axis` names.
class PackKernel final : public Kernel {
 public:
  explicit PackKernel(int64_t axis) : axis_(axis) {}
  absl::Status Compute(KernelContext& context) const override {
    const int64_t count = context.num_inputs();
    if (count < 1) return TooFewInputs(0, 1);
    const Shape& shape = context.input(0).shape();
    const int rank = shape.rank() + 1;
    if (axis_ < -rank || axis_ >= rank) return AttrError("axis", axis_, absl::StrCat(-rank, " to ", rank - 1));
    for (int i = 1; i < count; ++i) {
      if (context.input(i).shape() == shape) continue;
      return ShapesError(i, "", context.input(i).shape(), absl::StrCat(shape.ToString(), ", as input 0"));
    }
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
    IndexVector dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.begin() + axis, count);
    SLUICE_ASSIGN_OR_RETURN(const Shape packed, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, packed));
    if (packed.num_elements() == 0) return absl::OkStatus();
    if (shape.num_elements() == 1) {
      PackScalars(context, *output);
      return absl::OkStatus();
    }
    const int64_t rows = SizeOfAxes(packed, 0, axis);
    const int64_t part = packed.num_elements() / rows / count;
    for (int i = 0; i < count; ++i) CopyPart(context, i, rows, count * part, i * part, *output);
    return absl::OkStatus();
  }

 private:
  // One element of each input.
  static void PackScalars(const KernelContext& context, Tensor& output) {
    DispatchMoved(output.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      T* const elements = Elements<T>(output);
      for (int i = 0; i < context.num_inputs(); ++i) elements[i] = *Elements<T>(context.input(i));
    });
  }

  const int64_t axis_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Concat", &Call<ComputeConcat>),
    KernelRow("ConcatV2", &Call<ComputeConcatV2>),
    KernelRow("ConcatOffset", &MakeConcatOffset).Cheap(),
    KernelRow("Pack", FromAttr<PackKernel, int64_t>("axis")),
};

}  // namespace

absl::Span<const KernelRow> ConcatKernels() { return kRows; }

}  // namespace sluice

#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// --- Where -------------------------------------------------------------------------------------------------------

constexpr int kMaxWhereRank = 8;

// Whether an element counts as true: NaN does, zeros of both signs and numbers too small to be normal do not.
template <typename T>
bool IsTrue(T value) {
  if constexpr (std::is_floating_point<T>::value) {
    return !(std::abs(value) < std::numeric_limits<T>::min());
  } else if constexpr (std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value) {
    return static_cast<float>(value) != 0.0f;
  } else {
    return value != T(0);
  }
}

// The positions of true elements, in order.
template <typename T>
std::vector<int64_t> TruePositions(absl::Span<const T> values) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsTrue(values[i])) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

// The coordinates of all true elements, one row each.
absl::Status ComputeWhere(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() < 1 || input.rank() > kMaxWhereRank) {
    return Error(ErrorCode::kOpShape)
        .Input(0)
        .Found(input.shape().ToString())
        .Expected(absl::StrCat("1 to ", kMaxWhereRank, " dimensions"));
  }
  std::vector<int64_t> positions;
  DispatchDType<Join<NumberCppTypes, TypeList<bool>>>(
      input.dtype(), [&](auto type) { positions = TruePositions(input.flat<typename decltype(type)::Type>()); });
  const int rank = input.rank();
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({static_cast<int64_t>(positions.size()), rank}));
  const Shape whole = input.shape();
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  int64_t* const rows = output->flat<int64_t>().data();
  context.ParallelFor(static_cast<int64_t>(positions.size()), 5.0 * rank, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t position = positions[static_cast<size_t>(i)];
      for (int axis = rank - 1; axis >= 0; --axis) {
        rows[i * rank + axis] = position % whole.dim(axis);
        position /= whole.dim(axis);
      }
    }
  });
  return absl::OkStatus();
}

// --- OneHot ------------------------------------------------------------------------------------------------------

// A new axis of size depth: on_value where the index points, off_value elsewhere.
class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(int64_t axis) : axis_(axis) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& indices = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const int64_t depth, ReadDepth(context));
    if (axis_ < -1 || axis_ > indices.rank()) {
      return Error(ErrorCode::kOpAttr)
          .Attr("axis")
          .Found(absl::StrCat(axis_))
          .Expected(absl::StrCat("-1 to ", indices.rank()));
    }
    const int axis = axis_ == -1 ? indices.rank() : static_cast<int>(axis_);
    IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillElements(context, *output, context.input(3));
    const int64_t inner = SizeOfAxes(shape, axis + 1, shape.rank());
    DispatchMoved(output->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      const T on = *Elements<T>(context.input(2));
      T* const to = Elements<T>(*output);
      for (int64_t i = 0; i < indices.num_elements(); ++i) {
        const int64_t index = IndexAt(indices, i);
        if (index < 0 || index >= depth) continue;
        to[(i / inner * depth + index) * inner + i % inner] = on;
      }
    });
    return absl::OkStatus();
  }

 private:
  // Inputs 1 to 3 are scalars.
  static absl::StatusOr<int64_t> ReadDepth(const KernelContext& context) {
    constexpr absl::string_view kNames[] = {"indices", "depth", "on_value", "off_value"};
    for (int i = 1; i < 4; ++i) {
      if (context.input(i).rank() == 0) continue;
      return Error(ErrorCode::kOpShape)
          .Input(i, kNames[i])
          .Found(context.input(i).shape().ToString())
          .Expected("a scalar");
    }
    const int64_t depth = IndexAt(context.input(1), 0);
    if (depth < 0) return Error(ErrorCode::kOpValue).Input(1, "depth").Found(absl::StrCat(depth)).Expected("0 or more");
    return depth;
  }

  const int64_t axis_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Where", &Call<ComputeWhere>).Types("T", kNumberTypes | DTypeSet{DType::kBool}),
    KernelRow("OneHot", FromAttr<OneHotKernel, int64_t>("axis")),
};

}  // namespace

absl::Span<const KernelRow> WhereKernels() { return kRows; }

}  // namespace sluice

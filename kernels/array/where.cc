#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"
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
  } else if constexpr (kIsHalf<T>) {
    return static_cast<float>(value) != 0.0f;
  } else {
    return value != T(0);
  }
}

constexpr int64_t kWherePart = 1 << 14;  // Elements that are counted, and then written, together.

// Writes the coordinates of the true elements among [begin, end) of `values`, one row each, to [row, row_end). There
// may be more or fewer than were counted where the values came through a reference and change meanwhile.
template <typename T>
void WriteCoordinates(absl::Span<const T> values, const Shape& shape, int64_t begin, int64_t end, int64_t* row,
                      int64_t* row_end) {
  const int rank = shape.rank();
  int64_t at[kMaxWhereRank];
  for (int64_t axis = rank - 1, rest = begin; axis >= 0; --axis) {
    at[axis] = rest % shape.dim(static_cast<int>(axis));
    rest /= shape.dim(static_cast<int>(axis));
  }
  const int64_t last = shape.dim(rank - 1);
  for (int64_t i = begin; i < end && row != row_end; ++i) {
    if (IsTrue(values[static_cast<size_t>(i)])) row = std::copy_n(at, rank, row);
    if (++at[rank - 1] < last) continue;
    for (int axis = rank - 1; axis > 0 && at[axis] == shape.dim(axis); --axis) {
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
  std::fill(row, row_end, 0);
}

// Output 0 becomes the coordinates of the true elements of `values`.
template <typename T>
absl::Status WriteWhere(KernelContext& context, absl::Span<const T> values, const Shape& shape) {
  const int64_t size = static_cast<int64_t>(values.size());
  const int64_t parts = (size + kWherePart - 1) / kWherePart;
  std::vector<int64_t> firsts(static_cast<size_t>(parts) + 1);  // Rows before each part, and all.
  context.ParallelFor(parts, 0.5 * kWherePart, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t count = 0;
      const int64_t part_end = std::min(size, (part + 1) * kWherePart);
      for (int64_t i = part * kWherePart; i < part_end; ++i) count += IsTrue(values[static_cast<size_t>(i)]) ? 1 : 0;
      firsts[static_cast<size_t>(part) + 1] = count;
    }
  });
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  SLUICE_ASSIGN_OR_RETURN(const Shape rows, MakeShape({firsts.back(), shape.rank()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, rows));
  int64_t* const to = output->flat<int64_t>().data();
  context.ParallelFor(parts, 2.0 * kWherePart, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t* const begins = to + firsts[static_cast<size_t>(part)] * shape.rank();
      int64_t* const ends = to + firsts[static_cast<size_t>(part) + 1] * shape.rank();
      WriteCoordinates(values, shape, part * kWherePart, std::min(size, (part + 1) * kWherePart), begins, ends);
    }
  });
  return absl::OkStatus();
}

// The coordinates of all true elements, one row each.
absl::Status ComputeWhere(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() < 1 || input.rank() > kMaxWhereRank) {
    return ShapeError(0, "", input.shape(), absl::StrCat("1 to ", kMaxWhereRank, " dimensions"));
  }
  absl::Status status;
  DispatchDType<Join<NumberCppTypes, TypeList<bool>>>(input.dtype(), [&](auto type) {
    status = WriteWhere(context, input.flat<typename decltype(type)::Type>(), input.shape());
  });
  return status;
}

// --- OneHot ------------------------------------------------------------------------------------------------------

// A new axis of size depth: on_value where the index points, off_value elsewhere.
class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(int64_t axis) : axis_(axis) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& indices = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(const int64_t depth, ReadDepth(context));
    if (axis_ < -1 || axis_ > indices.rank()) return AttrError("axis", axis_, absl::StrCat("-1 to ", indices.rank()));
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
    for (int i = 1; i < 4; ++i) SLUICE_RETURN_IF_ERROR(CheckScalar(context, i, kNames[i]));
    const int64_t depth = IndexAt(context.input(1), 0);
    if (depth < 0) return ValueError(1, "depth", depth, "0 or more");
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

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

void ClearElements(Tensor& tensor) {
  if (IsTrivial(tensor.dtype())) std::memset(tensor.mutable_raw_data(), 0, tensor.total_bytes());
}

// Shape s becomes s + s, with the elements on the diagonal.
absl::Status ComputeDiag(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0) return ShapeError(0, "diagonal", "a scalar", "at least a vector");
  IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
  dims.insert(dims.end(), input.shape().dims().begin(), input.shape().dims().end());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ClearElements(*output);
  const CopyAxis axis = {input.num_elements(), input.num_elements() + 1, 1};
  CopyStrided(context, {&axis, 1}, *output, 0, input, 0);
  return absl::OkStatus();
}

// Shape s + s becomes s.
absl::Status ComputeDiagPart(KernelContext& context) {
  const Tensor& input = context.input(0);
  const int half = input.rank() / 2;
  bool fits = input.rank() % 2 == 0;
  for (int axis = 0; fits && axis < half; ++axis) fits = input.dim(axis) == input.dim(axis + half);
  if (!fits) return ShapeError(0, "", input.shape(), "the same sizes in both halves of the dimensions");
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(input.shape().dims().first(static_cast<size_t>(half))));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  const CopyAxis axis = {shape.num_elements(), 1, shape.num_elements() + 1};
  CopyStrided(context, {&axis, 1}, *output, 0, input, 0);
  return absl::OkStatus();
}

// How many diagonals of a side of `size` stay: all for a negative number.
absl::StatusOr<int64_t> ReadBound(const KernelContext& context, int input, absl::string_view name, int64_t size) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t bound, ReadScalar(context, input, name));
  if (bound > size) return ValueError(input, name, bound, absl::StrCat("at most ", size));
  return bound < 0 ? size : bound;
}

// Clears what is outside of the band in each matrix.
absl::Status ComputeMatrixBandPart(KernelContext& context) {
  const Tensor& input = context.input(0);
  const Shape shape = input.shape();
  if (shape.rank() < 2) return ShapeError(0, "", shape, "at least a matrix");
  const int64_t rows = shape.dim(shape.rank() - 2);
  const int64_t columns = shape.dim(shape.rank() - 1);
  SLUICE_ASSIGN_OR_RETURN(const int64_t below, ReadBound(context, 1, "num_lower", rows));
  SLUICE_ASSIGN_OR_RETURN(const int64_t above, ReadBound(context, 2, "num_upper", columns));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ClearElements(*output);
  if (shape.num_elements() == 0) return absl::OkStatus();
  DispatchMoved(output->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const from = Elements<T>(input);
    T* const to = Elements<T>(*output);
    const double unit_ns = kMoveNs<T> * static_cast<double>(columns);
    context.ParallelFor(shape.num_elements() / columns, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % rows;
        const int64_t first = std::min(std::max<int64_t>(row - below, 0), columns);
        const int64_t last = std::min(row + above + 1, columns);
        if (first < last) std::copy_n(from + line * columns + first, last - first, to + line * columns + first);
      }
    });
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("Diag", &Call<ComputeDiag>),
    KernelRow("DiagPart", &Call<ComputeDiagPart>),
    KernelRow("MatrixBandPart", &Call<ComputeMatrixBandPart>),
};

}  // namespace

absl::Span<const KernelRow> BandKernels() { return kRows; }

}  // namespace sluice

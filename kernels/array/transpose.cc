#include <algorithm>
#include <complex>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// The order of axes that input 1 asks for: each of `rank` axes once.
absl::StatusOr<IndexVector> ReadPermutation(const KernelContext& context, int rank) {
  SLUICE_ASSIGN_OR_RETURN(IndexVector perm, ReadIndexVector(context, 1, "perm"));
  if (static_cast<int>(perm.size()) != rank) {
    return ShapeError(1, "perm", absl::StrCat(perm.size(), " axes"),
                      absl::StrCat(rank, ", as many as shape ", context.input(0).shape().ToString(), " has"));
  }
  absl::InlinedVector<bool, 16> seen(perm.size(), false);
  for (int64_t& axis : perm) {
    if (axis < 0 || axis >= rank || seen[static_cast<size_t>(axis)]) {
      return ValueError(1, "perm", absl::StrCat("axis ", axis), absl::StrCat("each of 0 to ", rank - 1, " once"));
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return perm;
}

// Whether elements stay where they are: only axes of size 1 change places.
bool KeepsOrder(const Shape& shape, const IndexVector& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (shape.dim(static_cast<int>(axis)) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

absl::Status ComputeTranspose(KernelContext& context) {
  const Shape& old = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(const IndexVector perm, ReadPermutation(context, old.rank()));
  IndexVector dims(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) dims[i] = old.dim(static_cast<int>(perm[i]));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  if (old.num_elements() <= 1 || KeepsOrder(old, perm)) {
    SLUICE_ASSIGN_OR_RETURN(Tensor reshaped, context.TakeInput(0).Reshaped(shape));
    context.SetOutput(0, std::move(reshaped));
    return absl::OkStatus();
  }
  const IndexVector from = RowMajorStrides(old);
  const IndexVector to = RowMajorStrides(shape);
  CopyAxes axes(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) axes[i] = {dims[i], to[i], from[static_cast<size_t>(perm[i])]};
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  CopyStrided(context, axes, *output, 0, context.input(0), 0);
  return absl::OkStatus();
}

// Turns the sign of every imaginary part.
template <typename T>
void Conjugate(const KernelContext& context, Tensor& tensor) {
  T* const values = tensor.flat<T>().data();
  context.ParallelFor(tensor.num_elements(), 0.5, [values](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = std::conj(values[i]);
  });
}

absl::Status ComputeConjugateTranspose(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(ComputeTranspose(context));
  Tensor& output = context.output_entry(0).value();
  if (!output.IsUniquelyOwned()) {  // Handed on as it is: others see it, too.
    SLUICE_ASSIGN_OR_RETURN(output, output.DeepCopy());
  }
  if (!IsComplex(output.dtype())) return absl::OkStatus();
  DispatchDType<ComplexCppTypes>(output.dtype(),
                                 [&](auto type) { Conjugate<typename decltype(type)::Type>(context, output); });
  return absl::OkStatus();
}

// y[x[i]] = i.
template <typename T>
absl::Status ComputeInvertPermutation(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 0, "x"));
  const absl::Span<const T> x = input.flat<T>();
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
  const absl::Span<T> y = output->flat<T>();
  std::fill(y.begin(), y.end(), T(-1));
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] < 0 || static_cast<size_t>(x[i]) >= x.size() || y[static_cast<size_t>(x[i])] != T(-1)) {
      return ValueError(0, "x", absl::StrCat(x[i], " at ", i),
                        absl::StrCat("each of 0 to ", static_cast<int64_t>(x.size()) - 1, " once"));
    }
    y[static_cast<size_t>(x[i])] = static_cast<T>(i);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("Transpose", &Call<ComputeTranspose>),
    KernelRow("ConjugateTranspose", &Call<ComputeConjugateTranspose>),
    KernelRow("InvertPermutation", &Call<ComputeInvertPermutation<int32_t>>).Types("T", {DType::kInt32}),
    KernelRow("InvertPermutation", &Call<ComputeInvertPermutation<int64_t>>).Types("T", {DType::kInt64}),
};

}  // namespace

absl::Span<const KernelRow> TransposeKernels() { return kRows; }

}  // namespace sluice

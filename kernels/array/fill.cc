#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/variant.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/variant_functions.h"

namespace sluice {
namespace {

// More elements than a result of Range or LinSpace may have: sizes of tensors end here.
constexpr double kMaxElements = 4611686018427387904.0;  // 2^62

// --- Fill, ZerosLike, OnesLike, Empty ----------------------------------------------------------------------------

absl::Status ComputeFill(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "dims", ListRank::kScalarOrVector));
  const Tensor value = context.input(1);
  if (value.num_elements() != 1 || value.rank() > 1) return ShapeError(1, "value", value.shape(), "a scalar");
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  FillElements(context, *output, value);
  return absl::OkStatus();
}

// All bytes zero; large results are cleared by several threads.
void ZeroBytes(const KernelContext& context, Tensor& tensor) {
  if (!IsTrivial(tensor.dtype())) return;  // Made empty.
  char* const bytes = static_cast<char*>(tensor.mutable_raw_data());
  context.ParallelFor(static_cast<int64_t>(tensor.total_bytes()), 0.1, [bytes](int64_t begin, int64_t end) {
    std::memset(bytes + begin, 0, static_cast<size_t>(end - begin));
  });
}

absl::Status ComputeZerosLike(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  const bool in_place = IsTrivial(context.input(0).dtype());  // Strings are emptied by making new ones.
  const int candidate = 0;
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, in_place ? context.ForwardOrAllocate(0, shape, {&candidate, 1})
                                                    : context.AllocateOutput(0, shape));
  ZeroBytes(context, *output);
  return absl::OkStatus();
}

// The zero that the variant's type has. As TensorFlow's: of scalars only.
absl::Status ComputeZerosLikeVariant(KernelContext& context) {
  const Tensor& value = context.input(0);
  if (value.rank() != 0) return ShapeError(0, "", value.shape(), "a scalar variant");
  SLUICE_ASSIGN_OR_RETURN(Variant zero, ZerosLikeVariant(context, value.flat<Variant>()[0]));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape()));
  output->flat<Variant>()[0] = std::move(zero);
  return absl::OkStatus();
}

absl::Status ComputeOnesLike(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  const int candidate = 0;
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.ForwardOrAllocate(0, shape, {&candidate, 1}));
  DispatchDType<Join<NumberCppTypes, TypeList<bool>>>(output->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    FillElements(context, *output, Tensor::Scalar<T>(T(1)));
  });
  return absl::OkStatus();
}

// A tensor with uninitialised elements; zeros with attr `init`.
class EmptyKernel final : public Kernel {
 public:
  explicit EmptyKernel(bool init) : init_(init) {}
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    // Not every byte is a bool: what reads one that is neither 0 nor 1 has no meaning in C++.
    if (init_ || output->dtype() == DType::kBool) ZeroBytes(context, *output);
    return absl::OkStatus();
  }

 private:
  const bool init_;
};

// --- Range -------------------------------------------------------------------------------------------------------

// Range of half and bfloat16 is computed by way of float.
template <typename T>
using RangeValue = std::conditional_t<std::is_class<T>::value, float, T>;

template <typename T>
absl::StatusOr<RangeValue<T>> RangeInput(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& tensor = context.input(input);
  if (tensor.num_elements() != 1 || tensor.rank() > 1) return ShapeError(input, name, tensor.shape(), "a scalar");
  return static_cast<RangeValue<T>>(tensor.flat<T>()[0]);
}

// V, rounded to T where T is narrower: TensorFlow computes ranges in T, step by step.
template <typename T>
RangeValue<T> RoundTo(RangeValue<T> value) {
  return static_cast<RangeValue<T>>(static_cast<T>(value));
}

// Number of elements from `start` to before `limit`.
template <typename T, typename V = RangeValue<T>>
absl::StatusOr<int64_t> RangeSize(V start, V limit, V delta) {
  if (delta == V(0)) return ValueError("delta 0", "a step that is not 0");
  if (delta > V(0) ? !(start <= limit) : !(start >= limit)) {
    return ValueError(absl::StrCat("start ", start, ", limit ", limit, ", delta ", delta), "a step towards the limit");
  }
  if constexpr (std::is_integral<V>::value) {
    // Unsigned, so that the distance between the ends of int64 fits.
    const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                        : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
    if (static_cast<double>(size) <= kMaxElements) return static_cast<int64_t>(size);
  } else {
    const double size = std::ceil(std::abs(static_cast<double>(RoundTo<T>(RoundTo<T>(limit - start) / delta))));
    if (size <= kMaxElements) return static_cast<int64_t>(size);  // False for NaN.
  }
  return Error(ErrorCode::kOpTooLarge).Found(absl::StrCat("start ", start, ", limit ", limit, ", delta ", delta));
}

template <typename T>
T RangeElement(RangeValue<T> start, RangeValue<T> delta, int64_t i) {
  if constexpr (std::is_integral<T>::value) {
    // Unsigned: the way from the lowest number to the highest does not fit a signed one.
    return static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  } else {
    return static_cast<T>(start + RoundTo<T>(RoundTo<T>(static_cast<RangeValue<T>>(i)) * delta));
  }
}

template <typename T>
absl::Status ComputeRange(KernelContext& context) {
  using V = RangeValue<T>;
  SLUICE_ASSIGN_OR_RETURN(const V start, RangeInput<T>(context, 0, "start"));
  SLUICE_ASSIGN_OR_RETURN(const V limit, RangeInput<T>(context, 1, "limit"));
  SLUICE_ASSIGN_OR_RETURN(const V delta, RangeInput<T>(context, 2, "delta"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t size, RangeSize<T>(start, limit, delta));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({size}));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  T* const values = output->flat<T>().data();
  context.ParallelFor(size, 1.0, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = RangeElement<T>(start, delta, i);
  });
  return absl::OkStatus();
}

// --- LinSpace ----------------------------------------------------------------------------------------------------

// `num` values from `start` to `stop`, both included.
template <typename T>
absl::Status ComputeLinSpace(KernelContext& context) {
  using V = RangeValue<T>;
  // A vector with one element is not accepted as a scalar.
  for (int i = 0; i < 3; ++i) SLUICE_RETURN_IF_ERROR(CheckScalar(context, i, ""));
  SLUICE_ASSIGN_OR_RETURN(const V start, RangeInput<T>(context, 0, "start"));
  SLUICE_ASSIGN_OR_RETURN(const V stop, RangeInput<T>(context, 1, "stop"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t num, ReadIndexScalar(context, 2, "num"));
  if (num <= 0) return ValueError(2, "num", num, "1 or more");
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({num}));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  T* const values = output->flat<T>().data();
  const V step = num > 1 ? (stop - start) / static_cast<V>(num - 1) : V(0);
  context.ParallelFor(num, 1.0, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = static_cast<T>(start + step * static_cast<V>(i));
  });
  if (num > 1) values[num - 1] = static_cast<T>(stop);
  return absl::OkStatus();
}

constexpr DTypeSet kCountable = kNumberTypes | DTypeSet{DType::kBool};

constexpr KernelRow kRows[] = {
    KernelRow("Fill", &Call<ComputeFill>),
    KernelRow("ZerosLike", &Call<ComputeZerosLike>).Types("T", kCountable | kQuantizedTypes | DTypeSet{DType::kString}),
    KernelRow("ZerosLike", &Call<ComputeZerosLikeVariant>).Types("T", {DType::kVariant}),
    KernelRow("OnesLike", &Call<ComputeOnesLike>).Types("T", kCountable),
    KernelRow("Empty", FromAttr<EmptyKernel, bool>("init")).Shared(Sharing::kEqualNodes),
    KernelRow("Range", &Call<ComputeRange<int32_t>>).Types("Tidx", {DType::kInt32}),
    KernelRow("Range", &Call<ComputeRange<int64_t>>).Types("Tidx", {DType::kInt64}),
    KernelRow("Range", &Call<ComputeRange<float>>).Types("Tidx", {DType::kFloat}),
    KernelRow("Range", &Call<ComputeRange<double>>).Types("Tidx", {DType::kDouble}),
    KernelRow("Range", &Call<ComputeRange<Half>>).Types("Tidx", {DType::kHalf}),
    KernelRow("Range", &Call<ComputeRange<BFloat16>>).Types("Tidx", {DType::kBFloat16}),
    KernelRow("Range", &Call<ComputeRange<int8_t>>).Types("Tidx", {DType::kInt8}),
    KernelRow("Range", &Call<ComputeRange<int16_t>>).Types("Tidx", {DType::kInt16}),
    KernelRow("LinSpace", &Call<ComputeLinSpace<float>>).Types("T", {DType::kFloat}),
    KernelRow("LinSpace", &Call<ComputeLinSpace<double>>).Types("T", {DType::kDouble}),
    KernelRow("LinSpace", &Call<ComputeLinSpace<Half>>).Types("T", {DType::kHalf}),
    KernelRow("LinSpace", &Call<ComputeLinSpace<BFloat16>>).Types("T", {DType::kBFloat16}),
};

}  // namespace

absl::Span<const KernelRow> FillKernels() { return kRows; }

}  // namespace sluice

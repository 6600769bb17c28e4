#ifndef SLUICE_KERNELS_MATH_ELEMENTWISE_H_
#define SLUICE_KERNELS_MATH_ELEMENTWISE_H_

// Kernels of elementwise ops, made from functors.
//
// Note [Elementwise kernels]
// The dtype is settled when the kernel is made: UnaryKernel<Op, T> and BinaryKernel<Op, T> hold nothing but the path
// for scalars, which loads, computes and stores; all other shapes go to ComputeUnary and ComputeBinary, which know
// elements only by size and are compiled once. A family's rows name a factory with its functor and its C++ types:
//
//   constexpr KernelRow kRows[] = {
//       BinaryRow<AddOp, NumberCppTypes>("AddV2"),
//   };

#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_row.h"
#include "kernels/math/float_loops.h"
#include "kernels/math/loops.h"
#include "kernels/new_by_type.h"
#include "kernels/new_kernel.h"

namespace sluice {

// Computes output 0 from input 0 by `loops`, in place where possible, on several threads where that pays.
absl::Status ComputeUnary(KernelContext& context, const UnaryLoops& loops);
// The same for inputs 0 and 1, with broadcast. kOpShapes, or what `loops.failure` stands for.
absl::Status ComputeBinary(KernelContext& context, const BinaryLoops& loops);
// The same with the inputs taken as of these shapes, which have as many elements as theirs.
absl::Status ComputeBroadcast(KernelContext& context, const BinaryLoops& loops, const Shape& a_shape,
                              const Shape& b_shape);
// What `failure` means to the user.
absl::Status FailureStatus(Failure failure);

// Calls `work(begin, end)` for parts of [0, n): directly when there is little to do.
template <typename Work>
void ForShards(const KernelContext& context, int64_t n, float unit_ns, const Work& work) {
  constexpr float kMinShardedNs = 20000;
  if (static_cast<float>(n) * unit_ns < kMinShardedNs) {
    work(0, n);
  } else {
    context.ParallelFor(n, static_cast<double>(unit_ns), work);
  }
}

// Whether `tensor` has rank 0 and lies in its entry.
inline bool IsInlineScalar(const Tensor& tensor) { return tensor.rank() == 0 && tensor.IsInline(); }

// REQUIRES: IsInlineScalar(tensor), and its dtype is T's.
template <typename T>
T LoadScalar(const Tensor& tensor) {
  T value;
  std::memcpy(&value, tensor.raw_data(), sizeof(T));
  return value;
}

template <typename T>
inline constexpr bool kFitsInline = std::is_trivially_copyable<T>::value && sizeof(T) <= 16;

// An op of one input. See Note [Elementwise kernels].
template <typename Op, typename T>
class UnaryKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if constexpr (kFitsInline<T>) {
      const Tensor& x = context.input(0);
      if (IsInlineScalar(x)) {
        context.SetScalar(0, InvokeUnary<Op, T>(LoadScalar<T>(x)));
        return absl::OkStatus();
      }
    }
    return ComputeUnary(context, loops_);
  }

 private:
  const UnaryLoops& loops_ = UnaryLoopsFor<Op, T>();
};

// An op of two inputs of one dtype. See Note [Elementwise kernels].
template <typename Op, typename T>
class BinaryKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if constexpr (kFitsInline<T>) {
      const Tensor& a = context.input(0);
      const Tensor& b = context.input(1);
      if (IsInlineScalar(a) && IsInlineScalar(b)) {
        bool ok = true;
        const auto y = InvokeBinary<Op, T>(LoadScalar<T>(a), LoadScalar<T>(b), ok);
        if (!ok) return FailureStatus(kFailureOf<Op>);
        context.SetScalar(0, y);
        return absl::OkStatus();
      }
    }
    return ComputeBinary(context, loops_);
  }

 private:
  const BinaryLoops& loops_ = BinaryLoopsFor<Op, T>();
};

// kOpShapes for inputs that must be of one shape.
absl::Status NotSameShape(const Shape& a, const Shape& b);

namespace elementwise_internal {
template <typename Op>
struct Bind {
  template <typename T>
  using Unary = UnaryKernel<Op, T>;
  template <typename T>
  using Binary = BinaryKernel<Op, T>;
  // The dtypes of the results.
  template <typename T>
  static constexpr DType kOfUnary = DTypeOf<UnaryResult<Op, T>>::value;
  template <typename T>
  static constexpr DType kOfBinary = DTypeOf<BinaryResult<Op, T>>::value;
};
}  // namespace elementwise_internal

// The loops write elements as large as the functor's results: the node's output must be of their dtype.
template <typename Op, typename CppTypes>
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const KernelConstruction& construction) {
  using Bind = elementwise_internal::Bind<Op>;
  DType result = DType::kInvalid;
  DispatchDType<CppTypes>(construction.input_type(0),
                          [&](auto type) { result = Bind::template kOfUnary<typename decltype(type)::Type>; });
  if (result != construction.output_type(0)) return NoSuchType(construction.output_type(0));
  return NewByType<Bind::template Unary, CppTypes>(construction);
}
template <typename Op, typename CppTypes>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const KernelConstruction& construction) {
  using Bind = elementwise_internal::Bind<Op>;
  DType result = DType::kInvalid;
  DispatchDType<CppTypes>(construction.input_type(0),
                          [&](auto type) { result = Bind::template kOfBinary<typename decltype(type)::Type>; });
  if (result != construction.output_type(0)) return NoSuchType(construction.output_type(0));
  return NewByType<Bind::template Binary, CppTypes>(construction);
}

// The dtypes of C++ types.
template <typename... Ts>
constexpr DTypeSet SetOf(TypeList<Ts...>) {
  return DTypeSet{DTypeOf<Ts>::value...};
}

// Rows for ops whose type attr is T.
template <typename Op, typename CppTypes>
constexpr KernelRow UnaryRow(absl::string_view op) {
  return KernelRow(op, &MakeUnary<Op, CppTypes>).Types("T", SetOf(CppTypes()));
}
template <typename Op, typename CppTypes>
constexpr KernelRow BinaryRow(absl::string_view op) {
  return KernelRow(op, &MakeBinary<Op, CppTypes>).Types("T", SetOf(CppTypes()));
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ELEMENTWISE_H_

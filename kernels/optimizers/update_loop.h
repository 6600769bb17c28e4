#ifndef SLUICE_KERNELS_OPTIMIZERS_UPDATE_LOOP_H_
#define SLUICE_KERNELS_OPTIMIZERS_UPDATE_LOOP_H_

// From what an optimizer does to one element to loops over elements.
//
// Note [Updates]
// An update is a class template over the type of its numbers. It is made from the hyperparameters and then called for
// each element of the variable, with the element, those of its slots, and the gradient:
//
//   template <typename N>
//   class MomentumUpdate {
//    public:
//     static constexpr int kSlots = 2;  // The variable itself is the first.
//     MomentumUpdate(const UpdateScalars<N>& s, bool nesterov);
//     void operator()(N& var, N& accum, const N& grad) const;
//   };
//
// There is one loop for each of four types of numbers, for dense and sparse updates alike: a row is an array, too.
//   1. Half and bfloat16 go through blocks of floats that are rounded after each operation (rounded.h), in the order
//      that TensorFlow computes in: the same bits. complex64 goes through blocks of complex128.
//   2. `from` and `to` are equal, or another buffer: a variable whose buffer somebody else holds gets its new value in
//      a new one without a copy of the old value.
//   3. The code that checks, locks and shards is compiled once for all rules (update_kernel.cc).

#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "graph/value/dtype.h"
#include "kernels/math/loops.h"
#include "kernels/optimizers/update_math.h"

namespace sluice {

inline constexpr int kMaxUpdateSlots = 4;

// One stretch of elements. Borrows all of them. A value type.
struct UpdateSpan {
  const void* from[kMaxUpdateSlots] = {};  // The variable and its slots.
  void* to[kMaxUpdateSlots] = {};
  const void* grad = nullptr;
  int64_t size = 0;
};

// What holds for all elements. A value type.
struct UpdateSetting {
  UpdateScalars<std::complex<double>> scalars = {};  // Exact for all dtypes.
  bool flag = false;                                 // The op's attr that changes the formula.
  Rounding rounding = kHalfRounding;                 // For Rounded.
};

using UpdateLoop = void (*)(const UpdateSpan& span, const UpdateSetting& setting);

// One update for all types of numbers; null for types that it does not support. Constant data.
struct UpdateLoops {
  UpdateLoop of_float = nullptr;
  UpdateLoop of_double = nullptr;
  UpdateLoop of_rounded = nullptr;
  UpdateLoop of_complex = nullptr;
};

template <typename N>
[[gnu::always_inline]] inline N NumberOf(const ElementOf<N>& element, Rounding rounding) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return Rounded(element, rounding);
  } else {
    static_cast<void>(rounding);
    return element;
  }
}
template <typename N>
[[gnu::always_inline]] inline ElementOf<N> ElementFrom(const N& number) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return number.value();
  } else {
    return number;
  }
}

template <typename N>
UpdateScalars<N> ScalarsOf(const UpdateSetting& setting) {
  UpdateScalars<N> scalars;
  for (size_t i = 0; i < scalars.size(); ++i) {
    if constexpr (std::is_same_v<N, std::complex<double>>) {
      scalars[i] = setting.scalars[i];
    } else {
      scalars[i] = NumberOf<N>(static_cast<ElementOf<N>>(setting.scalars[i].real()), setting.rounding);
    }
  }
  return scalars;
}

// The loop over one stretch.
template <template <typename> class Update, typename N, size_t... k>
void LoopOverSlots(const UpdateSpan& span, const UpdateSetting& setting, std::index_sequence<k...>) {
  using E = ElementOf<N>;
  const Update<N> update(ScalarsOf<N>(setting), setting.flag);
  const E* const from[] = {static_cast<const E*>(span.from[k])...};
  E* const to[] = {static_cast<E*>(span.to[k])...};
  const E* const grad = static_cast<const E*>(span.grad);
  const Rounding rounding = setting.rounding;
  const int64_t size = span.size;
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < size; ++i) {
    N slots[] = {NumberOf<N>(from[k][i], rounding)...};
    update(slots[k]..., NumberOf<N>(grad[i], rounding));
    ((to[k][i] = ElementFrom(slots[k])), ...);
  }
}

template <template <typename> class Update, typename N>
void LoopUpdate(const UpdateSpan& span, const UpdateSetting& setting) {
  LoopOverSlots<Update, N>(span, setting, std::make_index_sequence<Update<N>::kSlots>());
}

// For dtypes of 32 and 64 bits.
template <template <typename> class Update>
inline constexpr UpdateLoops kRealUpdateLoops = {&LoopUpdate<Update, float>, &LoopUpdate<Update, double>, nullptr,
                                                 nullptr};
// For these and half and bfloat16.
template <template <typename> class Update>
inline constexpr UpdateLoops kFloatUpdateLoops = {&LoopUpdate<Update, float>, &LoopUpdate<Update, double>,
                                                  &LoopUpdate<Update, Rounded>, nullptr};
template <template <typename> class Update>
inline constexpr UpdateLoops kAllUpdateLoops = {&LoopUpdate<Update, float>, &LoopUpdate<Update, double>,
                                                &LoopUpdate<Update, Rounded>,
                                                &LoopUpdate<Update, std::complex<double>>};

// `loops` with another loop for half and bfloat16, where TensorFlow rounds in another order. All other dtypes have bits
// enough that one order will do.
template <template <typename> class Update>
constexpr UpdateLoops WithRounded(UpdateLoops loops) {
  loops.of_rounded = &LoopUpdate<Update, Rounded>;
  return loops;
}

// Elements [begin, end) of a stretch.
UpdateSpan PartOf(const UpdateSpan& span, int num_slots, size_t element_size, int64_t begin, int64_t end);

// Updates a stretch of `num_slots` arrays of elements of `dtype`, which ends at a multiple of kVectorSize or where
// TensorFlow's arrays end. REQUIRES: the update has a loop for it.
void RunUpdate(const UpdateLoops& loops, int num_slots, DType dtype, const UpdateSpan& span,
               const UpdateSetting& setting);

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_UPDATE_LOOP_H_

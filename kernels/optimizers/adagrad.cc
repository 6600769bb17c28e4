// Updates that sum up squares of gradients: Adagrad and its forms, Adadelta.

#include "kernels/optimizers/families.h"
#include "kernels/optimizers/update_kernel.h"
#include "kernels/optimizers/update_loop.h"

namespace sluice {
namespace {

constexpr DTypeSet kDecimals{DType::kFloat, DType::kDouble};
constexpr DTypeSet kFloatsAndComplex = kFloatTypes | kComplexTypes;

// lr; the flag: update_slots
template <typename N>
class AdagradUpdate {
 public:
  static constexpr int kSlots = 2;
  AdagradUpdate(const UpdateScalars<N>& s, bool update_slots) : lr_(s[0]), update_slots_(update_slots) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = update_slots_ ? accum + Square(grad) : accum;
    var = var - grad * lr_ * Rsqrt(accum);
  }

 private:
  const N lr_;
  const bool update_slots_;
};

// Rows of one element.
template <typename N>
class SingleAdagradUpdate {
 public:
  static constexpr int kSlots = 2;
  SingleAdagradUpdate(const UpdateScalars<N>& s, bool update_slots) : lr_(s[0]), update_slots_(update_slots) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = update_slots_ ? accum + Square(grad) : accum;
    var = var - lr_ * grad / Sqrt(accum);
  }

 private:
  const N lr_;
  const bool update_slots_;
};

// lr, epsilon; the flag: update_slots
template <typename N>
class AdagradV2Update {
 public:
  static constexpr int kSlots = 2;
  AdagradV2Update(const UpdateScalars<N>& s, bool update_slots)
      : lr_(s[0]), epsilon_(s[1]), update_slots_(update_slots) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = update_slots_ ? accum + Square(grad) : accum;
    var = var - grad * lr_ / (Sqrt(accum) + epsilon_);
  }

 private:
  const N lr_, epsilon_;
  const bool update_slots_;
};

// lr, l1, l2, global_step
template <typename N>
class AdagradDualAveragingUpdate {
 public:
  static constexpr int kSlots = 3;
  AdagradDualAveragingUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), l1_(s[1] > N(0) ? s[1] * s[3] : N(0)), l2_(s[2] * s[3] * s[0]) {}
  [[gnu::always_inline]] void operator()(N& var, N& sum, N& square_sum, const N& grad) const {
    sum = sum + grad;
    square_sum = square_sum + Square(grad);
    var = -lr_ * (Sign(sum) * Larger(Abs(sum) - l1_, N(0))) / (l2_ + Sqrt(square_sum));
  }

 private:
  const N lr_, l1_, l2_;
};

// lr, l1, l2
template <typename N>
class ProximalAdagradUpdate {
 public:
  static constexpr int kSlots = 2;
  ProximalAdagradUpdate(const UpdateScalars<N>& s, bool) : lr_(s[0]), l1_(s[1]), l2_(s[2]) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = accum + Square(grad);
    const N rate = lr_ * Rsqrt(accum);
    const N step = var - grad * rate;
    var = Sign(step) * Larger(Abs(step) - rate * l1_, N(0)) / (N(1) + rate * l2_);
  }

 private:
  const N lr_, l1_, l2_;
};

// lr, rho, epsilon
template <typename N>
class AdadeltaUpdate {
 public:
  static constexpr int kSlots = 3;
  AdadeltaUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), rho_(s[1]), epsilon_(s[2]), rest_(Constant(s[1], 1) - s[1]) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, N& accum_update, const N& grad) const {
    accum = accum * rho_ + Square(grad) * rest_;
    const N update = Sqrt(accum_update + epsilon_) * Rsqrt(accum + epsilon_) * grad;
    accum_update = accum_update * rho_ + Square(update) * rest_;
    var = var - update * lr_;
  }

 private:
  const N lr_, rho_, epsilon_, rest_;
};

constexpr UpdateSpec kAdagrad = {2,    {{"lr"}}, kAllUpdateLoops<AdagradUpdate>,           1.5f, "update_slots", "grad",
                                 true, false,    &LoopUpdate<SingleAdagradUpdate, Rounded>};
constexpr UpdateSpec kAdagradV2 = {
    2, {{"lr"}, {"epsilon"}}, kAllUpdateLoops<AdagradV2Update>, 1.5f, "update_slots", "grad", true};
constexpr UpdateSpec kAdagradDualAveraging = {3,
                                              {{"lr"}, {"l1"}, {"l2"}, {"global_step"}},
                                              kRealUpdateLoops<AdagradDualAveragingUpdate>,
                                              1.5f,
                                              "",
                                              "grad",
                                              true,
                                              true};
constexpr UpdateSpec kProximalAdagrad = {
    2,
    {{"lr", ScalarRule::kPositive}, {"l1", ScalarRule::kNotNegative}, {"l2", ScalarRule::kNotNegative}},
    kRealUpdateLoops<ProximalAdagradUpdate>,
    2,
    "",
    "grad",
    true,
    true};
constexpr UpdateSpec kAdadelta = {3, {{"lr"}, {"rho"}, {"epsilon"}}, kAllUpdateLoops<AdadeltaUpdate>, 2};

constexpr KernelRow kRows[] = {
    KernelRow("ApplyAdagrad", DenseUpdate(kAdagrad)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyAdagrad", DenseUpdate(kAdagrad)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyAdagrad", SparseUpdate(kAdagrad)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyAdagrad", SparseUpdate(kAdagrad)).Types("T", kFloatsAndComplex),
    KernelRow("ApplyAdagradV2", DenseUpdate(kAdagradV2)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyAdagradV2", DenseUpdate(kAdagradV2)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyAdagradV2", SparseUpdate(kAdagradV2)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyAdagradV2", SparseUpdate(kAdagradV2)).Types("T", kFloatsAndComplex),
    KernelRow("ApplyAdagradDA", DenseUpdate(kAdagradDualAveraging)).Types("T", kDecimals),
    KernelRow("ResourceApplyAdagradDA", DenseUpdate(kAdagradDualAveraging)).Types("T", kDecimals),
    KernelRow("SparseApplyAdagradDA", SparseUpdate(kAdagradDualAveraging)).Types("T", kDecimals),
    KernelRow("ResourceSparseApplyAdagradDA", SparseUpdate(kAdagradDualAveraging)).Types("T", kDecimals),
    KernelRow("ApplyProximalAdagrad", DenseUpdate(kProximalAdagrad)).Types("T", kDecimals),
    KernelRow("ResourceApplyProximalAdagrad", DenseUpdate(kProximalAdagrad)).Types("T", kDecimals),
    KernelRow("SparseApplyProximalAdagrad", SparseUpdate(kProximalAdagrad)).Types("T", kDecimals),
    KernelRow("ResourceSparseApplyProximalAdagrad", SparseUpdate(kProximalAdagrad)).Types("T", kDecimals),
    KernelRow("ApplyAdadelta", DenseUpdate(kAdadelta)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyAdadelta", DenseUpdate(kAdadelta)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyAdadelta", SparseUpdate(kAdadelta)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyAdadelta", SparseUpdate(kAdadelta)).Types("T", kFloatsAndComplex),
};

}  // namespace

absl::Span<const KernelRow> AdagradKernels() { return kRows; }

}  // namespace sluice

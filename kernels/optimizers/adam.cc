// Updates with moving averages of gradients and of their squares: Adam and its forms, RMSProp.

#include "kernels/optimizers/families.h"
#include "kernels/optimizers/update_kernel.h"
#include "kernels/optimizers/update_loop.h"

namespace sluice {
namespace {

constexpr DTypeSet kFloatsAndComplex = kFloatTypes | kComplexTypes;

// beta1_power, beta2_power, lr, beta1, beta2, epsilon; the flag: use_nesterov
template <typename N>
class AdamUpdate {
 public:
  static constexpr int kSlots = 3;
  AdamUpdate(const UpdateScalars<N>& s, bool nesterov)
      : alpha_(s[2] * Sqrt(Constant(s[1], 1) - s[1]) / (Constant(s[0], 1) - s[0])),
        beta1_(s[3]),
        rest1_(Constant(s[3], 1) - s[3]),
        rest2_(Constant(s[4], 1) - s[4]),
        epsilon_(s[5]),
        nesterov_(nesterov) {}
  [[gnu::always_inline]] void operator()(N& var, N& m, N& v, const N& grad) const {
    m = m + (grad - m) * rest1_;
    v = v + (Square(grad) - v) * rest2_;
    const N direction = nesterov_ ? grad * rest1_ + beta1_ * m : m;
    var = var - direction * alpha_ / (Sqrt(v) + epsilon_);
  }

 private:
  const N alpha_, beta1_, rest1_, rest2_, epsilon_;
  const bool nesterov_;
};

// The same scalars, no flag.
template <typename N>
class AmsgradUpdate {
 public:
  static constexpr int kSlots = 4;
  AmsgradUpdate(const UpdateScalars<N>& s, bool)
      : alpha_(s[2] * Sqrt(Constant(s[1], 1) - s[1]) / (Constant(s[0], 1) - s[0])),
        rest1_(Constant(s[3], 1) - s[3]),
        rest2_(Constant(s[4], 1) - s[4]),
        epsilon_(s[5]) {}
  [[gnu::always_inline]] void operator()(N& var, N& m, N& v, N& v_max, const N& grad) const {
    m = m + (grad - m) * rest1_;
    v = v + (Square(grad) - v) * rest2_;
    v_max = Larger(v_max, v);
    var = var - m * alpha_ / (Sqrt(v_max) + epsilon_);
  }

 private:
  const N alpha_, rest1_, rest2_, epsilon_;
};

// beta1_power, lr, beta1, beta2, epsilon
template <typename N>
class AdaMaxUpdate {
 public:
  static constexpr int kSlots = 3;
  AdaMaxUpdate(const UpdateScalars<N>& s, bool)
      : alpha_(s[1] / (Constant(s[0], 1) - s[0])), rest1_(Constant(s[2], 1) - s[2]), beta2_(s[3]), epsilon_(s[4]) {}
  [[gnu::always_inline]] void operator()(N& var, N& m, N& v, const N& grad) const {
    m = m + (grad - m) * rest1_;
    v = Larger(beta2_ * v, Abs(grad));
    var = var - alpha_ * (m / (v + epsilon_));
  }

 private:
  const N alpha_, rest1_, beta2_, epsilon_;
};

// lr, rho, momentum, epsilon
template <typename N>
class RmsPropUpdate {
 public:
  static constexpr int kSlots = 3;
  RmsPropUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), rest_(Constant(s[1], 1) - s[1]), momentum_(s[2]), epsilon_(s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& ms, N& mom, const N& grad) const {
    ms = ms + (Square(grad) - ms) * rest_;
    mom = mom * momentum_ + grad * lr_ / Sqrt(ms + epsilon_);
    var = var - mom;
  }

 private:
  const N lr_, rest_, momentum_, epsilon_;
};

// The sparse form, which TensorFlow computes in another order.
template <typename N>
class SparseRmsPropUpdate {
 public:
  static constexpr int kSlots = 3;
  SparseRmsPropUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), rho_(s[1]), rest_(Constant(s[1], 1) - s[1]), momentum_(s[2]), epsilon_(s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& ms, N& mom, const N& grad) const {
    ms = ms * rho_ + Square(grad) * rest_;
    mom = mom * momentum_ + Rsqrt(ms + epsilon_) * lr_ * grad;
    var = var - mom;
  }

 private:
  const N lr_, rho_, rest_, momentum_, epsilon_;
};

// lr, rho, momentum, epsilon
template <typename N>
class CenteredRmsPropUpdate {
 public:
  static constexpr int kSlots = 4;
  CenteredRmsPropUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), rest_(Constant(s[1], 1) - s[1]), momentum_(s[2]), epsilon_(s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& mg, N& ms, N& mom, const N& grad) const {
    ms = ms + (Square(grad) - ms) * rest_;
    mg = mg + (grad - mg) * rest_;
    mom = mom * momentum_ + grad * lr_ / Sqrt(ms - Square(mg) + epsilon_);
    var = var - mom;
  }

 private:
  const N lr_, rest_, momentum_, epsilon_;
};

// The sparse form.
template <typename N>
class SparseCenteredRmsPropUpdate {
 public:
  static constexpr int kSlots = 4;
  SparseCenteredRmsPropUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), rho_(s[1]), rest_(Constant(s[1], 1) - s[1]), momentum_(s[2]), epsilon_(s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& mg, N& ms, N& mom, const N& grad) const {
    ms = ms * rho_ + Square(grad) * rest_;
    mg = mg * rho_ + grad * rest_;
    mom = mom * momentum_ + Rsqrt(ms + epsilon_ - Square(mg)) * lr_ * grad;
    var = var - mom;
  }

 private:
  const N lr_, rho_, rest_, momentum_, epsilon_;
};

constexpr UpdateSpec kAdam = {3,
                              {{"beta1_power"}, {"beta2_power"}, {"lr"}, {"beta1"}, {"beta2"}, {"epsilon"}},
                              kAllUpdateLoops<AdamUpdate>,
                              2,
                              "use_nesterov"};
constexpr UpdateSpec kAmsgrad = {4,
                                 {{"beta1_power"}, {"beta2_power"}, {"lr"}, {"beta1"}, {"beta2"}, {"epsilon"}},
                                 kFloatUpdateLoops<AmsgradUpdate>,
                                 2};
constexpr UpdateSpec kAdaMax = {
    3, {{"beta1_power"}, {"lr"}, {"beta1"}, {"beta2"}, {"epsilon"}}, kFloatUpdateLoops<AdaMaxUpdate>, 1.5f};
constexpr UpdateSpec kRmsProp = {3, {{"lr"}, {"rho"}, {"momentum"}, {"epsilon"}}, kAllUpdateLoops<RmsPropUpdate>, 2};
constexpr UpdateSpec kSparseRmsProp = {3,
                                       {{"lr"}, {"rho"}, {"momentum"}, {"epsilon"}},
                                       WithRounded<SparseRmsPropUpdate>(kAllUpdateLoops<RmsPropUpdate>),
                                       2};
constexpr UpdateSpec kCenteredRmsProp = {
    4, {{"lr"}, {"rho"}, {"momentum"}, {"epsilon"}}, kAllUpdateLoops<CenteredRmsPropUpdate>, 2};
constexpr UpdateSpec kSparseCenteredRmsProp = {
    4,
    {{"lr"}, {"rho"}, {"momentum"}, {"epsilon"}},
    WithRounded<SparseCenteredRmsPropUpdate>(kAllUpdateLoops<CenteredRmsPropUpdate>),
    2};

constexpr KernelRow kRows[] = {
    KernelRow("ApplyAdam", DenseUpdate(kAdam)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyAdam", DenseUpdate(kAdam)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyAdamWithAmsgrad", DenseUpdate(kAmsgrad)).Types("T", kFloatTypes),
    KernelRow("ApplyAdaMax", DenseUpdate(kAdaMax)).Types("T", kFloatTypes),
    KernelRow("ResourceApplyAdaMax", DenseUpdate(kAdaMax)).Types("T", kFloatTypes),
    KernelRow("ApplyRMSProp", DenseUpdate(kRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyRMSProp", DenseUpdate(kRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyRMSProp", SparseUpdate(kSparseRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyRMSProp", SparseUpdate(kSparseRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("ApplyCenteredRMSProp", DenseUpdate(kCenteredRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyCenteredRMSProp", DenseUpdate(kCenteredRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyCenteredRMSProp", SparseUpdate(kSparseCenteredRmsProp)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyCenteredRMSProp", SparseUpdate(kSparseCenteredRmsProp)).Types("T", kFloatsAndComplex),
};

}  // namespace

absl::Span<const KernelRow> AdamKernels() { return kRows; }

}  // namespace sluice

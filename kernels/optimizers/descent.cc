// Gradient descent, plain and with momentum, and the updates that look at signs.

#include "kernels/optimizers/families.h"
#include "kernels/optimizers/update_kernel.h"
#include "kernels/optimizers/update_loop.h"

namespace sluice {
namespace {

constexpr DTypeSet kDecimals{DType::kFloat, DType::kDouble};
constexpr DTypeSet kFloatsAndComplex = kFloatTypes | kComplexTypes;

// alpha
template <typename N>
class GradientDescentUpdate {
 public:
  static constexpr int kSlots = 1;
  GradientDescentUpdate(const UpdateScalars<N>& s, bool) : alpha_(s[0]) {}
  [[gnu::always_inline]] void operator()(N& var, const N& grad) const { var = var - grad * alpha_; }

 private:
  const N alpha_;
};

// alpha, l1, l2
template <typename N>
class ProximalDescentUpdate {
 public:
  static constexpr int kSlots = 1;
  ProximalDescentUpdate(const UpdateScalars<N>& s, bool)
      : alpha_(s[0]), l1_(s[1] > N(0) ? s[0] * s[1] : N(0)), l2_(N(1) + s[2] * s[0]) {}
  [[gnu::always_inline]] void operator()(N& var, const N& grad) const {
    const N step = var - grad * alpha_;
    var = Sign(step) * Larger(Abs(step) - l1_, N(0)) / l2_;
  }

 private:
  const N alpha_, l1_, l2_;
};

// lr, momentum; the flag: use_nesterov. TensorFlow multiplies in another order where the update is sparse.
template <typename N, bool kIsSparse>
class AnyMomentumUpdate {
 public:
  static constexpr int kSlots = 2;
  AnyMomentumUpdate(const UpdateScalars<N>& s, bool nesterov)
      : lr_(s[0]), momentum_(s[1]), both_(s[0] * s[1]), nesterov_(nesterov) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = accum * momentum_ + grad;
    const N ahead = kIsSparse ? both_ * accum : accum * momentum_ * lr_;
    var = var - (nesterov_ ? grad * lr_ + ahead : accum * lr_);
  }

 private:
  const N lr_, momentum_, both_;
  const bool nesterov_;
};
template <typename N>
using MomentumUpdate = AnyMomentumUpdate<N, false>;
template <typename N>
using SparseMomentumUpdate = AnyMomentumUpdate<N, true>;

// lr, momentum; the flag: use_nesterov
template <typename N>
class KerasMomentumUpdate {
 public:
  static constexpr int kSlots = 2;
  KerasMomentumUpdate(const UpdateScalars<N>& s, bool nesterov) : lr_(s[0]), momentum_(s[1]), nesterov_(nesterov) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, const N& grad) const {
    accum = accum * momentum_ - grad * lr_;
    var = var + (nesterov_ ? accum * momentum_ - grad * lr_ : accum);
  }

 private:
  const N lr_, momentum_;
  const bool nesterov_;
};

// lr, alpha, sign_decay, beta
template <typename N>
class AddSignUpdate {
 public:
  static constexpr int kSlots = 2;
  AddSignUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), alpha_(s[1]), sign_decay_(s[2]), beta_(s[3]), rest_(Constant(s[3], 1) - s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& m, const N& grad) const {
    m = m * beta_ + grad * rest_;
    var = var - lr_ * (alpha_ + sign_decay_ * (Sign(grad) * Sign(m))) * grad;
  }

 private:
  const N lr_, alpha_, sign_decay_, beta_, rest_;
};

// lr, logbase, sign_decay, beta
template <typename N>
class PowerSignUpdate {
 public:
  static constexpr int kSlots = 2;
  PowerSignUpdate(const UpdateScalars<N>& s, bool)
      : lr_(s[0]), exponent_(s[1] * s[2]), beta_(s[3]), rest_(Constant(s[3], 1) - s[3]) {}
  [[gnu::always_inline]] void operator()(N& var, N& m, const N& grad) const {
    m = m * beta_ + grad * rest_;
    var = var - lr_ * Exp(exponent_ * (Sign(grad) * Sign(m))) * grad;
  }

 private:
  const N lr_, exponent_, beta_, rest_;
};

constexpr UpdateSpec kDescent = {1, {{"alpha"}}, kAllUpdateLoops<GradientDescentUpdate>, 0.3f, "", "delta"};
constexpr UpdateSpec kProximalDescent = {
    1, {{"alpha"}, {"l1"}, {"l2"}}, kRealUpdateLoops<ProximalDescentUpdate>, 1, "", "delta"};
constexpr UpdateSpec kSparseProximalDescent = {
    1, {{"alpha"}, {"l1"}, {"l2"}}, kRealUpdateLoops<ProximalDescentUpdate>, 1, "", "grad", true, true};
constexpr UpdateSpec kMomentum = {2, {{"lr"}, {"momentum"}}, kAllUpdateLoops<MomentumUpdate>, 0.5f, "use_nesterov"};
constexpr UpdateSpec kSparseMomentum = {2,
                                        {{"lr"}, {"momentum"}},
                                        WithRounded<SparseMomentumUpdate>(kAllUpdateLoops<MomentumUpdate>),
                                        0.5f,
                                        "use_nesterov",
                                        "grad",
                                        false,
                                        true};
constexpr UpdateSpec kKerasMomentum = {
    2, {{"lr"}, {"momentum"}}, kAllUpdateLoops<KerasMomentumUpdate>, 0.5f, "use_nesterov", "grad", false, true};
constexpr UpdateSpec kAddSign = {
    2, {{"lr"}, {"alpha"}, {"sign_decay", ScalarRule::kOneElement}, {"beta"}}, kFloatUpdateLoops<AddSignUpdate>, 1};
constexpr UpdateSpec kPowerSign = {
    2, {{"lr"}, {"logbase"}, {"sign_decay", ScalarRule::kOneElement}, {"beta"}}, kFloatUpdateLoops<PowerSignUpdate>, 8};

constexpr KernelRow kRows[] = {
    KernelRow("ApplyGradientDescent", DenseUpdate(kDescent)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyGradientDescent", DenseUpdate(kDescent)).Types("T", kFloatsAndComplex),
    KernelRow("ApplyProximalGradientDescent", DenseUpdate(kProximalDescent)).Types("T", kDecimals),
    KernelRow("ResourceApplyProximalGradientDescent", DenseUpdate(kProximalDescent)).Types("T", kDecimals),
    KernelRow("SparseApplyProximalGradientDescent", SparseUpdate(kSparseProximalDescent)).Types("T", kDecimals),
    KernelRow("ResourceSparseApplyProximalGradientDescent", SparseUpdate(kSparseProximalDescent)).Types("T", kDecimals),
    KernelRow("ApplyMomentum", DenseUpdate(kMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyMomentum", DenseUpdate(kMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("SparseApplyMomentum", SparseUpdate(kSparseMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyMomentum", SparseUpdate(kSparseMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceApplyKerasMomentum", DenseUpdate(kKerasMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("ResourceSparseApplyKerasMomentum", SparseUpdate(kKerasMomentum)).Types("T", kFloatsAndComplex),
    KernelRow("ApplyAddSign", DenseUpdate(kAddSign)).Types("T", kFloatTypes),
    KernelRow("ResourceApplyAddSign", DenseUpdate(kAddSign)).Types("T", kFloatTypes),
    KernelRow("ApplyPowerSign", DenseUpdate(kPowerSign)).Types("T", kFloatTypes),
    KernelRow("ResourceApplyPowerSign", DenseUpdate(kPowerSign)).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> DescentKernels() { return kRows; }

}  // namespace sluice

// Ftrl: follow the regularised leader.

#include "kernels/optimizers/families.h"
#include "kernels/optimizers/update_kernel.h"
#include "kernels/optimizers/update_loop.h"

namespace sluice {
namespace {

// A power of the sum of squares: the square root in nearly all models.
struct RootOfSum {
  template <typename N>
  [[gnu::always_inline]] static N Of(const N& sum, const N&) {
    return Sqrt(sum);
  }
};
struct PowerOfSum {
  template <typename N>
  [[gnu::always_inline]] static N Of(const N& sum, const N& lr_power) {
    return Pow(sum, -lr_power);
  }
};

// TensorFlow has the formula three times over.
enum class FtrlForm {
  kDense,      // Where `linear` is within l1, the variable is 0: also where nothing was ever added to `accum`.
  kRows,       // There it is 0 over what it would be divided by, which may be 0 as well.
  kSingleRow,  // The same for rows of one element, added up in another order.
};

// lr, l1, l2, lr_power, l2_shrinkage; the flag: multiply_linear_by_lr, by which all terms of the equation that `linear`
// stands in are multiplied by lr instead of divided.
template <typename N, typename Power, FtrlForm kForm>
class FtrlUpdate {
 public:
  static constexpr int kSlots = 3;
  FtrlUpdate(const UpdateScalars<N>& s, bool multiply)
      : lr_(s[0]),
        l1_(multiply ? s[1] * s[0] : s[1]),
        l2_(multiply ? Constant(s[2], 2) * s[2] * s[0] : Constant(s[2], 2) * s[2]),
        lr_power_(s[3]),
        shrinkage_(Constant(s[4], 2) * s[4]),
        multiply_(multiply) {}
  [[gnu::always_inline]] void operator()(N& var, N& accum, N& linear, const N& grad) const {
    const N shrunk = grad + shrinkage_ * var;
    const N new_accum = accum + Square(grad);
    const N power = Power::Of(new_accum, lr_power_);
    const N growth = power - Power::Of(accum, lr_power_);
    const N gain = multiply_ ? shrunk * lr_ : shrunk;
    const N loss = (multiply_ ? growth : growth / lr_) * var;
    linear = kForm == FtrlForm::kSingleRow ? linear + gain - loss : linear + (gain - loss);
    const N quadratic = (multiply_ ? power : power / lr_) + l2_;
    if constexpr (kForm == FtrlForm::kDense) {
      const N outside = (l1_ * Sign(linear) - linear) / quadratic;
      var = l1_ < Abs(linear) ? outside : Constant(outside, 0);
    } else {
      var = (Larger(Smaller(linear, l1_), -l1_) - linear) / quadratic;
    }
    accum = new_accum;
  }

 private:
  const N lr_, l1_, l2_, lr_power_, shrinkage_;
  const bool multiply_;
};

template <FtrlForm kForm>
struct FtrlUpdates {
  template <typename N>
  using OfRoot = FtrlUpdate<N, RootOfSum, kForm>;
  template <typename N>
  using OfPower = FtrlUpdate<N, PowerOfSum, kForm>;
};

template <typename N, FtrlForm kForm>
void FtrlLoop(const UpdateSpan& span, const UpdateSetting& setting) {
  using Updates = FtrlUpdates<kForm>;
  const bool is_root = setting.scalars[3].real() == -0.5;
  (is_root ? &LoopUpdate<Updates::template OfRoot, N> : &LoopUpdate<Updates::template OfPower, N>)(span, setting);
}

template <FtrlForm kForm>
constexpr UpdateLoops kFtrlLoops = {&FtrlLoop<float, kForm>, &FtrlLoop<double, kForm>, &FtrlLoop<Rounded, kForm>,
                                    nullptr};

constexpr UpdateSpec kFtrl = {
    3, {{"lr"}, {"l1"}, {"l2"}, {"lr_power"}}, kFtrlLoops<FtrlForm::kDense>, 3, "multiply_linear_by_lr"};
constexpr UpdateSpec kFtrlV2 = {3,
                                {{"lr"}, {"l1"}, {"l2"}, {"lr_power"}, {"l2_shrinkage"}},
                                kFtrlLoops<FtrlForm::kDense>,
                                3,
                                "multiply_linear_by_lr"};
constexpr UpdateSpec kSparseFtrl = {3,
                                    {{"lr", ScalarRule::kPositiveOrFlag},
                                     {"l1", ScalarRule::kNotNegative},
                                     {"l2", ScalarRule::kNotNegative},
                                     {"lr_power", ScalarRule::kNotPositive}},
                                    kFtrlLoops<FtrlForm::kRows>,
                                    3,
                                    "multiply_linear_by_lr",
                                    "grad",
                                    true,
                                    true,
                                    &FtrlLoop<Rounded, FtrlForm::kSingleRow>};
constexpr UpdateSpec kSparseFtrlV2 = {3,
                                      {{"lr", ScalarRule::kPositiveOrFlag},
                                       {"l1", ScalarRule::kNotNegative},
                                       {"l2", ScalarRule::kNotNegative},
                                       {"lr_power", ScalarRule::kNotPositive},
                                       {"l2_shrinkage", ScalarRule::kNotNegative}},
                                      kFtrlLoops<FtrlForm::kRows>,
                                      3,
                                      "multiply_linear_by_lr",
                                      "grad",
                                      true,
                                      true,
                                      &FtrlLoop<Rounded, FtrlForm::kSingleRow>};

constexpr KernelRow kRows[] = {
    KernelRow("ApplyFtrl", DenseUpdate(kFtrl)).Types("T", kFloatTypes),
    KernelRow("ResourceApplyFtrl", DenseUpdate(kFtrl)).Types("T", kFloatTypes),
    KernelRow("SparseApplyFtrl", SparseUpdate(kSparseFtrl)).Types("T", kFloatTypes),
    KernelRow("ResourceSparseApplyFtrl", SparseUpdate(kSparseFtrl)).Types("T", kFloatTypes),
    KernelRow("ApplyFtrlV2", DenseUpdate(kFtrlV2)).Types("T", kFloatTypes),
    KernelRow("ResourceApplyFtrlV2", DenseUpdate(kFtrlV2)).Types("T", kFloatTypes),
    KernelRow("SparseApplyFtrlV2", SparseUpdate(kSparseFtrlV2)).Types("T", kFloatTypes),
    KernelRow("ResourceSparseApplyFtrlV2", SparseUpdate(kSparseFtrlV2)).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> FtrlKernels() { return kRows; }

}  // namespace sluice

#include "graph/training/update_forms.h"

namespace sluice {
namespace {

using Arg = UpdateArg;

constexpr int kInOrder[] = {0, 1, 2};
constexpr SlotStart kAccumulator[] = {SlotStart::kInitialAccumulator, SlotStart::kZeros};
constexpr SlotStart kZeros[] = {SlotStart::kZeros, SlotStart::kZeros};
constexpr SlotStart kOnesFirst[] = {SlotStart::kOnes, SlotStart::kZeros, SlotStart::kZeros};

constexpr Arg kSgd[] = {Arg::kLearningRate, Arg::kGradient};
constexpr Arg kMomentum[] = {Arg::kLearningRate, Arg::kGradient, Arg::kMomentum};
constexpr Arg kSparseMomentum[] = {Arg::kLearningRate, Arg::kGradient, Arg::kIndices, Arg::kMomentum};
constexpr Arg kAdagrad[] = {Arg::kLearningRate, Arg::kGradient, Arg::kIndices};
constexpr Arg kAdadelta[] = {Arg::kLearningRate, Arg::kRho, Arg::kEpsilon, Arg::kGradient, Arg::kIndices};
constexpr Arg kAdam[] = {Arg::kBeta1Power, Arg::kBeta2Power, Arg::kLearningRate, Arg::kBeta1,
                         Arg::kBeta2,      Arg::kEpsilon,    Arg::kGradient};
constexpr Arg kAdaMax[] = {Arg::kBeta1Power, Arg::kLearningRate, Arg::kBeta1,
                           Arg::kBeta2,      Arg::kEpsilon,      Arg::kGradient};
constexpr Arg kRmsProp[] = {Arg::kLearningRate, Arg::kDecay,    Arg::kMomentum,
                            Arg::kEpsilon,      Arg::kGradient, Arg::kIndices};
// The op takes the mean first, which is made second.
constexpr int kMeanFirst[] = {1, 0, 2};
constexpr Arg kFtrl[] = {Arg::kGradient, Arg::kLearningRate, Arg::kL1,
                         Arg::kL2,       Arg::kL2Shrinkage,  Arg::kLearningRatePower};
constexpr Arg kSparseFtrl[] = {Arg::kGradient, Arg::kIndices,     Arg::kLearningRate,     Arg::kL1,
                               Arg::kL2,       Arg::kL2Shrinkage, Arg::kLearningRatePower};

template <typename T, size_t N>
constexpr absl::Span<const T> First(const T (&all)[N], size_t count) {
  return absl::Span<const T>(all, count);
}

// The last argument of many sparse forms is the indices, which the dense ones do without.
template <size_t N>
UpdateForm IndicesLast(absl::string_view op, absl::string_view slot_name, absl::Span<const SlotStart> slots,
                       const Arg (&args)[N]) {
  return {op, slot_name, slots, First(kInOrder, slots.size()), First(args, N - 1), args};
}

}  // namespace

const UpdateForm& FormOf(const Optimizer& optimizer) {
  static const UpdateForm sgd = {"GradientDescent", "", {}, {}, kSgd, {}};
  static const UpdateForm momentum = {"Momentum",         "Momentum", First(kZeros, 1),
                                      First(kInOrder, 1), kMomentum,  kSparseMomentum};
  static const UpdateForm adagrad = IndicesLast("Adagrad", "Adagrad", First(kAccumulator, 1), kAdagrad);
  static const UpdateForm adadelta = IndicesLast("Adadelta", "Adadelta", kZeros, kAdadelta);
  static const UpdateForm adam = {"Adam", "Adam", kZeros, First(kInOrder, 2), kAdam, {}};
  static const UpdateForm adamax = {"AdaMax", "AdaMax", kZeros, First(kInOrder, 2), kAdaMax, {}};
  static const UpdateForm rmsprop = IndicesLast("RMSProp", "RMSProp", First(kOnesFirst, 2), kRmsProp);
  static const UpdateForm centered = {"CenteredRMSProp", "RMSProp",          kOnesFirst,
                                      kMeanFirst,        First(kRmsProp, 5), kRmsProp};
  static const UpdateForm ftrl = {"FtrlV2", "Ftrl", kAccumulator, First(kInOrder, 2), kFtrl, kSparseFtrl};
  switch (optimizer.kind) {
    case Optimizer::Kind::kSgd:
      return sgd;
    case Optimizer::Kind::kMomentum:
      return momentum;
    case Optimizer::Kind::kAdagrad:
      return adagrad;
    case Optimizer::Kind::kAdadelta:
      return adadelta;
    case Optimizer::Kind::kAdam:
    case Optimizer::Kind::kAdamW:
      return adam;
    case Optimizer::Kind::kAdaMax:
      return adamax;
    case Optimizer::Kind::kRmsProp:
      return optimizer.centered ? centered : rmsprop;
    case Optimizer::Kind::kFtrl:
      return ftrl;
  }
  return sgd;
}

}  // namespace sluice

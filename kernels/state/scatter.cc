#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/on_bad_index.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/resources/variable.h"
#include "kernels/state/cell_ops.h"
#include "kernels/state/families.h"
#include "kernels/state/scatter_plan.h"
#include "kernels/state/variable_input.h"

namespace sluice {
namespace {

constexpr DTypeSet kSummedTypes = kNumberTypes | DTypeSet{DType::kBool};

// How an index that is out of range, and those after it, are treated. TensorFlow has all three.
enum class BadIndexRule {
  kSkip,        // It is passed over.
  kEnd,         // An error; what was written until then stays.
  kErrorAtEnd,  // The same, but all others are written, too.
};

// Combines parts with updates, one after the other: equal indices add up in order. A single update is for all elements.
template <typename T, typename Op>
absl::Status Apply(const ScatterPlan& plan, T* value, const T* updates, bool is_single, BadIndexRule rule, Op op) {
  const int64_t inner = plan.inner();
  int64_t first_bad = -1;
  for (int64_t i = 0; i < plan.count(); ++i) {
    const int64_t offset = plan.Offset(i);
    if (ABSL_PREDICT_FALSE(offset < 0)) {
      if (first_bad < 0) first_bad = i;
      if (rule == BadIndexRule::kEnd) break;
      continue;
    }
    T* const part = value + offset;
    if (is_single) {
      for (int64_t k = 0; k < inner; ++k) part[k] = op(part[k], updates[0]);
    } else {
      const T* const update = updates + i * inner;
      for (int64_t k = 0; k < inner; ++k) part[k] = op(part[k], update[k]);
    }
  }
  return first_bad < 0 || rule == BadIndexRule::kSkip ? absl::OkStatus() : plan.OutOfRange(first_bad);
}

// Integers cannot be divided by zero.
template <typename T>
absl::Status CheckDivisors(const Tensor& updates) {
  if constexpr (std::is_integral_v<T>) {
    const absl::Span<const T> divisors = updates.flat<T>();
    if (std::find(divisors.begin(), divisors.end(), T{0}) != divisors.end()) {
      return ValueError(2, "updates", "0", "no division by zero");
    }
  }
  return absl::OkStatus();
}

template <typename Op>
absl::Status ApplyUpdates(const ScatterPlan& plan, Tensor& value, const Tensor& updates, bool is_single,
                          BadIndexRule rule) {
  absl::Status status = Error(ErrorCode::kOpUnimplemented).Found(DTypeName(value.dtype()));
  if constexpr (std::is_same_v<Op, ReplaceElements>) {
    DispatchMoved(value.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      status = Apply(plan, Elements<T>(value), Elements<T>(updates), is_single, rule, Op());
    });
  } else {
    constexpr bool kOrders = std::is_same_v<Op, MinElements> || std::is_same_v<Op, MaxElements>;
    constexpr bool kTakesBools = std::is_same_v<Op, AddElements> || std::is_same_v<Op, SubtractElements>;
    using Numbers = std::conditional_t<kOrders, RealCppTypes, NumberCppTypes>;
    using Types = std::conditional_t<kTakesBools, Join<NumberCppTypes, TypeList<bool>>, Numbers>;
    DispatchDType<Types>(value.dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      if constexpr (std::is_same_v<Op, DivideElements>) {
        status = CheckDivisors<T>(updates);
        if (!status.ok()) return;
      }
      status = Apply(plan, Elements<T>(value), Elements<T>(updates), is_single, rule, Op());
    });
  }
  return status;
}

// Changes the parts of `value` that input 1 names by input 2.
template <typename Op, bool kIsNd>
absl::Status ScatterInto(const KernelContext& context, OnBadIndex bad, Tensor& value) {
  const Tensor& indices = context.input(1);
  const Tensor& updates = context.input(2);
  SLUICE_RETURN_IF_ERROR(CheckSameType(value, updates));
  SLUICE_ASSIGN_OR_RETURN(const ScatterPlan plan,
                          kIsNd ? ScatterPlan::ForUpdates(value, indices) : ScatterPlan::ForRows(value, indices));
  const bool is_single = !kIsNd && updates.shape().IsScalar();
  if (!is_single && updates.shape() != plan.shape()) {
    return ShapesError(absl::StrCat("updates ", updates.shape().ToString(), ", indices ", indices.shape().ToString()),
                       absl::StrCat("updates ", plan.shape().ToString()));
  }
  // All of them have elements, or there is nothing to do.
  const bool is_idle = indices.num_elements() == 0 && updates.num_elements() == 0;
  const bool is_whole = indices.num_elements() > 0 && updates.num_elements() > 0 && value.num_elements() > 0;
  if (kIsNd && !is_idle && !is_whole) {
    return ShapesError(absl::StrCat("updates ", updates.shape().ToString(), ", indices ", indices.shape().ToString(),
                                    ", variable ", value.shape().ToString()),
                       "all of them with elements, or no updates");
  }
  // There may be any number of positions without an index, for a variable without elements.
  if (kIsNd && is_idle) return absl::OkStatus();
  const BadIndexRule on_error = kIsNd ? BadIndexRule::kErrorAtEnd : BadIndexRule::kEnd;
  return ApplyUpdates<Op>(plan, value, updates, is_single, bad == OnBadIndex::kSkip ? BadIndexRule::kSkip : on_error);
}

// Only the scatters by coordinates have a choice.
template <typename Made, bool kIsNd>
absl::StatusOr<std::unique_ptr<Kernel>> MakeScatter(const KernelConstruction& construction) {
  OnBadIndex bad = OnBadIndex::kError;
  if (kIsNd) {
    SLUICE_ASSIGN_OR_RETURN(bad, ReadOnBadIndex(construction));
  }
  return std::make_unique<Made>(bad);
}

// On a reference, which it hands on.
template <typename Op, bool kIsNd>
class RefScatterKernel final : public Kernel {
 public:
  explicit RefScatterKernel(OnBadIndex bad) : bad_(bad) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return MakeScatter<RefScatterKernel, kIsNd>(construction);
  }
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(RefCell* const cell, InputCell(context, 0));
    SLUICE_RETURN_IF_ERROR(ChangeValue(*cell, context.allocator(), VariableReadMode::kAlias,
                                       [&](Tensor& value) { return ScatterInto<Op, kIsNd>(context, bad_, value); }));
    context.SetRefOutput(0, cell);
    return absl::OkStatus();
  }

 private:
  const OnBadIndex bad_;
};

// On the variable behind a handle.
template <typename Op, bool kIsNd>
class ResourceScatterKernel final : public Kernel {
 public:
  explicit ResourceScatterKernel(OnBadIndex bad) : bad_(bad) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    return MakeScatter<ResourceScatterKernel, kIsNd>(construction);
  }
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Variable> variable, LookupVariable(context, context.input_type(2)));
    return ChangeValue(variable->cell(), context.allocator(), VariableReadMode::kSnapshot,
                       [&](Tensor& value) { return ScatterInto<Op, kIsNd>(context, bad_, value); });
  }

 private:
  const OnBadIndex bad_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ScatterUpdate", &New<RefScatterKernel<ReplaceElements, false>>),
    KernelRow("ScatterAdd", &New<RefScatterKernel<AddElements, false>>).Types("T", kNumberTypes),
    KernelRow("ScatterSub", &New<RefScatterKernel<SubtractElements, false>>).Types("T", kNumberTypes),
    KernelRow("ScatterMul", &New<RefScatterKernel<MultiplyElements, false>>).Types("T", kNumberTypes),
    KernelRow("ScatterDiv", &New<RefScatterKernel<DivideElements, false>>).Types("T", kNumberTypes),
    KernelRow("ScatterMin", &New<RefScatterKernel<MinElements, false>>).Types("T", kRealTypes),
    KernelRow("ScatterMax", &New<RefScatterKernel<MaxElements, false>>).Types("T", kRealTypes),
    KernelRow("ScatterNdUpdate", &New<RefScatterKernel<ReplaceElements, true>>),
    KernelRow("ScatterNdAdd", &New<RefScatterKernel<AddElements, true>>).Types("T", kNumberTypes),
    KernelRow("ScatterNdSub", &New<RefScatterKernel<SubtractElements, true>>).Types("T", kNumberTypes),
    KernelRow("ScatterNdMin", &New<RefScatterKernel<MinElements, true>>).Types("T", kRealTypes),
    KernelRow("ScatterNdMax", &New<RefScatterKernel<MaxElements, true>>).Types("T", kRealTypes),
    KernelRow("ResourceScatterUpdate", &New<ResourceScatterKernel<ReplaceElements, false>>),
    KernelRow("ResourceScatterAdd", &New<ResourceScatterKernel<AddElements, false>>).Types("dtype", kNumberTypes),
    KernelRow("ResourceScatterSub", &New<ResourceScatterKernel<SubtractElements, false>>).Types("dtype", kNumberTypes),
    KernelRow("ResourceScatterMul", &New<ResourceScatterKernel<MultiplyElements, false>>).Types("dtype", kNumberTypes),
    KernelRow("ResourceScatterDiv", &New<ResourceScatterKernel<DivideElements, false>>).Types("dtype", kNumberTypes),
    KernelRow("ResourceScatterMin", &New<ResourceScatterKernel<MinElements, false>>).Types("dtype", kRealTypes),
    KernelRow("ResourceScatterMax", &New<ResourceScatterKernel<MaxElements, false>>).Types("dtype", kRealTypes),
    KernelRow("ResourceScatterNdUpdate", &New<ResourceScatterKernel<ReplaceElements, true>>),
    KernelRow("ResourceScatterNdAdd", &New<ResourceScatterKernel<AddElements, true>>).Types("T", kSummedTypes),
    KernelRow("ResourceScatterNdSub", &New<ResourceScatterKernel<SubtractElements, true>>).Types("T", kSummedTypes),
    KernelRow("ResourceScatterNdMin", &New<ResourceScatterKernel<MinElements, true>>).Types("T", kRealTypes),
    KernelRow("ResourceScatterNdMax", &New<ResourceScatterKernel<MaxElements, true>>).Types("T", kRealTypes),
};

}  // namespace

absl::Span<const KernelRow> ScatterKernels() { return kRows; }

}  // namespace sluice

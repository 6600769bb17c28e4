#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <type_traits>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/reduce/families.h"
#include "kernels/reduce/reduce_ops.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr int64_t kColumns = 128;  // Columns that are carried at once.
constexpr int64_t kRowsBetweenPolls = 1 << 15;

// log(exp(a) + exp(b)) without overflow. As in TensorFlow, NaN for two +inf.
template <typename Element>
struct LogSumExpOp {
  using T = Element;
  using Acc = ComputeType<T>;
  static Acc Identity() { return -std::numeric_limits<Acc>::infinity(); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) {
    const Acc high = std::max(a, b);
    const Acc low = std::min(a, b);
    if (low == Identity()) return high;
    return high + std::log1p(std::exp(low - high));
  }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

// The loops of a scan along one axis, [outer, size, inner], and which way it goes.
struct ScanPlan {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  bool exclusive = false;
  bool reverse = false;
};

// Columns [0, width) of one slab. The running value is rounded to T at each step, as in TensorFlow.
template <typename Op>
absl::Status ScanColumns(const Workers& workers, const ScanPlan& plan, int64_t width, const typename Op::T* x,
                         typename Op::T* y) {
  typename Op::Acc acc[kColumns];
  std::fill_n(acc, width, Op::Identity());
  for (int64_t i = 0; i < plan.size; ++i) {
    // A slab may be all that there is.
    if (i % kRowsBetweenPolls == kRowsBetweenPolls - 1 && workers.MustStop()) return workers.WhyStopped();
    const int64_t row = (plan.reverse ? plan.size - 1 - i : i) * plan.inner;
    for (int64_t c = 0; c < width; ++c) {
      const typename Op::Acc before = acc[c];
      const typename Op::T after = Op::Finish(Op::Combine(before, Op::Load(x[row + c])), 1);
      acc[c] = Op::Load(after);
      y[row + c] = plan.exclusive ? Op::Finish(before, 1) : after;
    }
  }
  return absl::OkStatus();
}

// REQUIRES: elements. Without them there could be any number of slabs to go through.
template <typename Op>
absl::Status Scan(const KernelContext& context, const ScanPlan& plan, const void* input, void* output) {
  const auto* const x = static_cast<const typename Op::T*>(input);
  auto* const y = static_cast<typename Op::T*>(output);
  const int64_t strips = (plan.inner + kColumns - 1) / kColumns;
  const double unit_ns = 5.0 + static_cast<double>(plan.size * std::min(plan.inner, kColumns));
  const Workers workers(context.run());
  return workers.ForEachPart(plan.outer * strips, unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % strips * kColumns;
      const int64_t at = unit / strips * plan.size * plan.inner + column;
      SLUICE_RETURN_IF_ERROR(ScanColumns<Op>(workers, plan, std::min(kColumns, plan.inner - column), x + at, y + at));
    }
    return absl::OkStatus();
  });
}

using ScanFn = absl::Status (*)(const KernelContext& context, const ScanPlan& plan, const void* input, void* output);

// Input 0 scanned along the axis that is input 1. Thread-safe.
class ScanKernel final : public Kernel {
 public:
  ScanKernel(ScanFn scan, bool exclusive, bool reverse) : scan_(scan), exclusive_(exclusive), reverse_(reverse) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction, ScanFn scan) {
    SLUICE_ASSIGN_OR_RETURN(const bool exclusive, construction.Get<bool>("exclusive"));
    SLUICE_ASSIGN_OR_RETURN(const bool reverse, construction.Get<bool>("reverse"));
    return std::make_unique<ScanKernel>(scan, exclusive, reverse);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Shape& shape = context.input(0).shape();
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "axis"));
    SLUICE_ASSIGN_OR_RETURN(const int axis, ReadAxis(context, 1, "axis", shape.rank()));
    const ScanPlan plan{SizeOfAxes(shape, 0, axis), shape.dim(axis), SizeOfAxes(shape, axis + 1, shape.rank()),
                        exclusive_, reverse_};
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return scan_(context, plan, context.input(0).raw_data(), output->mutable_raw_data());
  }

 private:
  const ScanFn scan_;
  const bool exclusive_;
  const bool reverse_;
};

template <template <typename> class Op, typename Types>
absl::StatusOr<std::unique_ptr<Kernel>> MakeScan(const KernelConstruction& construction) {
  ScanFn found = nullptr;
  DispatchDType<Types>(construction.input_type(0), [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (std::is_integral<T>::value) {
      found = &Scan<Op<std::make_unsigned_t<T>>>;  // Wraps.
    } else {
      found = &Scan<Op<T>>;
    }
  });
  if (found == nullptr) return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(construction.input_type(0)));
  return ScanKernel::Make(construction, found);
}

constexpr KernelRow kRows[] = {
    KernelRow("Cumsum", &MakeScan<SumOp, NumberCppTypes>).Types("T", kNumberTypes),
    KernelRow("Cumprod", &MakeScan<ProdOp, NumberCppTypes>).Types("T", kNumberTypes),
    KernelRow("CumulativeLogsumexp", &MakeScan<LogSumExpOp, FloatCppTypes>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> ScanKernels() { return kRows; }

}  // namespace sluice

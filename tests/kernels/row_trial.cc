#include "tests/kernels/row_trial.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "kernels/device/cpu_device.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"
#include "kernels/dispatch.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/step/session_state.h"
#include "kernels/step/step_container.h"
#include "tests/kernels/sparse_inputs.h"

namespace sluice {
namespace {

// Cuts every loop as if it took a thousand times as long, and runs the shards on the calling thread, the last first.
class BackwardRunner : public TaskRunner {
 public:
  explicit BackwardRunner(int num_threads) : num_threads_(num_threads) {}
  void Schedule(absl::AnyInvocable<void()> task) override { task(); }
  int num_threads() const override { return num_threads_; }
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override {
    const ShardPlan plan(total, unit_ns * 1000, deterministic ? 0 : std::max(num_threads_, 2));
    for (int64_t i = plan.size(); i-- > 0;) work(plan.begin(i), plan.begin(i + 1));
    if (plan.size() > 1) ++num_cut_;
  }
  int num_cut() const { return num_cut_; }

 private:
  const int num_threads_;
  int num_cut_ = 0;
};

// How far two results agree.
enum class Agreement {
  kBits,   // All bits, but for those of NaN: which one an addition of two gives is the compiler's choice.
  kClose,  // The additions may have been made in another order. Nothing is asked of what is not finite.
};

template <typename T>
using Widened = std::conditional_t<std::is_same<T, double>::value, double, float>;

template <typename T>
bool IsSame(T a, T b, Agreement agreement) {
  if constexpr (std::is_integral<T>::value) {
    return a == b;
  } else {
    const double x = static_cast<double>(static_cast<Widened<T>>(a)),
                 y = static_cast<double>(static_cast<Widened<T>>(b));
    if (std::isnan(x) && std::isnan(y)) return true;
    if (agreement == Agreement::kBits) return std::memcmp(&a, &b, sizeof(T)) == 0;
    if (!std::isfinite(x) || !std::isfinite(y)) return true;
    const double tolerance = sizeof(T) == 8 ? 1e-9 : sizeof(T) == 4 ? 1e-4 : 0.05;
    return std::abs(x - y) <= tolerance * (1 + std::max(std::abs(x), std::abs(y)));
  }
}

template <typename T>
bool IsSame(std::complex<T> a, std::complex<T> b, Agreement agreement) {
  return IsSame(a.real(), b.real(), agreement) && IsSame(a.imag(), b.imag(), agreement);
}

bool SameElements(const Tensor& a, const Tensor& b, Agreement agreement = Agreement::kBits) {
  if (a.dtype() != b.dtype() || a.has_value() != b.has_value() || a.shape() != b.shape()) return false;
  if (!a.has_value() || a.dtype() == DType::kResource || a.dtype() == DType::kVariant) return true;
  if (a.dtype() == DType::kString) {
    const absl::Span<const TString> x = a.flat<TString>(), y = b.flat<TString>();
    return std::equal(x.begin(), x.end(), y.begin(),
                      [](const TString& s, const TString& t) { return s.view() == t.view(); });
  }
  if (a.total_bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.total_bytes()) == 0) return true;
  bool is_same = false;
  DispatchDType<NumberCppTypes>(a.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const absl::Span<const T> x = a.flat<T>(), y = b.flat<T>();
    is_same = true;
    for (size_t i = 0; i < x.size(); ++i) is_same &= IsSame(x[i], y[i], agreement);
  });
  return is_same;
}

std::string Difference(const RowTrial::Outcome& left, const RowTrial::Outcome& right, Agreement agreement) {
  if (left.status != right.status) return absl::StrCat(left.status.ToString(), " or ", right.status.ToString());
  const std::vector<Tensor>&a = left.values, &b = right.values;
  if (a.size() != b.size()) return absl::StrCat(a.size(), " or ", b.size(), " values");
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SameElements(a[i], b[i], agreement))
      return absl::StrCat("value ", i, ": ", a[i].ToString(), " or ", b[i].ToString());
  }
  return "";
}

}  // namespace

GivenInputs GiveInputs(const CallCase& row_case, const std::vector<Tensor>& inputs) {
  GivenInputs given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor own = inputs[i].DeepCopy().value();
    const DType type = row_case.inputs[i];
    if (IsRef(type)) {
      given.variables.push_back(MakeCounted<RefVariable>(own.dtype()));
      given.inputs.emplace_back(&given.variables.back()->cell());
    } else if (type == DType::kResource) {
      given.variables.push_back(MakeCounted<Variable>(own.dtype()));
      ResourceHandleData data;
      data.resource = given.variables.back();
      given.inputs.emplace_back(Tensor::Of<ResourceHandle>(Shape(), {ResourceHandle::Make(std::move(data))}));
    } else {
      if (!own.IsInline() && own.num_elements() > 0) given.places.insert(own.raw_data());
      given.inputs.emplace_back(std::move(own));
      continue;
    }
    RefCell& cell = given.variables.back()->cell();
    MutexLock lock(&cell.mu);
    cell.tensor = std::move(own);
  }
  return given;
}

RowTrial::Outcome RowTrial::RunOnce(const std::vector<Tensor>& inputs, const Way& way) {
  // Outlives what resources keep in it.
  const auto allocator = std::make_shared<TrackingAllocator>(HostAllocator(), int64_t{64} << 20);
  CpuDevice device(absl::StrCat(kLocalTask, "/device:CPU:0"), 1);
  StepContainer step(StepId(1));
  SessionState session;
  TensorStore store;
  BackwardRunner runner(way.num_threads);
  RunContext run;
  run.device = &device;
  run.resources = &device.resources();
  run.step_container = &step;
  run.session_state = &session;
  run.tensor_store = &store;
  run.allocator = allocator.get();
  run.deterministic = way.deterministic;
  if (way.num_threads > 0) run.task_runner = &runner;

  GivenInputs given = GiveInputs(case_, inputs);
  // Inputs that are not handed over must stay as they are: `kept` are second handles to them.
  const std::vector<KernelInput> kept = way.movable ? std::vector<KernelInput>() : given.inputs;
  absl::StatusOr<std::vector<Tensor>> outputs = kernel_.Run(run, std::move(given.inputs), way.movable);
  Outcome outcome{outputs.status(), allocator, {}};
  if (outputs.ok()) outcome.values = *std::move(outputs);
  counts_.in_shards += runner.num_cut() > 0 ? 1 : 0;
  bool is_in_place = false;
  for (const Tensor& value : outcome.values) {
    is_in_place |= way.movable && given.places.count(value.raw_data()) > 0;
  }
  counts_.in_place += is_in_place ? 1 : 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].ref != nullptr || case_.inputs[i] == DType::kResource) continue;
    if (!SameElements(kept[i].value, inputs[i])) {
      return {
          absl::InternalError(absl::StrCat("input ", i, " was overwritten: ", kept[i].value.ToString())), nullptr, {}};
    }
  }
  for (const auto& variable : given.variables) outcome.values.push_back(variable->cell().Read());
  // What outputs share with memory of this call must not be looked at after it.
  for (Tensor& value : outcome.values) {
    if (value.has_value()) value = value.DeepCopy().value();
  }
  return outcome;
}

std::string RowTrial::Run(bool is_large) {
  std::vector<DType> dtypes;
  for (const DType type : case_.inputs) {
    dtypes.push_back(type == DType::kResource ? case_.resource_type : BaseType(type));
    if (dtypes.back() == DType::kResource || dtypes.back() == DType::kVariant) return "";
  }
  std::vector<Tensor> inputs = images_.Draw(case_.op, dtypes, is_large, &inputs_);
  if (inputs.empty() && !random_.OneIn(4)) inputs = DrawSparseInputs(case_.op, dtypes, is_large, random_);
  const bool is_shaped = !case_.shapes.empty() && ++num_runs_ % 4 != 0;
  if (inputs.empty() && is_shaped) inputs = inputs_.DrawShaped(dtypes, case_.shapes);
  if (inputs.empty()) {
    inputs = case_.roles.empty() ? inputs_.Draw(dtypes, is_large) : inputs_.DrawUpdate(dtypes, case_.roles, is_large);
  }
  constexpr Way kWays[] = {
      {"copied", 0, false, 0, false},
      {"handed over", 0, true, 0, false},
      {"copied, in shards", 1, false, 8, false},
      {"handed over, in shards", 1, true, 8, false},
      {"deterministic", 2, false, 0, true},
      {"deterministic, in shards", 2, true, 8, true},
      {"deterministic, two threads", 2, true, 2, true},
  };
  std::vector<Outcome> outcomes;
  for (const Way& way : kWays) {
    outcomes.push_back(RunOnce(inputs, way));
    const Outcome& now = outcomes.back();
    std::string difference = Difference(outcomes[0], now, Agreement::kClose);
    // Those of one group make the same additions in the same order.
    for (size_t i = 0; i + 1 < outcomes.size() && difference.empty(); ++i) {
      if (kWays[i].group == way.group) difference = Difference(outcomes[i], now, Agreement::kBits);
    }
    if (difference.empty()) continue;
    std::string text = absl::StrCat(case_.Name(), ", ", way.name, ": ", difference, "; inputs");
    for (const Tensor& input : inputs) absl::StrAppend(&text, " ", input.ToString(12));
    return text;
  }
  ++(outcomes[0].status.ok() ? counts_.ok : counts_.failed);
  return "";
}

}  // namespace sluice

#include "tests/stress/faulty_kernels.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/families/register_all.h"

namespace sluice {
namespace {

// Throws, or fails, when the plan says so.
absl::Status MayFail(FaultPlan& plan, KernelContext& context) {
  if (plan.Strikes(Fault::kThrow)) throw std::runtime_error("injected");
  if (plan.Strikes(Fault::kThrowBadAlloc)) throw std::bad_alloc();
  if (plan.Strikes(Fault::kThrowOther)) throw 7;  // NOLINT: what is no exception class.
  if (plan.Strikes(Fault::kError)) return Error(ErrorCode::kOpValue).Text("was told to fail");
  if (plan.Strikes(Fault::kThrowInShard)) {
    // Long enough that other threads join.
    context.ParallelFor(16, 1e5, [](int64_t begin, int64_t end) {
      if (begin <= 7 && 7 < end) throw std::runtime_error("injected in a shard");
    });
  }
  return absl::OkStatus();
}

// A built-in kernel and the faults around it. Thread-safe.
class FaultyKernel final : public Kernel {
 public:
  FaultyKernel(std::unique_ptr<Kernel> inner, FaultPlan* plan) : inner_(std::move(inner)), plan_(*plan) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(MayFail(plan_, context));
    return inner_->Compute(context);
  }

 private:
  const std::unique_ptr<Kernel> inner_;
  FaultPlan& plan_;
};

// The same, asynchronous: now and then the callback is not called. Thread-safe.
class FaultyAsyncKernel final : public AsyncKernel {
 public:
  FaultyAsyncKernel(std::unique_ptr<Kernel> inner, FaultPlan* plan) : inner_(std::move(inner)), plan_(*plan) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    if (plan_.Strikes(Fault::kDroppedDone)) return;
    const absl::Status status = MayFail(plan_, context);
    done(status.ok() ? inner_->Compute(context) : status);
  }

 private:
  const std::unique_ptr<Kernel> inner_;
  FaultPlan& plan_;
};

template <typename Faulty>
void Add(absl::string_view op, FaultPlan* plan, KernelRegistry* registry) {
  const auto make = [plan](const KernelConstruction& construction) -> absl::StatusOr<std::unique_ptr<Kernel>> {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> inner, BuiltinKernels().Create(construction, DeviceKind::kCpu));
    return std::make_unique<Faulty>(std::move(inner), plan);
  };
  SLUICE_CHECK_OK(registry->Add(OwnedKernelRow(op, make)));
}

}  // namespace

void AddFaultyKernels(FaultPlan* plan, KernelRegistry* registry) {
  for (const char* const op : {"AddV2", "Less", "Minimum", "ConcatV2", "Split"}) Add<FaultyKernel>(op, plan, registry);
  for (const char* const op : {"Neg", "Maximum", "LogicalAnd"}) Add<FaultyAsyncKernel>(op, plan, registry);
}

}  // namespace sluice

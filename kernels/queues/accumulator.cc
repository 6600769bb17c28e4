#include "kernels/queues/accumulator.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<AccumulatorSpec> AccumulatorSpec::Make(const KernelConstruction& construction) {
  AccumulatorSpec spec;
  SLUICE_ASSIGN_OR_RETURN(spec.dtype, construction.Get<DType>("dtype"));
  SLUICE_ASSIGN_OR_RETURN(spec.shape, construction.Get<PartialShape>("shape"));
  SLUICE_ASSIGN_OR_RETURN(const std::string reduction, construction.Get<std::string>("reduction_type"));
  spec.is_mean = reduction == "MEAN";
  spec.is_sparse = absl::StartsWith(construction.op(), "Sparse");
  return spec;
}

absl::Status AccumulatorSpec::CheckSame(const AccumulatorSpec& other) const {
  if (dtype == other.dtype && shape == other.shape && is_sparse == other.is_sparse) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Found(ToString())
      .Expected(other.ToString())
      .Text("another node has made an accumulator of this name with other attrs");
}

std::string AccumulatorSpec::ToString() const {
  return absl::StrCat(is_sparse ? "sparse " : "", "accumulator of ", DTypeName(dtype), " ", shape.ToString());
}

struct Accumulator::TakeWaiter final : Waiter {
  TakeWaiter(Accumulator& a, int64_t n, TakeDone d) : accumulator(a), num_required(n), done(std::move(d)) {}
  Progress Try() override { return accumulator.TryTake(*this); }
  void Finish(absl::Status status) override { done(std::move(status), std::move(sum), count); }

  Accumulator& accumulator;
  const int64_t num_required;
  GradientSum sum;
  int64_t count = 0;
  TakeDone done;
};

Accumulator::Accumulator(AccumulatorSpec spec)
    : Resource(kTypeName), spec_(std::move(spec)), room_({WaitingRoom::Order::kInTurn}) {}

absl::Status Accumulator::Apply(int64_t step, absl::FunctionRef<absl::Status(GradientSum& sum)> add) {
  {
    MutexLock lock(&room_.mu);
    if (step < step_) return absl::OkStatus();
    SLUICE_RETURN_IF_ERROR(add(sum_));
    ++count_;
  }
  room_.Serve();
  return absl::OkStatus();
}

void Accumulator::Take(int64_t num_required, CancellationManager* cancellation, TakeDone done) {
  room_.Submit(0, std::make_unique<TakeWaiter>(*this, num_required, std::move(done)), cancellation,
               CountedPtr<const Counted>::Share(this));
}

Waiter::Progress Accumulator::TryTake(TakeWaiter& waiter) {
  room_.mu.AssertHeld();
  if (count_ < waiter.num_required) return Waiter::Progress::kNone;
  waiter.sum = std::exchange(sum_, GradientSum());
  waiter.count = std::exchange(count_, 0);
  ++step_;
  return Waiter::Progress::kDone;
}

void Accumulator::SetGlobalStep(int64_t step) {
  MutexLock lock(&room_.mu);
  step_ = step;
}

int64_t Accumulator::num_accumulated() const {
  MutexLock lock(&room_.mu);
  return count_;
}

std::string Accumulator::DebugString() const {
  return absl::StrCat(spec_.ToString(), " with ", num_accumulated(), " gradients");
}

}  // namespace sluice

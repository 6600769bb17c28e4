#include "executor/compiled/lazy_dataflow.h"

#include <utility>

#include "absl/base/optimization.h"
#include "executor/compiled/dataflow_executor.h"
#include "graph/base/as_status.h"
#include "graph/base/status_macros.h"

namespace sluice {

const Executor* LazyDataflow::Find(const Executor::Args& args) {
  const Executor* const found = made_.load(std::memory_order_acquire);
  if (ABSL_PREDICT_TRUE(found != nullptr) || has_given_up_.load(std::memory_order_relaxed)) return found;
  if (!mu_.TryLock()) return nullptr;
  StopPoll stop(args.deadline, args.cancellation);
  const bool is_made = MakeLocked(&stop).ok();
  // What was stopped, a later run tries again.
  if (!is_made && AsStatus([&] { return stop.Look(); }).ok()) has_given_up_.store(true, std::memory_order_relaxed);
  mu_.Unlock();
  return made_.load(std::memory_order_acquire);
}

absl::StatusOr<const Executor*> LazyDataflow::Make(const Executor::Args& args) {
  const Executor* const found = made_.load(std::memory_order_acquire);
  if (ABSL_PREDICT_TRUE(found != nullptr)) return found;
  StopPoll stop(args.deadline, args.cancellation);
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(MakeLocked(&stop));
  return own_.get();
}

absl::Status LazyDataflow::MakeLocked(StopPoll* stop) {
  if (own_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Executor>> made = AsStatus([&] { return NewDataflowExecutor(compiled_, stop); });
  if (!made.ok()) return made.status();
  own_ = *std::move(made);
  made_.store(own_.get(), std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace sluice

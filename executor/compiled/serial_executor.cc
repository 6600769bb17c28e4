#include "executor/compiled/serial_executor.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/time/clock.h"
#include "executor/cancellation_link.h"
#include "executor/hand_off.h"
#include "executor/once_callback.h"
#include "executor/plan/node_error.h"
#include "executor/run_setup.h"
#include "executor/serial/stack_registers.h"
#include "executor/threads/deadline_timer.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/cancellation.h"
#include "graph/base/status_macros.h"
#include "graph/value/counted.h"

namespace sluice {
namespace {

absl::Status CheckDeadline(const RunContext& run) noexcept {
  return run.deadline == absl::InfiniteFuture() || absl::Now() <= run.deadline ? absl::OkStatus() : DeadlinePassed();
}

}  // namespace

// A run that begins later, or on another thread: where the runner takes it, or when its thread has left the runs that
// it is in. Held by its task, by whatever is to begin it, and by the thread that hands it off.
class SerialExecutor::Start final : public Counted, public DeferredRun {
 public:
  Start(const SerialExecutor& executor, const Args& args, Done&& done)
      : DeferredRun(args.step_id), executor_(executor), args_(args), done_(std::move(done)) {}

  void RunTask() noexcept override {
    const CountedPtr<Start> held = CountedPtr<Start>::Adopt(this);
    if (ABSL_PREDICT_TRUE(failed_.ok())) return executor_.RunAndTell(args_, std::move(done_));
    const ThreadRuns::Scope scope;
    CallDone(std::move(done_), FailRun(args_, failed_));
  }
  bool HandOver(To to) noexcept override {
    if (!failed_.ok()) return false;
    was_handed_over_ = true;
    if (args_.runner == nullptr) {
      if (to == To::kRunner || args_.task_runner == nullptr || args_.run_all_kernels_inline) return false;
      if (to == To::kOwnThreads && !RunSetup::HasSeveralThreads(args_)) return false;
    }
    const CountedPtr<Start> held = CountedPtr<Start>::Adopt(this);
    Hand();
    return true;
  }
  // Has a thread of the run's begin it. Where none takes it, the run ends with that error.
  void Hand() noexcept {
    using Task = OnceCallback<CountedPtr<Start>, &Start::Begin, &Start::WasDropped>;
    EndHandOff(HandToThreads(*this, args_.runner, args_.task_runner, Task(CountedPtr<Start>::Share(this))));
  }

 private:
  void Begin() noexcept {
    // A runner that calls this at once may be inside of other runs, and of their kernels.
    const int depth = ThreadRuns::Current().depth();
    ContinueHere(depth > 0 && (was_handed_over_ || depth >= ThreadRuns::kMaxNested));
  }
  void WasDropped() noexcept { EndHandOff(TaskWasDropped(*this)); }
  // Ends the run with `dropped`, the outcome of a hand-off, if that is an error.
  void EndHandOff(absl::Status dropped) noexcept {
    if (ABSL_PREDICT_TRUE(dropped.ok())) return;
    failed_ = std::move(dropped);
    ContinueHere(ThreadRuns::Current().depth() > 0);
  }
  void ContinueHere(bool is_deferred) noexcept {
    Ref();
    return is_deferred ? ThreadRuns::Current().PushLocal(this) : RunTask();
  }

  const SerialExecutor& executor_;
  const Args args_;
  Done done_;
  absl::Status failed_;           // Instead of running.
  bool was_handed_over_ = false;  // By a thread that had deferred it.
};

SerialExecutor::SerialExecutor(std::shared_ptr<const CompiledGraph> compiled)
    : compiled_(std::move(compiled)),
      program_(*compiled_->program()),
      ports_(program_, compiled_->kernels()),
      registers_(program_.num_registers()) {}

bool SerialExecutor::RunsAtOnce(const Args& args) const {
  return args.runner == nullptr && ThreadRuns::Current().depth() < ThreadRuns::kMaxNested;
}

void SerialExecutor::RunAsync(const Args& args, Done done) const {
  if (ABSL_PREDICT_TRUE(RunsAtOnce(args))) return RunAndTell(args, std::move(done));
  CountedPtr<Start> start;
  try {
    start = MakeCounted<Start>(*this, args, std::move(done));
  } catch (...) {
    // Not moved from: there was no memory to move to.
    return EndAtOnce(std::move(done), FailRun(args, StatusOfCaught()));
  }
  if (args.runner != nullptr) return start->Hand();
  ThreadRuns::Current().PushLocal(start.release());
}

absl::Status SerialExecutor::Run(const Args& args) const {
  if (ABSL_PREDICT_FALSE(args.runner != nullptr)) return Executor::Run(args);
  const ThreadRuns::AwaitScope awaited(args.step_id);
  return RunHere(args);
}

void SerialExecutor::RunAndTell(const Args& args, Done done) const noexcept {
  // `done` may begin further runs, inside of this one.
  const ThreadRuns::Scope scope;
  CallDone(std::move(done), RunHere(args));
}

absl::Status SerialExecutor::RunHere(const Args& args) const noexcept {
  Args run = args;
  RunSetup::AddDevice(compiled_->device(), &run);
  std::unique_ptr<RunnerAdapter> adapter;
  if (ABSL_PREDICT_FALSE(run.runner != nullptr || run.run_all_kernels_inline)) {
    const absl::Status added = AsStatus([&] {
      RunSetup::AddThreads(&run, &adapter);
      return absl::OkStatus();
    });
    if (!added.ok()) return FailRun(args, added);
  }
  absl::Status status = AsStatus([&] { return RunWith(run); });
  if (ABSL_PREDICT_FALSE(run.sync_on_finish && run.device != nullptr)) {
    if (status.ok()) status = CheckDeadline(run);
    if (status.ok()) status = AsStatus([&] { return run.device->Sync(); });
  }
  // The last kernels may have worked beyond it.
  if (run.deadline != absl::InfiniteFuture() && status.ok()) status = CheckDeadline(run);
  return ABSL_PREDICT_TRUE(status.ok()) ? status : FailRun(args, status);
}

absl::Status SerialExecutor::RunWith(RunContext& run) const {
  if (run.deadline == absl::InfiniteFuture() || !compiled_->may_take_long()) return RunProgram(run);
  return RunUntilDeadline(run);
}

absl::Status SerialExecutor::RunUntilDeadline(RunContext& run) const {
  CancellationManager* const outer = run.cancellation;
  ChildManager child(outer);
  CancellationManager& cancellation = child.manager();
  run.cancellation = &cancellation;
  const absl::Status late = DeadlinePassed();
  const absl::Status status = [&] {
    const TimedCall at_deadline(run.deadline, [&] { cancellation.StartCancelWithStatus(late); });
    return at_deadline.is_set() ? RunProgram(run) : DeadlineTimer::NoThread();
  }();
  run.cancellation = outer;
  // A kernel that was told to stop does not know why.
  const bool was_told = status.code() == absl::StatusCode::kCancelled && !cancellation.status().ok();
  return was_told ? cancellation.status() : status;
}

absl::Status SerialExecutor::RunProgram(const RunContext& run) const {
  if (program_.num_registers() <= kStackRegisters) {
    StackRegisters registers(program_.num_registers());
    return RunIn(registers.get(), run);
  }
  std::unique_ptr<Entry[]> registers = registers_.Take();
  absl::Status status = RunIn(registers.get(), run);
  registers_.Put(std::move(registers));
  return status;
}

absl::Status SerialExecutor::RunIn(Entry* registers, const RunContext& run) const {
  // A program without kernels would not look.
  if (ABSL_PREDICT_FALSE(run.cancellation != nullptr && run.cancellation->IsCancelling())) {
    return run.cancellation->status();
  }
  SpanCallFrame* const spans = run.call_frame != nullptr ? run.call_frame->AsSpans() : nullptr;
  SLUICE_RETURN_IF_ERROR(ports_.Take(run, spans, registers));
  if (ABSL_PREDICT_TRUE(ports_.num_results() == 0 || ports_.FitIn(spans))) {
    const absl::Span<Tensor> results = ports_.num_results() == 0 ? absl::Span<Tensor>() : spans->retvals();
    return RunSerialProgram(program_, registers, run, results);
  }
  std::vector<Tensor> results(ports_.num_results());
  SLUICE_RETURN_IF_ERROR(RunSerialProgram(program_, registers, run, absl::MakeSpan(results)));
  return ports_.Give(run, absl::MakeSpan(results));
}

}  // namespace sluice

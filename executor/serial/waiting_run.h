#ifndef SLUICE_EXECUTOR_SERIAL_WAITING_RUN_H_
#define SLUICE_EXECUTOR_SERIAL_WAITING_RUN_H_

#include <cstdint>
#include <forward_list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/async_call.h"
#include "executor/executor.h"
#include "executor/kernel_call.h"
#include "executor/run_setup.h"
#include "executor/scheduler.h"
#include "executor/serial/port_calls.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "executor/serial/step_record.h"
#include "graph/value/counted.h"
#include "kernels/device/device.h"

namespace sluice {

// What the runs of one program with segments share. Owned by their executor; must outlive all runs.
struct WaitingPlan {
  const SerialProgram& program;
  const PortCalls& ports;
  RegisterPool& registers;
  Device* device;  // May be null.
};

// One run of a program with segments (Note [Segments]): runs those that are ready, one after the other, under the baton
// (Note [Baton] in scheduler.h); asynchronous calls end on any thread and make others ready. Lives for one run and is
// destroyed before Done is called. Owns itself; its threads are the Scheduler's. No exception passes through it.
class WaitingRun final : public Scheduler::Client, private AsyncCallOwner, private SegmentOwner {
 public:
  static void RunAsync(const WaitingPlan& plan, const Executor::Args& args, Executor::Done done) noexcept;
  // The same, and returns the outcome.
  static absl::Status Run(const WaitingPlan& plan, const Executor::Args& args) noexcept;

  // `own`: see RunSetup.
  WaitingRun(const WaitingPlan& plan, const Executor::Args& args, CancellationManager* own);

  Scheduler::Progress RunWithBaton() noexcept override;
  bool RunCall(NodeCall& call) noexcept override;
  void Finish() noexcept override;

 private:
  // An asynchronous call of one stop. Reused within the run.
  struct Call final : NodeCall {
    explicit Call(const RunContext& run) : NodeCall(run) {}

    const SerialInstruction* instruction = nullptr;
  };

  Call& TakeCall();
  // Finds where the results go.
  void Begin() noexcept;
  // Handles calls that have ended.
  void DrainInbox() noexcept;
  void EndCall(const Call& call);
  // Runs what is ready until nothing is, the run must stop, or the turn of this thread is over.
  void RunReady() noexcept;
  void RunReadyIn(Entry* registers);
  absl::Status RunSegment(int32_t segment, Entry* registers);
  // Runs only the transfers of a dead segment: they pass the deadness on.
  absl::Status RunDeadSegment(int32_t segment);
  absl::Status TransferDead(const SerialInstruction& instruction);
  absl::Status SendDead(const SerialInstruction& instruction);
  void StartCall(const SerialInstruction& instruction) override;
  void Start(const SerialInstruction& instruction, bool is_dead);
  void EndAsync(NodeCall& ended, const absl::Status& status) noexcept override;
  void SetBegun(const SerialInstruction& instruction);
  // The call of the kernel of `instruction`, as errors and the observer see it.
  KernelCall CallOf(const SerialInstruction& instruction) const;
  // Clears the inputs that `instruction` is the last to read.
  void ClearLastUses(const SerialInstruction& instruction);
  EntryTables Tables();
  absl::Status GiveResults();

  const WaitingPlan& plan_;
  const SegmentTable& table_;
  RunSetup setup_;
  const Executor::Args& args_;  // As the run uses them.
  const CountedPtr<Scheduler> scheduler_;
  Executor::Done done_;               // Null in Run.
  std::unique_ptr<WaitingRun> self_;  // Until Finish.

  // The baton holder's.
  StepRecord record_;
  SpanCallFrame* spans_ = nullptr;  // The call frame, where it is one.
  absl::Span<Tensor> results_;
  std::unique_ptr<Tensor[]> own_results_;       // If the call frame has no places for them.
  Call first_call_;                             // Most steps have one at a time.
  std::forward_list<std::vector<Call>> calls_;  // Further blocks, which never grow, so that calls stay where they are.
  NodeCall* free_calls_ = &first_call_;
  uint32_t num_calls_ = 0;  // Under way.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_WAITING_RUN_H_

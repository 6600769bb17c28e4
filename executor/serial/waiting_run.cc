#include "executor/serial/waiting_run.h"

#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "executor/cancellation_link.h"
#include "executor/plan/node_error.h"
#include "executor/serial/stack_registers.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "kernels/kernel.h"
#include "kernels/step/call_frame.h"
#include "kernels/step/span_call_frame.h"

namespace sluice {
namespace {

// What a segment counts towards its thread's turn, for each of its instructions.
constexpr int64_t kNsPerInstruction = 100;

}  // namespace

WaitingRun::WaitingRun(const WaitingPlan& plan, const Executor::Args& args, CancellationManager* own)
    : plan_(plan),
      table_(*plan.program.segments()),
      setup_(args, plan.device, own),
      args_(setup_.args()),
      scheduler_(MakeCounted<Scheduler>(this, args_)),
      record_(table_),
      first_call_(args_) {}

void WaitingRun::RunAsync(const WaitingPlan& plan, const Executor::Args& args, Executor::Done done) noexcept {
  std::unique_ptr<WaitingRun> made;
  try {
    made = std::make_unique<WaitingRun>(plan, args, nullptr);
  } catch (...) {
    return EndAtOnce(std::move(done), FailRun(args, StatusOfCaught()));
  }
  WaitingRun& run = *made;
  run.done_ = std::move(done);
  run.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = run.scheduler_;
  run.Begin();
  scheduler->Start();
}

absl::Status WaitingRun::Run(const WaitingPlan& plan, const Executor::Args& args) noexcept {
  std::optional<ChildManager> cancellation;
  std::unique_ptr<WaitingRun> made;
  try {
    made = std::make_unique<WaitingRun>(plan, args, RunSetup::KeepManager(args, &cancellation));
  } catch (...) {
    return FailRun(args, StatusOfCaught());
  }
  WaitingRun& run = *made;
  run.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = run.scheduler_;
  run.Begin();
  scheduler->RunToEnd();
  return scheduler->status().status();
}

void WaitingRun::Begin() noexcept {
  spans_ = args_.call_frame != nullptr ? args_.call_frame->AsSpans() : nullptr;
  if (plan_.ports.num_results() == 0) return;
  if (plan_.ports.FitIn(spans_)) {
    results_ = spans_->retvals();
    return;
  }
  try {
    own_results_ = std::make_unique<Tensor[]>(plan_.ports.num_results());
    results_ = absl::MakeSpan(own_results_.get(), plan_.ports.num_results());
  } catch (...) {
    scheduler_->status().Record(StatusOfCaught());
  }
}

Scheduler::Progress WaitingRun::RunWithBaton() noexcept {
  for (;;) {
    DrainInbox();
    RunReady();
    if (record_.has_ready()) return Scheduler::Progress::kTurnOver;
    if (!scheduler_->inbox().empty()) continue;
    if (num_calls_ == 0) return Scheduler::Progress::kOver;
    // From the release on, another thread may end the run.
    const CountedPtr<Scheduler> scheduler = scheduler_;
    if (scheduler->inbox().Release()) return Scheduler::Progress::kWaiting;
  }
}

// Nothing is queued: all calls begin under the baton.
bool WaitingRun::RunCall(NodeCall&) noexcept { return true; }

void WaitingRun::RunReady() noexcept {
  if (!record_.has_ready()) return;
  try {
    const int32_t num_registers = plan_.program.num_registers();
    if (num_registers <= kStackRegisters) {
      StackRegisters registers(num_registers);
      return RunReadyIn(registers.get());
    }
    std::unique_ptr<Entry[]> registers = plan_.registers.Take();
    RunReadyIn(registers.get());
    plan_.registers.Put(std::move(registers));
  } catch (...) {
    scheduler_->status().Record(StatusOfCaught());
    record_.ClearReady();
  }
}

void WaitingRun::RunReadyIn(Entry* registers) {
  RunStatus& status = scheduler_->status();
  while (record_.has_ready()) {
    if (ABSL_PREDICT_FALSE(status.MustStop())) return record_.ClearReady();
    const int32_t segment = record_.PopReady();
    const bool is_dead = record_.IsDead(segment);
    const absl::Status done = is_dead ? RunDeadSegment(segment) : RunSegment(segment, registers);
    if (ABSL_PREDICT_FALSE(!done.ok())) {
      status.Record(done);
      return record_.ClearReady();
    }
    record_.EndSegment(segment, is_dead);
    scheduler_->SpendTurn((table_.end(segment) - table_.begin(segment)) * kNsPerInstruction);
    if (ABSL_PREDICT_FALSE(scheduler_->IsTurnOver())) return;
  }
}

absl::Status WaitingRun::RunSegment(int32_t segment, Entry* registers) {
  if (segment == 0) SLUICE_RETURN_IF_ERROR(plan_.ports.Take(args_, spans_, registers, record_.kept()));
  return RunSerialSegment(plan_.program, segment, registers, record_.kept(), args_, results_, this);
}

EntryTables WaitingRun::Tables() {
  EntryTables tables;
  tables.table[static_cast<size_t>(kKeptTable)] = record_.kept();
  tables.table[static_cast<size_t>(Operand::Table::kConstants)] = plan_.program.constants();
  return tables;
}

void WaitingRun::ClearLastUses(const SerialInstruction& instruction) {
  for (uint32_t i = 0; i < instruction.io.num_inputs; ++i) {
    const Operand input = instruction.io.input(i);
    if (input.is_last_use() && input.table() == kKeptTable) record_.kept()[input.index()].Clear();
  }
}

absl::Status WaitingRun::RunDeadSegment(int32_t segment) {
  const Graph& graph = plan_.program.graph();
  for (int32_t at = table_.begin(segment); at < table_.end(segment); ++at) {
    const SerialInstruction& instruction = plan_.program.instructions()[static_cast<size_t>(at)];
    const bool calls = instruction.action == SerialAction::kCompute || instruction.action == SerialAction::kStart;
    const bool is_transfer = calls && IsTransfer(graph.op(NodeId(instruction.io.id)).op_class);
    if (is_transfer) SLUICE_RETURN_IF_ERROR(TransferDead(instruction));
    if (is_transfer && instruction.action == SerialAction::kStart) continue;
    if (calls) {
      ClearLastUses(instruction);
    } else if (instruction.action == SerialAction::kClear) {
      if (instruction.destination.table() == kKeptTable) record_.kept()[instruction.destination.index()].Clear();
    } else if (instruction.source.is_last_use() && instruction.source.table() == kKeptTable) {
      record_.kept()[instruction.source.index()].Clear();
    }
  }
  return absl::OkStatus();
}

absl::Status WaitingRun::TransferDead(const SerialInstruction& instruction) {
  const NodeId id(instruction.io.id);
  try {
    if (instruction.action != SerialAction::kStart) return SendDead(instruction);
    Start(instruction, /*is_dead=*/true);
    return absl::OkStatus();
  } catch (...) {
    return StatusOfException(plan_.program.graph(), id);
  }
}

// Its inputs are as they may be, and are not looked at.
absl::Status WaitingRun::SendDead(const SerialInstruction& instruction) {
  KernelContext context(args_, Tables());
  PrepareCall(context, instruction.io);
  context.SetInputDead(true);
  return CallOf(instruction).Compute(*instruction.kernel, context);
}

// Some steps begin with a great many calls.
WaitingRun::Call& WaitingRun::TakeCall() {
  if (free_calls_ != nullptr) return static_cast<Call&>(*std::exchange(free_calls_, free_calls_->next));
  if (calls_.empty() || calls_.front().size() == calls_.front().capacity()) {
    const size_t count = calls_.empty() ? 2 : 2 * calls_.front().capacity();
    std::vector<Call> more;
    more.reserve(count);
    calls_.push_front(std::move(more));
  }
  return calls_.front().emplace_back(args_);
}

KernelCall WaitingRun::CallOf(const SerialInstruction& instruction) const {
  return {plan_.program.graph(), NodeId(instruction.io.id), args_.observer};
}

void WaitingRun::StartCall(const SerialInstruction& instruction) { Start(instruction, /*is_dead=*/false); }

void WaitingRun::Start(const SerialInstruction& instruction, bool is_dead) {
  Call& call = TakeCall();
  call.instruction = &instruction;
  call.context = KernelContext(args_, Tables());
  PrepareCall(call.context, instruction.io);
  call.context.SetInputDead(is_dead);
  // May throw, so it comes before SetBegun: the run waits for all calls that have begun.
  call.start_ns = CallOf(instruction).Begin();
  SetBegun(instruction);
  ++num_calls_;
  absl::Status failed;
  // Where it has ended, or will, it is in the inbox, or will be.
  if (ABSL_PREDICT_TRUE(StartAsyncCall(this, &call, *instruction.kernel->AsAsync(), &failed))) return;
  call.status = CallOf(instruction).FailedAsync(call.start_ns, failed);
  scheduler_->CallEnded(&call);
}

void WaitingRun::EndAsync(NodeCall& ended, const absl::Status& status) noexcept {
  Call& call = static_cast<Call&>(ended);
  const SerialInstruction& instruction = *call.instruction;
  const NodeIo& io = instruction.io;
  const auto check_one = [&](uint32_t i, const Entry& output) {
    if (output.state() == Entry::State::kDead) return absl::OkStatus();  // As a received value may be.
    return CheckOutput(i, output, io.output_types[i], plan_.program.IsRead(io, i));
  };
  const auto check = [&] {
    return AtNode(plan_.program.graph(), NodeId(io.id), CheckOutputs(call.context.tables(), io, check_one));
  };
  call.status = CallOf(instruction).EndAsync(call, status, check);
  // Now: the holder of the baton may be in a segment that takes long, and looks at the manager only.
  if (ABSL_PREDICT_FALSE(!call.status.ok())) scheduler_->status().Record(call.status);
  scheduler_->CallEnded(&call);
}

void WaitingRun::DrainInbox() noexcept {
  RunStatus& status = scheduler_->status();
  NodeCall* ended = scheduler_->inbox().Drain();
  while (ended != nullptr) {
    Call& call = static_cast<Call&>(*ended);
    ended = ended->next;
    --num_calls_;
    if (ABSL_PREDICT_FALSE(!call.status.ok())) {
      status.Record(call.status);
      call.status = absl::OkStatus();
    } else if (!status.MustStop()) {
      EndCall(call);
    }
    call.next = std::exchange(free_calls_, &call);
  }
}

void WaitingRun::EndCall(const Call& call) {
  const SerialInstruction& instruction = *call.instruction;
  const NodeIo& io = instruction.io;
  if (instruction.has_last_uses) ClearLastUses(instruction);
  const int32_t stop = instruction.target, first = table_.first_outcome(stop);
  if (first != stop) record_.EndStop(stop, /*is_dead=*/false);
  for (uint32_t i = 0; i < io.num_outputs; ++i) {
    Entry& output = record_.kept()[io.output(i).index()];
    if (first >= 0) record_.EndStop(first + static_cast<int32_t>(i), output.state() == Entry::State::kDead);
    if (!plan_.program.IsRead(io, i)) output.Clear();
  }
}

// The call's outcomes end with it, and not with the segment.
void WaitingRun::SetBegun(const SerialInstruction& instruction) {
  const int32_t stop = instruction.target, first = table_.first_outcome(stop);
  record_.SetBegun(stop);
  if (first <= stop) return;
  for (uint32_t i = 0; i < instruction.io.num_outputs; ++i) record_.SetBegun(first + static_cast<int32_t>(i));
}

absl::Status WaitingRun::GiveResults() {
  SLUICE_DCHECK(record_.num_ended() == table_.num_segments());
  if (own_results_ != nullptr) SLUICE_RETURN_IF_ERROR(plan_.ports.Give(args_, results_));
  if (!args_.sync_on_finish || plan_.device == nullptr) return absl::OkStatus();
  scheduler_->status().CheckDeadline();  // Late calls are not waited for.
  return scheduler_->status().status().ok() ? plan_.device->Sync() : absl::OkStatus();
}

void WaitingRun::Finish() noexcept {
  RunStatus& run_status = scheduler_->status();
  run_status.CheckDeadline();  // It may have passed in the last kernel.
  if (run_status.status().ok()) {
    const absl::Status given = AsStatus([&] { return GiveResults(); });
    if (!given.ok()) run_status.Record(given);
    run_status.CheckDeadline();  // The time it waited for counts too.
  }
  const absl::Status status = run_status.status();
  Executor::Done done = std::move(done_);
  { const std::unique_ptr<WaitingRun> self = std::move(self_); }
  if (done != nullptr) CallDone(std::move(done), status);
}

}  // namespace sluice

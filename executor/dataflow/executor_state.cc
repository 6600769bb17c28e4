#include "executor/dataflow/executor_state.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "executor/cancellation_link.h"
#include "executor/plan/node_error.h"
#include "graph/base/as_status.h"

namespace sluice {
namespace {

// Handing a call to another thread costs about this much.
constexpr uint32_t kHandOverNs = 2'000;
constexpr uint32_t kMeasureMask = 63;   // One call in 64 of a cheap kernel is timed.
constexpr uint32_t kHeavyNs = 100'000;  // The first estimate for a kernel that calls itself expensive.
// Checks are due after this many cheap nodes; others count for several.
constexpr uint32_t kCheckEvery = 256;
constexpr int64_t kCheckNs = 25'000;           // What they take, or so.
constexpr uint32_t kWeights[] = {1, 16, 128};  // By CostHint.

}  // namespace

template <typename P>
ExecutorState<P>::ExecutorState(const ExecutorPlan& plan, PropagatorPool<P>& pool, const Executor::Args& args,
                                CancellationManager* own, typename PropagatorPool<P>::Kept kept)
    : plan_(plan),
      pool_(pool),
      setup_(args, plan.device, own),
      args_(setup_.args()),
      propagator_(std::move(kept.propagator)),
      calls_(std::move(kept.calls)),
      runner_(*plan.graph, *plan.view, propagator_->activation(), args.observer),
      scheduler_(MakeCounted<Scheduler>(this, args_)),
      streams_(plan.stream_devices.empty() ? nullptr : std::make_unique<StreamRun>(plan.stream_devices, args_)),
      has_helpers_(scheduler_->has_helpers()),
      context_(args_, EntryTables()),
      space_(plan.view->num_scratch()) {}

template <typename P>
void ExecutorState<P>::RunAsync(const ExecutorPlan& plan, PropagatorPool<P>& pool, const Executor::Args& args,
                                Executor::Done done) noexcept {
  std::unique_ptr<ExecutorState> made;
  try {
    made = std::make_unique<ExecutorState>(plan, pool, args, nullptr);
  } catch (...) {
    return EndAtOnce(std::move(done), FailRun(args, StatusOfCaught()));
  }
  ExecutorState& state = *made;
  state.done_ = std::move(done);
  state.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = state.scheduler_;
  state.Begin();
  scheduler->Start();
}

template <typename P>
absl::Status ExecutorState<P>::Run(const ExecutorPlan& plan, PropagatorPool<P>& pool,
                                   const Executor::Args& args) noexcept {
  std::optional<ChildManager> cancellation;
  std::unique_ptr<ExecutorState> made;
  try {
    made = std::make_unique<ExecutorState>(plan, pool, args, RunSetup::KeepManager(args, &cancellation));
  } catch (...) {
    return FailRun(args, StatusOfCaught());
  }
  ExecutorState& state = *made;
  state.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = state.scheduler_;
  state.Begin();
  scheduler->RunToEnd();
  return scheduler->status().status();
}

template <typename P>
void ExecutorState<P>::Begin() noexcept {
  try {
    propagator_->Begin();
  } catch (...) {
    FailBetweenNodes(nullptr);
  }
}

template <typename P>
void ExecutorState<P>::FailBetweenNodes(const NodeItem* item) noexcept {
  is_broken_ = true;
  scheduler_->status().Record(item != nullptr ? StatusOfException(*plan_.graph, NodeRunner::IdOf(*item))
                                              : StatusOfCaught());
  propagator_->ready().Clear();
}

template <typename P>
Scheduler::Progress ExecutorState<P>::RunWithBaton() noexcept {
  for (;;) {
    DrainInbox();
    Process();
    if (ABSL_PREDICT_FALSE(is_turn_over_)) {
      is_turn_over_ = false;
      return Scheduler::Progress::kTurnOver;
    }
    if (!scheduler_->inbox().empty()) continue;
    if (num_calls_ == 0 && (ABSL_PREDICT_TRUE(streams_ == nullptr) || !AwaitStreams())) {
      return Scheduler::Progress::kOver;
    }
    // From the release on, another thread may end the run.
    const CountedPtr<Scheduler> scheduler = scheduler_;
    if (has_helpers_) scheduler->WakeHelpers(/*is_busy=*/false);
    if (scheduler->inbox().Release()) return Scheduler::Progress::kWaiting;
  }
}

template <typename P>
bool ExecutorState<P>::AwaitStreams() noexcept {
  RunStatus& status = scheduler_->status();
  status.CheckDeadline();  // While it costs no thread to wait.
  try {
    const absl::Status failure = streams_->Failure();
    if (!failure.ok()) status.Record(failure);
  } catch (...) {
    status.Record(StatusOfCaught());
  }
  if (streams_->is_awaited() || (!args_.sync_on_finish && !status.MustStop())) return false;
  ++num_calls_;
  streams_->AwaitAll([this] { scheduler_->CallEnded(&streams_->call()); });
  return true;
}

template <typename P>
void ExecutorState<P>::DrainInbox() noexcept {
  ItemCall* call = static_cast<ItemCall*>(scheduler_->inbox().Drain());
  while (call != nullptr) {
    ItemCall* const next = static_cast<ItemCall*>(call->next);
    --num_calls_;
    if (ABSL_PREDICT_FALSE(streams_ != nullptr && call == &streams_->call())) {
      call = next;
      continue;
    }
    try {
      if (!call->status.ok() || !scheduler_->status().MustStop()) NodeDone(call->node, call->status, call->all_live);
    } catch (...) {
      FailBetweenNodes(&call->node.item());
    }
    calls_.Put(call);
    call = next;
  }
}

template <typename P>
void ExecutorState<P>::Process() noexcept {
  TaggedNodeReadyQueue& ready = propagator_->ready();
  RunStatus& status = scheduler_->status();
  try {
    while (!ready.empty()) {
      if (ABSL_PREDICT_FALSE(status.MustStop())) return ready.Clear();
      current_ = ready.Pop();
      ProcessNode(current_);
      if (ABSL_PREDICT_FALSE(until_check_ >= kCheckEvery)) {
        CheckNow();
        if (is_turn_over_) return;
      }
    }
  } catch (...) {
    FailBetweenNodes(&current_.item());
  }
}

template <typename P>
void ExecutorState<P>::ProcessNode(const TaggedNode& node) {
  const NodeItem& item = node.item();
  if (ABSL_PREDICT_TRUE(RunsKernel(item.kind) && (!node.is_dead() || item.is(NodeItem::kTransfer)))) {
    ScheduleReady(node);
  } else {
    ++until_check_;
    propagator_->Process(node);
  }
  if (ABSL_PREDICT_FALSE(propagator_->has_fault())) {
    scheduler_->status().Record(runner_.FaultStatus(propagator_->activation().fault()));
  }
}

template <typename P>
void ExecutorState<P>::SetPlace(const TaggedNode& node, KernelContext& context) {
  propagator_->SetTables(node, &context.tables());
  if (P::kHasFrames) context.SetPlace(propagator_->frame_id(node), propagator_->iteration(node));
  context.SetInputDead(node.is_dead());
}

template <typename P>
void ExecutorState<P>::ScheduleReady(const TaggedNode& node) {
  const NodeItem& item = node.item();
  until_check_ += kWeights[item.cost_hint];
  SetPlace(node, context_);
  if (ABSL_PREDICT_FALSE(item.kind == NodeKind::kAsyncKernel)) return Dispatch(node, 0, 0);
  if (ABSL_PREDICT_TRUE(!has_helpers_ || item.cost_hint == static_cast<uint8_t>(CostHint::kCheap))) {
    return RunInline(node);
  }
  const NodeCost measured = plan_.costs[plan_.view->index(item)].load(std::memory_order_relaxed);
  const uint32_t input_bytes = InputBytes(item, context_);
  // A look at the clock costs more than a cheap node: those are measured at first and then now and again.
  if (measured.is_known() && measured.ns < kHandOverNs && !measured.IsOutgrownBy(input_bytes) &&
      (++num_cheap_ & kMeasureMask) != 0) {
    return RunInline(node);
  }
  const uint32_t cost_ns = ExpectedNs(item, measured, input_bytes);
  const bool is_alone = num_calls_ == 0 && propagator_->ready().empty();
  if (cost_ns >= kHandOverNs && !is_alone) return Dispatch(node, cost_ns, input_bytes);
  if (cost_ns >= kHandOverNs) {
    spent_ns_ += cost_ns;
    ThreadRuns::Current().HandToOwnThreads();
  }
  const int64_t start = NodeObserver::NowNs();
  RunInline(node);
  Measured(item, NodeObserver::NowNs() - start, input_bytes);
}

template <typename P>
void ExecutorState<P>::RunInline(const TaggedNode& node) {
  bool all_live = false;
  const absl::Status status = runner_.Run(node, context_, space_, &all_live);
  NodeDone(node, status, all_live);
}

template <typename P>
void ExecutorState<P>::NodeDone(const TaggedNode& node, const absl::Status& status, bool all_live) {
  if (ABSL_PREDICT_TRUE(status.ok())) return propagator_->PropagateOutputs(node, all_live);
  scheduler_->status().Record(status);
}

template <typename P>
uint32_t ExecutorState<P>::InputBytes(const NodeItem& item, KernelContext& context) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < item.io.num_inputs; ++i) {
    if (item.io.input(i).table() == Operand::Table::kScratch) continue;
    const Entry& entry = context.tables().at(item.io.input(i));
    if (entry.has_value() && entry.holds_buffer()) bytes += entry.value().total_bytes();
  }
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
}

template <typename P>
uint32_t ExecutorState<P>::ExpectedNs(const NodeItem& item, const NodeCost& measured, uint32_t input_bytes) {
  if (measured.is_known()) return measured.Expected(input_bytes);
  if (item.cost_hint == static_cast<uint8_t>(CostHint::kHeavy)) return kHeavyNs;
  return input_bytes / 4;  // 4 bytes a ns.
}

template <typename P>
void ExecutorState<P>::Measured(const NodeItem& item, int64_t ns, uint32_t input_bytes) {
  std::atomic<NodeCost>& cost = plan_.costs[plan_.view->index(item)];
  cost.store(cost.load(std::memory_order_relaxed).With(ns, input_bytes), std::memory_order_relaxed);
}

template <typename P>
void ExecutorState<P>::Dispatch(const TaggedNode& node, uint32_t cost_ns, uint32_t input_bytes) {
  const NodeItem& item = node.item();
  ItemCall* const call = calls_.Take(args_, plan_.view->num_scratch());
  call->node = node;
  call->cost_ns = cost_ns;
  call->input_bytes = input_bytes;
  call->is_async = item.kind == NodeKind::kAsyncKernel;
  SetPlace(node, call->context);
  if (call->is_async) {
    if (!has_helpers_ || item.cost_hint == static_cast<uint8_t>(CostHint::kCheap)) {
      ++num_calls_;
      return StartAsync(*call);
    }
    call->cost_ns = std::max(kHandOverNs, ExpectedNs(item, NodeCost{}, InputBytes(item, call->context)));
  }
  scheduler_->Queue(call);
  ++num_calls_;  // Not before: what could not be queued does not end.
}

template <typename P>
void ExecutorState<P>::StartAsync(ItemCall& call) noexcept {
  const NodeItem& item = call.node.item();
  const KernelCall of_node = runner_.CallOf(item);
  absl::Status failed;
  try {
    failed = runner_.PrepareInputs(call.node, call.context, call.space);
    if (failed.ok()) {
      call.start_ns = of_node.Begin();
      // Where it has ended, or will, this may be gone.
      if (ABSL_PREDICT_TRUE(StartAsyncCall(this, &call, *item.kernel->AsAsync(), &failed))) return;
      failed = of_node.FailedAsync(call.start_ns, failed);
    }
  } catch (...) {
    failed = of_node.FailedAsync(call.start_ns, StatusOfException());
  }
  call.status = std::move(failed);
  scheduler_->CallEnded(&call);
}

template <typename P>
void ExecutorState<P>::EndAsync(NodeCall& ended, const absl::Status& status) noexcept {
  ItemCall& call = static_cast<ItemCall&>(ended);
  const auto process = [&] { return runner_.ProcessOutputs(call.node, call.context, &call.all_live); };
  call.status = runner_.CallOf(call.node.item()).EndAsync(call, status, process);
  scheduler_->CallEnded(&call);
}

template <typename P>
bool ExecutorState<P>::RunCall(NodeCall& queued) noexcept {
  ItemCall& call = static_cast<ItemCall&>(queued);
  if (scheduler_->status().MustStop()) return true;
  if (call.is_async) {
    StartAsync(call);
    return false;
  }
  const int64_t start = NodeObserver::NowNs();
  try {
    call.status = runner_.Run(call.node, call.context, call.space, &call.all_live);
  } catch (...) {
    call.status = StatusOfException(*plan_.graph, NodeRunner::IdOf(call.node.item()));
  }
  Measured(call.node.item(), NodeObserver::NowNs() - start, call.input_bytes);
  return true;
}

template <typename P>
void ExecutorState<P>::CheckNow() noexcept {
  until_check_ = 0;
  scheduler_->SpendTurn(kCheckNs + std::exchange(spent_ns_, 0));
  is_turn_over_ = scheduler_->IsTurnOver();
  scheduler_->status().CheckDeadline();
  if (has_helpers_) scheduler_->WakeHelpers(/*is_busy=*/true);
  if (!scheduler_->inbox().empty()) DrainInbox();
}

template <typename P>
void ExecutorState<P>::Finish() noexcept {
  RunStatus& run_status = scheduler_->status();
  run_status.CheckDeadline();  // It may have passed in the last kernel.
  try {
    if (args_.sync_on_finish && plan_.device != nullptr && streams_ == nullptr && run_status.status().ok()) {
      const absl::Status synced = plan_.device->Sync();
      if (!synced.ok()) run_status.Record(synced);
      run_status.CheckDeadline();  // The time it waited for counts too.
    }
  } catch (...) {
    run_status.Record(StatusOfCaught());
  }
  const absl::Status status = run_status.status();
  // The deadline has passed, or another thread has ended the run, since AwaitStreams found no error.
  if (ABSL_PREDICT_FALSE(streams_ != nullptr) && !status.ok() && !streams_->is_awaited()) streams_->AwaitHere();
  if (!is_broken_) KeepMemory(status.ok());
  Executor::Done done = std::move(done_);
  { const std::unique_ptr<ExecutorState> self = std::move(self_); }
  if (done != nullptr) CallDone(std::move(done), status);
}

template <typename P>
void ExecutorState<P>::KeepMemory(bool is_ok) noexcept {
  try {
    propagator_->Reset(!is_ok);
    if (!is_ok) calls_ = NodeCalls();  // Some may hold values that no node took.
    pool_.Put({std::move(propagator_), std::move(calls_)});
  } catch (...) {
    // The next run makes its own.
  }
}

template class ExecutorState<FlatPropagator>;
template class ExecutorState<FramedPropagator>;

}  // namespace sluice

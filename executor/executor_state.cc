#include "executor/executor_state.h"

#include <algorithm>
#include <utility>

#include "absl/base/optimization.h"
#include "executor/node_error.h"
#include "executor/trace/step_stats_collector.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Handing a call to another thread costs about this much.
constexpr uint32_t kHandOverNs = 2'000;
constexpr uint32_t kMeasureMask = 63;   // One call in 64 of a cheap kernel is timed.
constexpr uint32_t kHeavyNs = 100'000;  // What a kernel that calls itself heavy is expected to take at first.
// Checks are due after this many cheap nodes; others count for several.
constexpr uint32_t kCheckEvery = 256;
constexpr uint32_t kWeights[] = {1, 16, 128};  // By CostHint.

RunContext MakeRunContext(const ExecutorPlan& plan, const Executor::Args& args) {
  RunContext run;
  run.step_id = args.step_id;
  run.device = plan.device;
  run.allocator =
      args.allocator != nullptr ? args.allocator : (plan.device != nullptr ? &plan.device->allocator() : nullptr);
  run.task_runner = args.task_runner;
  run.resources = plan.device != nullptr ? &plan.device->resources() : nullptr;
  run.step_container = args.step_container;
  run.rendezvous = args.rendezvous;
  run.edges = plan.edges;
  run.call_frame = args.call_frame;
  run.cancellation = args.cancellation_manager;
  run.session_state = args.session_state;
  run.tensor_store = args.tensor_store;
  run.deterministic = args.deterministic;
  run.gemm_plugin = args.gemm_plugin;
  return run;
}

// The call whose asynchronous kernel this thread is in; null when its callback has gone there uncalled.
thread_local const NodeCall* starting_call = nullptr;

absl::Status Dropped() {
  return Error(ErrorCode::kOutputMissing).Text("the asynchronous kernel has dropped its callback uncalled");
}

// Who is told of kernel calls; may be null.
NodeObserver* ObserverOf(const Executor::Args& args) {
  return args.observer != nullptr ? args.observer : args.stats_collector;
}

}  // namespace

template <typename P>
ExecutorState<P>::ExecutorState(const ExecutorPlan& plan, PropagatorPool<P>& pool, const Executor::Args& args,
                                typename PropagatorPool<P>::Kept kept)
    : plan_(plan),
      pool_(pool),
      sync_on_finish_(args.sync_on_finish),
      run_(MakeRunContext(plan, args)),
      propagator_(std::move(kept.propagator)),
      calls_(std::move(kept.calls)),
      runner_(*plan.graph, *plan.view, propagator_->activation(), ObserverOf(args)),
      scheduler_(MakeCounted<Scheduler>(this, args)),
      has_helpers_(scheduler_->has_helpers()),
      context_(run_, EntryTables()),
      space_(plan.view->num_scratch()) {}

template <typename P>
void ExecutorState<P>::RunAsync(const ExecutorPlan& plan, PropagatorPool<P>& pool, const Executor::Args& args,
                                Executor::Done done) {
  auto made = std::make_unique<ExecutorState>(plan, pool, args);
  ExecutorState& state = *made;
  state.done_ = std::move(done);
  state.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = state.scheduler_;
  state.propagator_->Begin();
  scheduler->Start();
}

template <typename P>
absl::Status ExecutorState<P>::Run(const ExecutorPlan& plan, PropagatorPool<P>& pool, const Executor::Args& args) {
  auto made = std::make_unique<ExecutorState>(plan, pool, args);
  ExecutorState& state = *made;
  state.self_ = std::move(made);
  const CountedPtr<Scheduler> scheduler = state.scheduler_;
  state.propagator_->Begin();
  scheduler->RunToEnd();
  return scheduler->status().status();
}

template <typename P>
bool ExecutorState<P>::Propagate() {
  for (;;) {
    DrainInbox();
    Process();
    if (!scheduler_->inbox().empty()) continue;
    if (num_calls_ == 0) return true;
    // From the release on, another thread may end the run.
    const CountedPtr<Scheduler> scheduler = scheduler_;
    if (has_helpers_) scheduler->WakeHelpers(/*is_busy=*/false);
    if (scheduler->inbox().Release()) return false;
  }
}

template <typename P>
void ExecutorState<P>::DrainInbox() {
  NodeCall* call = scheduler_->inbox().Drain();
  while (call != nullptr) {
    NodeCall* const next = call->next;
    --num_calls_;
    if (!call->status.ok() || !scheduler_->status().MustStop()) NodeDone(call->node, call->status, call->all_live);
    calls_.Put(call);
    call = next;
  }
}

template <typename P>
void ExecutorState<P>::Process() {
  TaggedNodeReadyQueue& ready = propagator_->ready();
  RunStatus& status = scheduler_->status();
  try {
    while (!ready.empty()) {
      if (ABSL_PREDICT_FALSE(status.MustStop())) return ready.Clear();
      current_ = ready.Pop();
      ProcessNode(current_);
      if (ABSL_PREDICT_FALSE(until_check_ >= kCheckEvery)) CheckNow();
    }
  } catch (...) {
    NodeDone(current_, runner_.Located(current_.item(), StatusOfException()), false);
    ready.Clear();
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
  if (ABSL_PREDICT_FALSE(item.kind == NodeKind::kAsyncKernel)) return Dispatch(node, 0);
  if (ABSL_PREDICT_TRUE(!has_helpers_ || item.cost_hint == static_cast<uint8_t>(CostHint::kCheap))) {
    return RunInline(node);
  }
  const uint32_t measured_ns = plan_.costs[plan_.view->index(item)].load(std::memory_order_relaxed);
  // A look at the clock costs more than a cheap node: those are measured at first and then now and again.
  if (measured_ns != 0 && measured_ns < kHandOverNs && (++num_cheap_ & kMeasureMask) != 0) return RunInline(node);
  const uint32_t cost_ns = measured_ns != 0 ? measured_ns : GuessNs(item, context_);
  const bool is_alone = num_calls_ == 0 && propagator_->ready().empty();
  if (cost_ns >= kHandOverNs && !is_alone) return Dispatch(node, cost_ns);
  if (cost_ns >= kHandOverNs) Scheduler::HandOverPutOff();
  const int64_t start = NodeObserver::NowNs();
  RunInline(node);
  Measured(item, NodeObserver::NowNs() - start);
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
uint32_t ExecutorState<P>::GuessNs(const NodeItem& item, KernelContext& context) const {
  if (item.cost_hint == static_cast<uint8_t>(CostHint::kHeavy)) return kHeavyNs;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < item.io.num_inputs; ++i) {
    if (item.io.input(i).table() == Operand::Table::kScratch) continue;
    const Entry& entry = context.tables().at(item.io.input(i));
    if (entry.has_value() && entry.holds_buffer()) bytes += entry.value().total_bytes();
  }
  return static_cast<uint32_t>(std::min<uint64_t>(bytes / 4, 1'000'000'000));  // 4 bytes a ns.
}

template <typename P>
void ExecutorState<P>::Measured(const NodeItem& item, int64_t ns) {
  std::atomic<uint32_t>& cost = plan_.costs[plan_.view->index(item)];
  const int64_t before = cost.load(std::memory_order_relaxed);
  const int64_t now = std::min<int64_t>(std::max<int64_t>(ns, 1), 1'000'000'000);
  cost.store(static_cast<uint32_t>(before == 0 ? now : (7 * before + now) / 8), std::memory_order_relaxed);
}

template <typename P>
void ExecutorState<P>::Dispatch(const TaggedNode& node, uint32_t cost_ns) {
  const NodeItem& item = node.item();
  NodeCall* const call = calls_.Take(run_, plan_.view->num_scratch());
  call->node = node;
  call->cost_ns = cost_ns;
  call->is_async = item.kind == NodeKind::kAsyncKernel;
  SetPlace(node, call->context);
  if (call->is_async) {
    if (!has_helpers_ || item.cost_hint == static_cast<uint8_t>(CostHint::kCheap)) {
      ++num_calls_;
      return StartAsync(*call);
    }
    call->cost_ns = std::max(kHandOverNs, GuessNs(item, call->context));
  }
  scheduler_->Queue(call);
  ++num_calls_;  // Not before: what could not be queued does not end.
}

// Ends its call once: when it is called, or with an error when it goes uncalled, so that no run waits for a kernel that
// has lost it. One thread's at a time. Two pointers: what AnyInvocable holds without an allocation.
template <typename P>
class ExecutorState<P>::AsyncEnd {
 public:
  AsyncEnd(ExecutorState* state, NodeCall* call) : state_(state), call_(call) {}
  AsyncEnd(AsyncEnd&& other) noexcept : state_(other.state_), call_(std::exchange(other.call_, nullptr)) {}
  AsyncEnd& operator=(AsyncEnd&&) = delete;
  ~AsyncEnd() {
    if (ABSL_PREDICT_TRUE(call_ == nullptr)) return;
    if (call_ == starting_call) {
      starting_call = nullptr;  // StartAsync ends it, and may know more: perhaps an exception passes through here.
    } else {
      state_->EndAsync(*call_, Dropped());
    }
  }
  void operator()(const absl::Status& status) {
    NodeCall* const call = std::exchange(call_, nullptr);
    if (ABSL_PREDICT_TRUE(call != nullptr)) return state_->EndAsync(*call, status);
    SLUICE_LOG(ERROR) << "an asynchronous kernel has called its callback twice, the second time with: " << status;
  }

 private:
  ExecutorState* const state_;
  NodeCall* call_;  // Null: moved or called.
};

template <typename P>
void ExecutorState<P>::StartAsync(NodeCall& call) {
  const NodeItem& item = call.node.item();
  const NodeCall* const outer = std::exchange(starting_call, nullptr);
  absl::Status failed;
  try {
    failed = runner_.PrepareInputs(call.node, call.context, call.space);
    if (failed.ok()) {
      call.start_ns = NodeObserver::Begin(runner_.observer(), NodeRunner::IdOf(item));
      starting_call = &call;
      item.kernel->AsAsync()->ComputeAsync(call.context, AsyncEnd(this, &call));
      if (ABSL_PREDICT_FALSE(starting_call == nullptr)) failed = runner_.Failed(item, call.start_ns, Dropped());
    }
  } catch (...) {
    failed = StatusOfException();
    if (starting_call == nullptr) failed = runner_.Failed(item, call.start_ns, failed);
  }
  // Nothing of this may be touched after the end of the call, which may be the end of the run. Where its callback has
  // gone uncalled, or was never made, it ends here; else it has ended or will.
  if (ABSL_PREDICT_TRUE(std::exchange(starting_call, outer) != nullptr)) {
    if (!failed.ok())
      SLUICE_LOG(ERROR) << "an asynchronous kernel has kept or called its callback and thrown: " << failed;
    return;
  }
  call.status = std::move(failed);
  scheduler_->CallEnded(&call);
}

template <typename P>
void ExecutorState<P>::EndAsync(NodeCall& call, const absl::Status& status) {
  const NodeItem& item = call.node.item();
  if (!status.ok()) {
    call.status = runner_.Failed(item, call.start_ns, status);
  } else {
    if (runner_.observer() != nullptr) {
      runner_.observer()->OnNode(NodeRunner::IdOf(item), call.start_ns, NodeObserver::NowNs(), call.context);
    }
    call.status = runner_.ProcessOutputs(call.node, call.context, &call.all_live);
  }
  scheduler_->CallEnded(&call);
}

template <typename P>
bool ExecutorState<P>::Execute(NodeCall& call) {
  if (scheduler_->status().MustStop()) return true;
  if (call.is_async) {
    StartAsync(call);
    return false;
  }
  const int64_t start = NodeObserver::NowNs();
  try {
    call.status = runner_.Run(call.node, call.context, call.space, &call.all_live);
  } catch (...) {
    call.status = runner_.Located(call.node.item(), StatusOfException());
  }
  Measured(call.node.item(), NodeObserver::NowNs() - start);
  return true;
}

template <typename P>
void ExecutorState<P>::CheckNow() {
  until_check_ = 0;
  scheduler_->status().CheckDeadline();
  if (has_helpers_) scheduler_->WakeHelpers(/*is_busy=*/true);
  if (!scheduler_->inbox().empty()) DrainInbox();
}

template <typename P>
void ExecutorState<P>::Finish() {
  RunStatus& run_status = scheduler_->status();
  if (sync_on_finish_ && plan_.device != nullptr && run_status.status().ok()) {
    const absl::Status synced = plan_.device->Sync();
    if (!synced.ok()) run_status.Record(synced);
  }
  const absl::Status status = run_status.status();
  propagator_->Reset(!status.ok());
  if (!status.ok()) calls_ = NodeCalls();  // Some may hold values that nobody took.
  pool_.Put({std::move(propagator_), std::move(calls_)});
  Executor::Done done = std::move(done_);
  { const std::unique_ptr<ExecutorState> self = std::move(self_); }
  if (done != nullptr) done(status);
}

template class ExecutorState<FlatPropagator>;
template class ExecutorState<FramedPropagator>;

}  // namespace sluice

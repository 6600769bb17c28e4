#include "executor/session/callable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/cancellation_link.h"
#include "executor/compiled/executor_kinds.h"
#include "executor/compiled/local_executor.h"
#include "executor/once_callback.h"
#include "executor/plan/node_error.h"
#include "executor/session/fed_value.h"
#include "executor/session/linked_cancellation.h"
#include "executor/session/partitioned_step.h"
#include "executor/session/signature_key.h"
#include "executor/stall_watch.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/shapes/inference.h"
#include "kernels/step/session_state.h"
#include "kernels/step/span_call_frame.h"
#include "kernels/step/step_container.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {
namespace {

// Returns `status`, unless it reports a missing kernel and the shapes of the graph contradict each other: then that
// error, since the kernel would not help. `stop` ends the check.
absl::Status BetterReason(const SessionGraph& graph, const FeedFetchSpec& spec, const absl::Status& status,
                          StopPoll* stop) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kNoKernel) return status;
  FeedFetchOptions cutting;
  cutting.stop = stop;
  const absl::StatusOr<FeedFetchGraph> needed = graph.Cut(spec, cutting);
  if (!needed.ok()) return status;
  InferenceOptions inferring;
  inferring.stop = stop;
  const absl::StatusOr<ShapeMap> shapes = InferShapes(needed->graph, inferring);
  const absl::Status problem = shapes.ok() ? shapes->FirstCertainProblem() : absl::OkStatus();
  return problem.ok() ? status : problem;
}

}  // namespace

// What only some steps need: tensors kept under handles, a rendezvous, a manager, a watch.
struct Callable::Facilities {
  Facilities(const Callable& callable, const CallOptions& options, Executor::Args* args) : deadline(args->deadline) {
    if (callable.keeps_tensors_) store = std::make_unique<TensorStore>();
    args->tensor_store = store.get();
    if (callable.needs_rendezvous_) rendezvous = callable.rendezvous_.Take();
    args->rendezvous = rendezvous.get();
    if (callable.is_hosts_) {
      cancellation = std::make_unique<ChildManager>(args->cancellation);
      args->cancellation = &cancellation->manager();
      args->cancel_on_error = true;
    }
    if (options.node_outputs != nullptr) {
      outputs = std::make_unique<NodeOutputsObserver>(callable.graph(), *options.node_outputs, options.observer);
      args->observer = outputs.get();
    }
    const absl::Duration patience = callable.core_->PatienceOf(options);
    if (patience == absl::InfiniteDuration()) return;
    watch =
        std::make_unique<StallWatch>(StallWatch::Options{patience, callable.graph(), rendezvous.get(), args->observer});
    args->observer = watch.get();
  }

  // Whether the step's deadline has passed unnoticed. Our own executors check it themselves.
  bool IsLate(const Callable& callable) const {
    return callable.compiled_ == nullptr && deadline != absl::InfiniteFuture() && absl::Now() > deadline;
  }

  const absl::Time deadline;
  CountedPtr<LocalRendezvous> rendezvous;
  // Allocated on demand: few steps have these, and many steps may wait.
  std::unique_ptr<TensorStore> store;
  std::unique_ptr<ChildManager> cancellation;  // A host's executor may cancel it.
  std::unique_ptr<NodeOutputsObserver> outputs;
  std::unique_ptr<StallWatch> watch;
};

// One running call: what its executor borrows. Not movable. Keeps no Args, which the executor reads once: many calls
// may wait.
struct Callable::Step {
  Step(const Callable& of, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options)
      : callable(of),
        container(SessionCore::NewStepId()),
        cancellation(of.core_->cancellation(), options.cancellation),
        frame(inputs, outputs) {}

  // Adds the step's own facilities to ArgsOf's. Called once.
  void Begin(const CallOptions& options, Executor::Args* args) {
    args->step_id = container.step_id();
    args->step_container = &container;
    args->call_frame = &frame;
    args->cancellation = &cancellation.manager();
    args->cancel_on_error = false;  // The manager may be the session's.
    const bool needs_more =
        callable.needs_facilities_ || options.node_outputs != nullptr || options.stall_timeout != absl::ZeroDuration();
    if (ABSL_PREDICT_FALSE(needs_more)) facilities.emplace(callable, options, args);
    for (Tensor& output : frame.retvals()) output = Tensor();
  }

  // Turns the executor's `status` into that of the call.
  absl::Status End(absl::Status status) {
    if (ABSL_PREDICT_FALSE(facilities.has_value())) {
      if (status.ok() && facilities->IsLate(callable)) status = DeadlinePassed();
      if (!status.ok() && facilities->watch != nullptr) status = facilities->watch->Explain(status);
      facilities->watch.reset();
      if (facilities->rendezvous) callable.rendezvous_.Put(std::move(facilities->rendezvous));
    }
    if (status.ok()) status = callable.FinishFetches(frame.retvals());
    if (ABSL_PREDICT_FALSE(callable.keeps_tensors_) && status.ok()) {
      facilities->store->SaveTo(callable.fetched_nodes_, callable.core_->state());
    }
    return status;
  }

  const Callable& callable;
  StepContainer container;
  LinkedCancellation cancellation;
  SpanCallFrame frame;
  std::optional<Facilities> facilities;
};

// An asynchronous call.
struct Callable::AsyncStep {
  AsyncStep(std::shared_ptr<const Callable> of, absl::Span<Tensor> inputs, absl::Span<Tensor> outputs,
            const CallOptions& options)
      : callable(std::move(of)), step(*callable, inputs, outputs, options) {}

  static void End(std::unique_ptr<AsyncStep> self, absl::Status status) noexcept {
    const absl::Status outcome = AsStatus([&] { return self->step.End(std::move(status)); });
    Done done = std::move(self->done);
    self.reset();  // What it borrows may go in `done`.
    CallDone(std::move(done), outcome);
  }
  static void WasDropped(std::unique_ptr<AsyncStep> self) noexcept { End(std::move(self), DoneWasDropped()); }

  const std::shared_ptr<const Callable> callable;
  Step step;
  Done done;
};

absl::StatusOr<std::shared_ptr<const Callable>> Callable::Create(std::shared_ptr<SessionCore> core,
                                                                 const SessionGraph& graph, const FeedFetchSpec& spec,
                                                                 const PrepareOptions& options) {
  const LinkedCancellation cancellation(core->cancellation(), options.cancellation);
  StopPoll stop(options.deadline, &cancellation.manager());
  const CallPolicy policy = CallPolicyOf(*core, FeedFetchOptions::Convention::kFunction);
  absl::StatusOr<std::shared_ptr<Callable>> made = Make(core, graph, spec, policy, &stop);
  if (policy != CallPolicy::kInline && MustInline(made)) made = Make(core, graph, spec, CallPolicy::kInline, &stop);
  if (!made.ok()) return BetterReason(graph, spec, made.status(), &stop);
  const std::shared_ptr<Callable> callable = *std::move(made);
  callable->needs_facilities_ = callable->keeps_tensors_ || callable->needs_rendezvous_ || callable->is_hosts_ ||
                                core->options().stall_timeout != absl::InfiniteDuration();
  callable->call_scope().SetName(options.plan_name.empty() ? PlanName(spec) : options.plan_name);
  return callable;
}

absl::StatusOr<std::shared_ptr<Callable>> Callable::Make(const std::shared_ptr<SessionCore>& core,
                                                         const SessionGraph& graph, const FeedFetchSpec& spec,
                                                         CallPolicy policy, StopPoll* stop) {
  SLUICE_ASSIGN_OR_RETURN(StepGraph step,
                          MakeStepGraph(graph, spec, *core, FeedFetchOptions::Convention::kFunction, policy, stop));
  std::shared_ptr<Callable> callable(new Callable(core, &step));
  SLUICE_RETURN_IF_ERROR(WithAllMissingKernels(callable->Compile(step, stop), callable->graph(), *core, stop));
  if (step.functions != nullptr && step.functions->HasTransfers()) callable->needs_rendezvous_ = true;
  return callable;
}

bool Callable::MustInline(const absl::StatusOr<std::shared_ptr<Callable>>& made) {
  if (made.ok()) return (*made)->HasLateCalls();
  const std::optional<ErrorInfo> info = ErrorInfoOf(made.status());
  return info.has_value() && info->code == ErrorCode::kCannotRun;
}

bool Callable::HasLateCalls() const {
  if (calls_.bodies == nullptr || compiled_ == nullptr || compiled_->program() != nullptr) return false;
  const KernelSet& kernels = compiled_->kernels();
  const auto waits = [&kernels](NodeId id) {
    return kernels.kernel(id) != nullptr && kernels.kernel(id)->AsAsync() != nullptr;
  };
  const std::vector<bool> is_late = CallChoice::FindNodesAfter(graph(), waits);
  for (const NodeId id : graph().Nodes()) {
    if (is_late[static_cast<size_t>(id.value())] && kernels.body(id) != nullptr) return true;
  }
  return false;
}

Callable::Callable(std::shared_ptr<SessionCore> core, StepGraph* step)
    : core_(std::move(core)),
      feeds_(std::move(step->signature.feeds)),
      fetches_(std::move(step->signature.fetches)),
      graph_(std::make_shared<const Graph>(std::move(step->signature.graph))),
      edges_(std::move(step->edges)),
      call_scope_(step->call_store->scope),
      calls_(std::move(step->calls)),
      rendezvous_(*edges_) {}

void Callable::FindNeeds() {
  const Graph& graph = *graph_;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id)) continue;
    keeps_tensors_ = keeps_tensors_ || absl::StartsWith(graph.op_name(id), "GetSessionHandle");
    needs_rendezvous_ = needs_rendezvous_ || IsTransfer(graph.op(id).op_class);
    const std::vector<DType>& types = graph.signature(id).outputs;
    has_references_ = has_references_ || std::any_of(types.begin(), types.end(), IsRef);
  }
  for (const FeedFetchGraph::Port& port : fetches()) {
    fetched_nodes_.emplace_back(port.endpoint, 0, port.endpoint.rfind(':'));
  }
}

absl::Status Callable::Compile(const StepGraph& step, StopPoll* stop) {
  FindNeeds();
  needs_rendezvous_ = needs_rendezvous_ || step.is_cut;
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph().id_limit()));
  if (step.is_cut) {
    SLUICE_ASSIGN_OR_RETURN(executor_, PartitionedStep::Create(core_, graph(), /*is_cut=*/true, *edges_,
                                                               *step.call_store, step.functions.get(), stop));
    return absl::OkStatus();
  }
  Device& device = core_->device(0);
  const std::string& kind = core_->options().executor;
  if (!ExecutorKinds::IsBuiltin(kind)) {
    is_hosts_ = true;
    SLUICE_ASSIGN_OR_RETURN(
        executor_, core_->MakeExecutor(device, Graph(graph()), *edges_, *step.call_store, step.functions.get(), stop));
    return absl::OkStatus();
  }
  LocalExecutorParams params = core_->ExecutorParams(device, *edges_, stop);
  params.node_devices = step.node_devices;
  params.bodies = calls_.bodies.get();
  params.call_store = step.call_store.get();
  params.store_generation = step.call_store->of_session;
  params.functions = step.functions.get();
  SLUICE_ASSIGN_OR_RETURN(compiled_, CompiledGraph::Create(graph_, params));
  SLUICE_ASSIGN_OR_RETURN(executor_, NewExecutor(kind, compiled_, stop));
  return absl::OkStatus();
}

absl::Status Callable::CheckCall(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs) const {
  if (inputs.size() != feeds().size() || outputs.size() != fetches().size()) {
    return Error(ErrorCode::kWrongUse)
        .Found(absl::StrCat(inputs.size(), " inputs, ", outputs.size(), " outputs"))
        .Expected(absl::StrCat(feeds().size(), " and ", fetches().size()))
        .Text("a callable was called with the wrong number of tensors");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FeedFetchGraph::Port& port = feeds()[i];
    absl::Status fits = CheckFedValue(port.endpoint, port.dtype, port.shape, inputs[i]);
    if (ABSL_PREDICT_FALSE(!fits.ok()) && inputs[i].dtype() == DType::kResource) {
      SLUICE_RETURN_IF_ERROR(TakeKeptTensor(core_->state(), &inputs[i]));
      fits = CheckFedValue(port.endpoint, port.dtype, port.shape, inputs[i]);
    }
    if (ABSL_PREDICT_FALSE(!fits.ok())) return fits;
  }
  SLUICE_RETURN_IF_ERROR(core_->CheckIsOpen());
  return absl::OkStatus();
}

absl::StatusOr<ThreadPool*> Callable::BeginCall(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs,
                                                const CallOptions& options) const {
  SLUICE_RETURN_IF_ERROR(CheckCall(inputs, outputs));
  if (options.cancellation != nullptr && options.cancellation->IsCancelling()) return options.cancellation->status();
  const bool is_usual = options.pool == CallOptions::kSessionPool && options.stall_timeout == absl::ZeroDuration();
  if (ABSL_PREDICT_FALSE(!is_usual)) return core_->CheckOptions(options);
  return core_->pool();
}

absl::Status Callable::Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options) const {
  return AsStatus([&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(ThreadPool* const pool, BeginCall(inputs, outputs, options));
    Executor::Args args = ArgsOf(options, pool);
    return RunHere(inputs, outputs, options, &args);
  });
}

Executor::Args Callable::ArgsOf(const CallOptions& options, ThreadPool* pool) const {
  const SessionOptions& session = core_->options();
  Executor::Args args;
  args.task_runner = pool;
  args.session_state = &core_->state();
  args.observer = options.observer;
  args.gemm_plugin = session.gemm_plugin;
  args.deadline = core_->DeadlineOf(options);
  args.deterministic = session.deterministic;
  return args;
}

absl::Status Callable::RunHere(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options,
                               Executor::Args* args) const {
  Step step(*this, inputs, outputs, options);
  step.Begin(options, args);
  return step.End(executor_->Run(*args));
}

void Callable::RunAsync(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options,
                        Done done) const noexcept {
  Executor::Args args;
  std::unique_ptr<AsyncStep> step;
  bool runs_at_once = false;
  const absl::Status begun = AsStatus([&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(ThreadPool* const pool, BeginCall(inputs, outputs, options));
    args = ArgsOf(options, pool);
    // Begin adds these observers too late for this decision, which differs for observed runs.
    const bool is_watched = options.node_outputs != nullptr || core_->PatienceOf(options) != absl::InfiniteDuration();
    runs_at_once = !is_watched && executor_->RunsAtOnce(args);
    if (runs_at_once) return absl::OkStatus();
    step = std::make_unique<AsyncStep>(shared_from_this(), inputs, outputs, options);
    step->step.Begin(options, &args);
    return absl::OkStatus();
  });
  if (!begun.ok()) {
    step.reset();  // `done` may free what it borrows.
    return EndAtOnce(std::move(done), begun);
  }
  if (ABSL_PREDICT_TRUE(runs_at_once)) {
    std::shared_ptr<const Callable> held = shared_from_this();  // A kernel may drop the last other reference.
    const ThreadRuns::Scope scope;                              // `done` may begin further runs inside this one.
    const absl::Status outcome = AsStatus([&] { return RunHere(inputs, outputs, options, &args); });
    held.reset();  // `done` may free what it keeps.
    return CallDone(std::move(done), outcome);
  }
  step->done = std::move(done);
  using End = OnceCallback<std::unique_ptr<AsyncStep>, &AsyncStep::End, &AsyncStep::WasDropped>;
  try {
    executor_->RunAsync(args, End(std::move(step)));
  } catch (...) {
    LogCaught("the RunAsync of an executor");  // Which has dropped the callback, or will call it.
  }
}

absl::Status Callable::FinishFetches(absl::Span<Tensor> outputs) const {
  // Values read through a reference share the variable's memory, which later steps overwrite: copy them.
  for (size_t i = 0; has_references_ && i < outputs.size(); ++i) {
    if (!outputs[i].has_value() || outputs[i].IsUniquelyOwned()) continue;
    SLUICE_ASSIGN_OR_RETURN(outputs[i], outputs[i].DeepCopy());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ABSL_PREDICT_FALSE(!outputs[i].has_value())) {
      return Error(ErrorCode::kFetchDead).Text(absl::StrCat("fetch '", fetches()[i].endpoint, "' is dead in this run"));
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "executor/session/callable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/compiled/executor_kinds.h"
#include "executor/compiled/local_executor.h"
#include "executor/deadline_timer.h"
#include "executor/node_error.h"
#include "executor/session/fed_value.h"
#include "executor/session/linked_cancellation.h"
#include "executor/session/step_args.h"
#include "executor/stall_watch.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/shapes/inference.h"
#include "kernels/families/register_all.h"
#include "kernels/step/span_call_frame.h"
#include "kernels/step/step_container.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {
namespace {

// Programs with up to this many registers keep them on the stack.
constexpr int32_t kStackRegisters = 8;

// `status`, unless it says that a kernel is missing and the graph could not run with it either, since its shapes
// contradict each other: then that.
absl::Status BetterReason(const Graph& graph, const FeedFetchSpec& spec, const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->code != ErrorCode::kNoKernel) return status;
  const absl::StatusOr<FeedFetchGraph> needed = ApplyFeedsAndFetches(graph, spec, FeedFetchOptions());
  if (!needed.ok()) return status;
  const absl::StatusOr<ShapeMap> shapes = InferShapes(needed->graph);
  const absl::Status problem = shapes.ok() ? shapes->FirstCertainProblem() : absl::OkStatus();
  return problem.ok() ? status : problem;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Callable>> Callable::Create(std::shared_ptr<SessionCore> core, const Graph& graph,
                                                                 const FeedFetchSpec& spec,
                                                                 const PrepareOptions& options) {
  std::shared_ptr<Callable> callable(new Callable(std::move(core)));
  const LinkedCancellation cancellation(callable->core_->cancellation(), options.cancellation);
  StopPoll stop(options.deadline, &cancellation.manager());
  absl::StatusOr<StepGraph> step =
      MakeStepGraph(graph, spec, *callable->core_, FeedFetchOptions::Convention::kFunction, &stop);
  absl::Status status = step.status();
  if (status.ok()) {
    callable->step_ = *std::move(step);
    callable->rendezvous_ = std::make_unique<RendezvousPool>(*callable->step_.edges);
    status = WithAllMissingKernels(callable->Compile(&stop), callable->graph(), *callable->core_);
  }
  if (!status.ok()) return BetterReason(graph, spec, status);
  return callable;
}

absl::Status Callable::Compile(StopPoll* stop) {
  const Graph& graph = this->graph();
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id)) continue;
    keeps_tensors_ = keeps_tensors_ || absl::StartsWith(graph.op_name(id), "GetSessionHandle");
    needs_rendezvous_ = needs_rendezvous_ || IsTransfer(graph.op(id).op_class);
    const std::vector<DType>& types = graph.signature(id).outputs;
    has_references_ = has_references_ || std::any_of(types.begin(), types.end(), IsRef);
  }
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  for (const FeedFetchGraph::Port& port : fetches()) {
    fetched_nodes_.emplace_back(port.endpoint, 0, port.endpoint.rfind(':'));
  }
  needs_rendezvous_ = needs_rendezvous_ || step_.is_cut;
  needs_facilities_ = keeps_tensors_ || needs_rendezvous_ || core_->options().stall_timeout != absl::InfiniteDuration();
  if (step_.is_cut) {
    SLUICE_ASSIGN_OR_RETURN(parts_, PartitionedStep::Create(core_, step_, stop));
    return absl::OkStatus();
  }
  const std::string& executor = core_->options().executor;
  const bool is_builtin = ExecutorKinds::IsBuiltin(executor);
  const Driver driver = is_builtin ? core_->options().driver : Driver::kDataflow;
  if (is_builtin) {
    KernelSet::Options options = core_->KernelOptions(core_->device(0), *step_.edges, stop);
    options.node_devices = step_.node_devices;
    SLUICE_ASSIGN_OR_RETURN(KernelSet kernels, KernelSet::Create(graph, options));
    kernels_ = std::make_unique<const KernelSet>(std::move(kernels));
  }
  std::string why_not = "the session does not want one";
  if (driver != Driver::kDataflow) SLUICE_RETURN_IF_ERROR(CompileSerial(&why_not, stop));
  if (driver == Driver::kSerial && program_ == nullptr) {
    return Error(ErrorCode::kCannotRun).Text(absl::StrCat("no serial program: ", why_not));
  }
  // Which driver wins is decided by the clock: a run that must repeat itself bit by bit has no choice.
  has_choice_ = driver == Driver::kAuto && executor != kSingleThreadedExecutor && !core_->options().deterministic &&
                core_->pool() != nullptr && core_->pool()->num_threads() > 1;
  return program_ != nullptr ? absl::OkStatus() : CompileDataflow(stop);
}

absl::Status Callable::CompileSerial(std::string* why_not, StopPoll* stop) {
  SLUICE_ASSIGN_OR_RETURN(program_, SerialProgram::Compile(graph(), *kernels_, why_not, stop));
  if (program_ == nullptr) return absl::OkStatus();
  registers_ = std::make_unique<RegisterPool>(program_->num_registers());
  // Those of this build that are synchronous do not ask whether they should stop.
  const bool has_others = &core_->kernels() != &BuiltinKernels();
  for (int32_t i = 0; has_others && i < graph().id_limit(); ++i) {
    const Kernel* const kernel = graph().Contains(NodeId(i)) ? kernels_->kernel(NodeId(i)) : nullptr;
    may_take_long_ = may_take_long_ || (kernel != nullptr && kernel->cost_hint() != CostHint::kCheap);
  }
  return absl::OkStatus();
}

absl::Status Callable::CompileDataflow(StopPoll* stop) const {
  Device& device = core_->device(0);
  if (kernels_ != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(dataflow_, core_->MakeExecutor(device, graph(), *kernels_, *step_.edges, stop));
  } else {
    SLUICE_ASSIGN_OR_RETURN(dataflow_, core_->MakeExecutor(device, Graph(graph()), *step_.edges, stop));
  }
  return absl::OkStatus();
}

bool Callable::HasDataflow(const RunContext& run, const CallOptions& options) const {
  if (!has_asked_dataflow_.load(std::memory_order_acquire)) {
    if (!dataflow_mu_.TryLock()) return false;
    if (!has_asked_dataflow_.load(std::memory_order_relaxed)) {  // Relaxed: written under the lock.
      StopPoll stop(options.deadline, run.cancellation);
      const absl::Status made = AsStatus([&] { return CompileDataflow(&stop); });
      // What was stopped, a later run tries again.
      const bool is_final = made.ok() || AsStatus([&] { return stop.Look(); }).ok();
      has_asked_dataflow_.store(is_final, std::memory_order_release);
    }
    dataflow_mu_.Unlock();
  }
  return has_asked_dataflow_.load(std::memory_order_acquire) && dataflow_ != nullptr;
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
  if (core_->cancellation().IsCancelling()) return Error(ErrorCode::kSessionClosed).Text("the session is closed");
  return absl::OkStatus();
}

absl::Status Callable::Run(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const CallOptions& options) const {
  return AsStatus([&] { return RunOrThrow(inputs, outputs, options); });
}

absl::Status Callable::RunOrThrow(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs,
                                  const CallOptions& options) const {
  SLUICE_RETURN_IF_ERROR(CheckCall(inputs, outputs));
  if (options.cancellation != nullptr && options.cancellation->IsCancelling()) return options.cancellation->status();
  ThreadPool* pool = core_->pool();
  if (ABSL_PREDICT_FALSE(options.pool != CallOptions::kSessionPool)) {
    SLUICE_ASSIGN_OR_RETURN(pool, core_->FindPool(options.pool));
  }
  StepContainer container(SessionCore::NewStepId());
  LinkedCancellation cancellation(core_->cancellation(), options.cancellation);
  Device& device = core_->device(0);
  RunContext run;
  run.step_id = container.step_id();
  run.device = &device;
  run.allocator = &device.allocator();
  run.task_runner = pool;
  run.resources = &device.resources();
  run.step_container = &container;
  run.cancellation = &cancellation.manager();
  run.session_state = &core_->state();
  run.deterministic = core_->options().deterministic;
  run.gemm_plugin = core_->options().gemm_plugin;
  const bool needs_facilities = needs_facilities_ || options.stall_timeout != absl::ZeroDuration();
  const absl::Status status = ABSL_PREDICT_FALSE(needs_facilities)
                                  ? RunWithStepFacilities(inputs, outputs, run, options)
                                  : RunStep(inputs, outputs, run, options);
  // The last kernels may have worked beyond it.
  const bool is_late = options.deadline != absl::InfiniteFuture() && status.ok() && absl::Now() > options.deadline;
  return ABSL_PREDICT_FALSE(is_late) ? DeadlinePassed() : status;
}

absl::Status Callable::RunWithStepFacilities(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                                             const CallOptions& options) const {
  TensorStore store;
  if (keeps_tensors_) run.tensor_store = &store;
  CountedPtr<LocalRendezvous> rendezvous;
  if (needs_rendezvous_) rendezvous = rendezvous_->Take();
  run.rendezvous = rendezvous.get();
  CallOptions call = options;
  std::optional<StallWatch> watch;
  const absl::Duration patience = core_->PatienceOf(options);
  if (patience != absl::InfiniteDuration()) {
    watch.emplace(StallWatch::Options{patience, graph(), rendezvous.get(), options.observer});
    call.observer = &*watch;
  }
  absl::Status status = RunStep(inputs, outputs, run, call);
  if (!status.ok() && watch.has_value()) status = watch->Explain(status);
  watch.reset();
  if (rendezvous) rendezvous_->Put(std::move(rendezvous));
  SLUICE_RETURN_IF_ERROR(status);
  if (keeps_tensors_) store.SaveTo(fetched_nodes_, core_->state());
  return absl::OkStatus();
}

absl::Status Callable::RunStep(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                               const CallOptions& options) const {
  if (parts_ != nullptr) {
    SLUICE_RETURN_IF_ERROR(parts_->Run(inputs, outputs, run, options));
    return FinishFetches(outputs);
  }
  if (program_ == nullptr) return RunDataflow(inputs, outputs, run, options);
  if (!has_choice_) return RunSerial(inputs, outputs, run, options);
  const DriverChoice::Decision decision = choice_.Next();
  // Most graphs are too quick for threads and never need this.
  const bool use_dataflow = decision.use_dataflow && HasDataflow(run, options);
  const int64_t start = decision.is_timed ? NodeObserver::NowNs() : 0;
  const absl::Status status =
      use_dataflow ? RunDataflow(inputs, outputs, run, options) : RunSerial(inputs, outputs, run, options);
  const bool was_tried = use_dataflow == decision.use_dataflow;
  if (decision.is_timed && was_tried && status.ok()) choice_.Record(decision, NodeObserver::NowNs() - start);
  return status;
}

absl::Status Callable::RunDataflow(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, RunContext& run,
                                   const CallOptions& options) const {
  for (Tensor& output : outputs) output = Tensor();
  SpanCallFrame frame(inputs, outputs);
  // A manager of the step's own: the executor cancels what is left of the step after an error.
  CancellationManager cancellation(run.cancellation);
  Executor::Args args = StepArgs(run, options);
  args.call_frame = &frame;
  args.cancellation = &cancellation;
  SLUICE_RETURN_IF_ERROR(dataflow_->Run(args));
  return FinishFetches(outputs);
}

absl::Status Callable::RunSerial(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                                 const CallOptions& options) const {
  const bool is_timed = options.deadline != absl::InfiniteFuture() && may_take_long_;
  absl::Status status = ABSL_PREDICT_FALSE(is_timed) ? RunSerialUntil(inputs, outputs, run, options)
                                                     : RunProgram(inputs, outputs, run, options);
  if (ABSL_PREDICT_TRUE(status.code() != absl::StatusCode::kCancelled)) return status;
  // A kernel that was told to stop does not know why.
  const absl::Status cause = run.cancellation->status();
  return cause.ok() ? status : cause;
}

absl::Status Callable::RunSerialUntil(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                                      const CallOptions& options) const {
  CancellationManager cancellation(run.cancellation);
  RunContext timed = run;
  timed.cancellation = &cancellation;
  const absl::Status late = DeadlinePassed();
  const absl::Status status = [&] {
    const TimedCall at_deadline(options.deadline, [&] { cancellation.StartCancelWithStatus(late); });
    return RunProgram(inputs, outputs, timed, options);
  }();
  const bool was_told = status.code() == absl::StatusCode::kCancelled && !cancellation.status().ok();
  return was_told ? cancellation.status() : status;
}

absl::Status Callable::RunProgram(absl::Span<Tensor> inputs, absl::Span<Tensor> outputs, const RunContext& run,
                                  const CallOptions& options) const {
  SerialRunOptions serial;
  serial.deadline = options.deadline;
  serial.observer = options.observer;
  const absl::Span<const int32_t> arguments = program_->arguments();
  for (Tensor& output : outputs) output = Tensor();
  const auto call = [&](Entry* registers) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] >= 0) registers[arguments[i]].SetValue(std::move(inputs[i]));
    }
    const absl::Status status = RunSerialProgram(*program_, registers, run, serial, outputs);
    return status.ok() ? FinishFetches(outputs) : status;
  };
  if (program_->num_registers() <= kStackRegisters) {
    Entry registers[kStackRegisters];
    return call(registers);
  }
  std::unique_ptr<Entry[]> registers = registers_->Take();
  const absl::Status status = call(registers.get());
  registers_->Put(std::move(registers));
  return status;
}

absl::Status Callable::FinishFetches(absl::Span<Tensor> outputs) const {
  // What was read through a reference is the variable's own memory, which later steps will overwrite.
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

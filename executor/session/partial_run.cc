#include "executor/session/partial_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/plan/node_error.h"
#include "executor/session/fed_value.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// "x" and "x:0" are one endpoint.
std::string EndpointOf(const std::string& name) {
  return absl::StrContains(name, ':') ? name : absl::StrCat(name, ":0");
}

absl::Status Misuse(absl::string_view text) { return Error(ErrorCode::kPartialRun).Text(text); }

}  // namespace

PartialRun::PartialRun(std::shared_ptr<SessionCore> core, StepGraph graph, const CallOptions& options)
    : core_(std::move(core)),
      graph_(std::move(graph)),
      container_(SessionCore::NewStepId()),
      linked_(core_->cancellation(), options.cancellation),
      child_(&linked_.manager()),
      rendezvous_(MakeCounted<LocalRendezvous>(*graph_.edges)) {}

absl::StatusOr<std::shared_ptr<PartialRun>> PartialRun::Start(std::shared_ptr<SessionCore> core,
                                                              const SessionGraph& graph, const FeedFetchSpec& spec,
                                                              const CallOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(ThreadPool* const pool, core->CheckOptions(options));
  const LinkedCancellation cancellation(core->cancellation(), options.cancellation);
  StopPoll stop(options.deadline, &cancellation.manager());
  SLUICE_ASSIGN_OR_RETURN(StepGraph step, MakeStepGraph(graph, spec, *core, FeedFetchOptions::Convention::kRendezvous,
                                                        CallPolicy::kInline, &stop));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<const PartitionedStep> executors,
                          PartitionedStep::Create(core, step.signature.graph, step.is_cut, *step.edges,
                                                  *step.call_store, step.functions.get(), &stop));
  std::shared_ptr<PartialRun> run(new PartialRun(std::move(core), std::move(step), options));
  run->AddPorts();
  run->step_ = std::move(executors);
  run->Begin(pool, options);
  return run;
}

void PartialRun::Begin(ThreadPool* pool, const CallOptions& options) {
  Executor::Args args;
  args.step_id = container_.step_id();
  args.rendezvous = rendezvous_.get();
  args.cancellation = &child_.manager();
  args.session_state = &core_->state();
  args.tensor_store = &store_;
  args.step_container = &container_;
  args.task_runner = pool;
  args.deadline = options.deadline;
  args.observer = options.observer;
  if (options.node_outputs != nullptr) {
    outputs_.emplace(graph_.signature.graph, *options.node_outputs, options.observer);
    args.observer = &*outputs_;
  }
  args.deterministic = core_->options().deterministic;
  args.gemm_plugin = core_->options().gemm_plugin;
  const absl::Duration patience = core_->PatienceOf(options);
  if (patience != absl::InfiniteDuration()) {
    watch_.emplace(StallWatch::Options{patience, graph_.signature.graph, rendezvous_.get(), args.observer},
                   /*is_idle=*/true);
    args.observer = &*watch_;
  }
  has_begun_ = true;
  step_->RunAsync(args, [end = &end_](absl::Status status) { end->Set(std::move(status)); });
}

PartialRun::~PartialRun() {
  if (!has_begun_) return;
  Abort(AsStatus([]() -> absl::Status {
    return Error(ErrorCode::kRunCancelled).Text("the partial run was given up");
  })).IgnoreError();
}

void PartialRun::AddPorts() {
  const DeviceEntry& client = core_->device_list().client();
  const auto add = [&](const FeedFetchGraph::Port& port, Ports& ports) {
    Port& added = ports[port.endpoint];
    added.endpoint = port.endpoint;
    added.dtype = port.dtype;
    added.shape = port.shape;
    added.node = port.node;
    const std::string edge =
        EdgeText(client.name, static_cast<uint64_t>(client.incarnation), client.name, port.endpoint);
    added.key.edge = graph_.edges->Number(edge);
  };
  const Graph& graph = graph_.signature.graph;
  for (const NodeId id : graph.Nodes()) {
    const std::vector<DType>& types = graph.signature(id).outputs;
    has_references_ = has_references_ || std::any_of(types.begin(), types.end(), IsRef);
  }
  MutexLock lock(&mu_);
  for (const FeedFetchGraph::Port& port : graph_.signature.feeds) add(port, feeds_);
  for (const FeedFetchGraph::Port& port : graph_.signature.fetches) add(port, fetches_);
  unused_ = feeds_.size() + fetches_.size();
  feed_of_.resize(static_cast<size_t>(graph.id_limit()));
  looked_at_by_.resize(feed_of_.size());
  for (const auto& [endpoint, feed] : feeds_) {
    if (feed.node.valid()) feed_of_[static_cast<size_t>(feed.node.value())] = &feed;
  }
}

bool PartialRun::IsOver() const {
  MutexLock lock(&mu_);
  return has_failed_ || unused_ == 0;
}

absl::Status PartialRun::CheckFeed(const std::string& name, const Tensor& value) const {
  const auto found = feeds_.find(EndpointOf(name));
  if (found == feeds_.end()) return Misuse(absl::StrCat("feed '", name, "' was not set up"));
  const Port& port = found->second;
  if (port.is_used) return Misuse(absl::StrCat("feed '", name, "' was given before"));
  return CheckFedValue(name, port.dtype, port.shape, value);
}

absl::Status PartialRun::CheckFetch(const std::string& name, const Endpoints& now, std::vector<NodeId>* looked_at) {
  const auto found = fetches_.find(EndpointOf(name));
  if (found == fetches_.end()) return Misuse(absl::StrCat("fetch '", name, "' was not set up"));
  if (found->second.is_used) return Misuse(absl::StrCat("fetch '", name, "' was taken before"));
  const Graph& graph = graph_.signature.graph;
  std::vector<NodeId> open = {found->second.node};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const size_t index = static_cast<size_t>(id.value());
    if (looked_at_by_[index] == kHasFeeds || looked_at_by_[index] == num_calls_) continue;
    looked_at->push_back(id);
    looked_at_by_[index] = num_calls_;
    const Port* const feed = feed_of_[index];
    if (feed != nullptr && !feed->is_used && now.count(feed->endpoint) == 0) {
      return Misuse(absl::StrCat("fetch '", name, "' needs feed '", feed->endpoint, "', which was not given yet"));
    }
    for (const Output& input : graph.all_inputs(id)) open.push_back(input.node);
  }
  return absl::OkStatus();
}

absl::Status PartialRun::Claim(const std::vector<std::pair<std::string, Tensor>>& feeds,
                               const std::vector<std::string>& fetches) {
  MutexLock lock(&mu_);
  if (has_failed_ || unused_ == 0) return Misuse("the partial run is over");
  // Check everything before marking, which cannot fail.
  std::vector<Port*> used;
  std::vector<NodeId> looked_at;
  ++num_calls_;
  SLUICE_RETURN_IF_ERROR(CheckCall(feeds, fetches, &used, &looked_at));
  for (const NodeId id : looked_at) looked_at_by_[static_cast<size_t>(id.value())] = kHasFeeds;
  for (Port* const port : used) port->is_used = true;
  unused_ -= used.size();
  return absl::OkStatus();
}

absl::Status PartialRun::CheckCall(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                   const std::vector<std::string>& fetches, std::vector<Port*>* used,
                                   std::vector<NodeId>* looked_at) {
  // "x" and "x:0" are one endpoint: an error in one call.
  Endpoints given, taken;
  for (const auto& [name, value] : feeds) {
    SLUICE_RETURN_IF_ERROR(CheckFeed(name, value));
    if (!given.insert(EndpointOf(name)).second) return Misuse(absl::StrCat("feed '", name, "' is given twice"));
    used->push_back(&feeds_.at(EndpointOf(name)));
  }
  for (const std::string& name : fetches) {
    SLUICE_RETURN_IF_ERROR(CheckFetch(name, given, looked_at));
    if (!taken.insert(EndpointOf(name)).second) return Misuse(absl::StrCat("fetch '", name, "' is taken twice"));
    used->push_back(&fetches_.at(EndpointOf(name)));
  }
  return absl::OkStatus();
}

absl::Status PartialRun::Send(const std::vector<std::pair<std::string, Tensor>>& feeds) {
  for (const auto& [name, value] : feeds) {
    RendezvousKey key;
    {
      MutexLock lock(&mu_);
      const Port& port = feeds_.at(EndpointOf(name));
      if (!port.node.valid()) continue;
      key = port.key;
    }
    SLUICE_RETURN_IF_ERROR(rendezvous_->Send(key, TransferArgs(), {value, false}));
  }
  return absl::OkStatus();
}

absl::Status PartialRun::Receive(const std::vector<std::string>& fetches, absl::Time deadline,
                                 std::vector<Tensor>* values) {
  values->resize(fetches.size());
  for (size_t i = 0; i < fetches.size(); ++i) {
    RendezvousKey key;
    {
      MutexLock lock(&mu_);
      key = fetches_.at(EndpointOf(fetches[i])).key;
    }
    StepEnd received;
    bool is_dead = false;
    rendezvous_->RecvAsync(key, TransferArgs(), nullptr,
                           [&](absl::Status status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
                             (*values)[i] = std::move(value.tensor);
                             is_dead = value.is_dead;
                             received.Set(std::move(status));
                           });
    if (!received.WaitUntil(deadline)) {
      rendezvous_->StartAbort(DeadlinePassed());
    }
    SLUICE_RETURN_IF_ERROR(received.Wait());
    if (is_dead) {
      return Error(ErrorCode::kFetchDead).Text(absl::StrCat("fetch '", fetches[i], "' is dead in this run"));
    }
    // Values read through a reference share the variable's memory, which later steps overwrite: copy them.
    Tensor& value = (*values)[i];
    if (has_references_ && value.has_value() && !value.IsUniquelyOwned()) {
      SLUICE_ASSIGN_OR_RETURN(value, value.DeepCopy());
    }
  }
  return absl::OkStatus();
}

void PartialRun::StartAbort(const absl::Status& error) {
  {
    MutexLock lock(&mu_);
    has_failed_ = true;
  }
  rendezvous_->StartAbort(error);
  child_.manager().StartCancelWithStatus(error);
}

absl::Status PartialRun::Abort(const absl::Status& error) {
  StartAbort(error);
  return end_.Wait();
}

absl::Status PartialRun::RunClaimed(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                    const std::vector<std::string>& fetches, absl::Time deadline,
                                    std::vector<Tensor>* values) {
  SLUICE_RETURN_IF_ERROR(Send(feeds));
  SLUICE_RETURN_IF_ERROR(Receive(fetches, deadline, values));
  // The work that this thread did for the step may have passed the deadline.
  if (deadline != absl::InfiniteFuture() && absl::Now() > deadline) return DeadlinePassed();
  // After the last feed and fetch, wait for the rest of the step (targets).
  if (!IsOver()) return absl::OkStatus();
  if (end_.WaitUntil(deadline)) return end_.Wait();
  return DeadlinePassed();
}

absl::StatusOr<std::vector<Tensor>> PartialRun::Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                                    const std::vector<std::string>& fetches,
                                                    const CallOptions& options) {
  CancellationManager* const caller = options.cancellation;
  if (caller != nullptr && caller->IsCancelling()) return caller->status();
  SLUICE_RETURN_IF_ERROR(Claim(feeds, fetches));
  // Claimed feeds and fetches are used up: from here on every error or exception ends the step.
  CancellationToken token = -1;
  bool is_registered = false, is_watched = false;
  std::vector<Tensor> values;
  absl::Status status = AsStatus([&]() -> absl::Status {
    if (watch_.has_value()) {
      watch_->Resume();
      is_watched = true;
    }
    if (caller != nullptr) {
      token = caller->NewToken();
      is_registered = caller->RegisterCallback(token, [this, caller] { StartAbort(caller->status()); });
      if (!is_registered) StartAbort(caller->status());
    }
    return RunClaimed(feeds, fetches, options.deadline, &values);
  });
  if (is_registered) DeregisterInRun(*caller, token);
  if (status.ok()) status = AsStatus([&] { return SaveTensors(fetches); });
  // A node's own error says more than that the rendezvous was aborted with it.
  if (!status.ok()) Abort(status).IgnoreError();
  if (is_watched) {
    watch_->Pause();
    status = watch_->Explain(status);
  }
  if (!status.ok()) return status;
  return values;
}

absl::Status PartialRun::SaveTensors(const std::vector<std::string>& fetches) {
  std::vector<std::string> nodes;
  for (const std::string& name : fetches) nodes.push_back(name.substr(0, name.rfind(':')));
  store_.SaveTo(nodes, core_->state());
  return absl::OkStatus();
}

}  // namespace sluice

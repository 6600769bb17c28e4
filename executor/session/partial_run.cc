#include "executor/session/partial_run.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executor/session/fed_value.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

// "x" and "x:0" are one endpoint.
std::string EndpointOf(const std::string& name) {
  return absl::StrContains(name, ':') ? name : absl::StrCat(name, ":0");
}

bool HasTwice(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

absl::Status Misuse(absl::string_view text) { return Error(ErrorCode::kPartialRun).Text(text); }

}  // namespace

PartialRun::PartialRun(std::shared_ptr<SessionCore> core)
    : core_(std::move(core)),
      container_(SessionCore::NewStepId()),
      cancellation_(&core_->cancellation()),
      rendezvous_(MakeCounted<LocalRendezvous>()) {}

absl::StatusOr<std::shared_ptr<PartialRun>> PartialRun::Start(std::shared_ptr<SessionCore> core, const Graph& graph,
                                                              const FeedFetchSpec& spec) {
  SLUICE_ASSIGN_OR_RETURN(const StepGraph step,
                          MakeStepGraph(graph, spec, *core, FeedFetchOptions::Convention::kRendezvous));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<const PartitionedStep> executors, PartitionedStep::Create(core, step));
  std::shared_ptr<PartialRun> run(new PartialRun(std::move(core)));
  run->AddPorts(step);
  run->FindNeeds(step);
  run->step_ = std::move(executors);
  Executor::Args args;
  args.step_id = run->container_.step_id();
  args.rendezvous = run->rendezvous_.get();
  args.cancellation_manager = &run->cancellation_;
  args.session_state = &run->core_->state();
  args.step_container = &run->container_;
  args.task_runner = run->core_->pool();
  args.deterministic = run->core_->options().deterministic;
  run->step_->Start(args, [end = &run->end_](absl::Status status) { end->Set(std::move(status)); });
  return run;
}

PartialRun::~PartialRun() {
  if (step_ != nullptr) Abort(Error(ErrorCode::kRunCancelled).Text("the partial run was given up")).IgnoreError();
}

void PartialRun::AddPorts(const StepGraph& step) {
  const DeviceEntry& client = core_->device_list().client();
  const auto add = [&](const FeedFetchGraph::Port& port, Ports& ports) {
    Port& added = ports[port.endpoint];
    added.dtype = port.dtype;
    added.shape = port.shape;
    added.is_needed = port.node.valid();
    const std::string edge =
        EdgeText(client.name, static_cast<uint64_t>(client.incarnation), client.name, port.endpoint);
    added.key.edge = core_->edges().Number(edge);
  };
  const Graph& graph = step.signature.graph;
  for (const NodeId id : graph.Nodes()) {
    const std::vector<DType>& types = graph.signature(id).outputs;
    has_references_ = has_references_ || std::any_of(types.begin(), types.end(), IsRef);
  }
  MutexLock lock(&mu_);
  for (const FeedFetchGraph::Port& port : step.signature.feeds) add(port, feeds_);
  for (const FeedFetchGraph::Port& port : step.signature.fetches) add(port, fetches_);
  unused_ = feeds_.size() + fetches_.size();
}

void PartialRun::FindNeeds(const StepGraph& step) {
  MutexLock lock(&mu_);
  for (const FeedFetchGraph::Port& fetch : step.signature.fetches) {
    const std::vector<bool> needed = ReverseReachable(step.signature.graph, {fetch.node});
    for (const FeedFetchGraph::Port& feed : step.signature.feeds) {
      if (feed.node.valid() && needed[static_cast<size_t>(feed.node.value())]) {
        fetches_[fetch.endpoint].needed_feeds.push_back(feed.endpoint);
      }
    }
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

absl::Status PartialRun::CheckFetch(const std::string& name,
                                    const std::vector<std::pair<std::string, Tensor>>& feeds) const {
  const auto found = fetches_.find(EndpointOf(name));
  if (found == fetches_.end()) return Misuse(absl::StrCat("fetch '", name, "' was not set up"));
  if (found->second.is_used) return Misuse(absl::StrCat("fetch '", name, "' was taken before"));
  for (const std::string& needed : found->second.needed_feeds) {
    if (feeds_.at(needed).is_used) continue;
    const bool comes_now =
        std::any_of(feeds.begin(), feeds.end(), [&](const auto& feed) { return EndpointOf(feed.first) == needed; });
    if (!comes_now) {
      return Misuse(absl::StrCat("fetch '", name, "' needs feed '", needed, "', which was not given yet"));
    }
  }
  return absl::OkStatus();
}

absl::Status PartialRun::Claim(const std::vector<std::pair<std::string, Tensor>>& feeds,
                               const std::vector<std::string>& fetches) {
  MutexLock lock(&mu_);
  if (has_failed_ || unused_ == 0) return Misuse("the partial run is over");
  std::vector<std::string> used;
  for (const auto& [name, value] : feeds) {
    SLUICE_RETURN_IF_ERROR(CheckFeed(name, value));
    used.push_back(EndpointOf(name));
  }
  if (HasTwice(std::move(used))) return Misuse("a feed is given twice");
  std::vector<std::string> taken;
  for (const std::string& name : fetches) {
    SLUICE_RETURN_IF_ERROR(CheckFetch(name, feeds));
    taken.push_back(EndpointOf(name));
  }
  if (HasTwice(std::move(taken))) return Misuse("a fetch is taken twice");
  for (const auto& [name, value] : feeds) feeds_[EndpointOf(name)].is_used = true;
  for (const std::string& name : fetches) fetches_[EndpointOf(name)].is_used = true;
  unused_ -= feeds.size() + fetches.size();
  return absl::OkStatus();
}

absl::Status PartialRun::Send(const std::vector<std::pair<std::string, Tensor>>& feeds) {
  for (const auto& [name, value] : feeds) {
    RendezvousKey key;
    {
      MutexLock lock(&mu_);
      const Port& port = feeds_.at(EndpointOf(name));
      if (!port.is_needed) continue;
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
      rendezvous_->StartAbort(Error(ErrorCode::kDeadline).Text("the deadline of the run has passed"));
    }
    SLUICE_RETURN_IF_ERROR(received.Wait());
    if (is_dead) {
      return Error(ErrorCode::kFetchDead).Text(absl::StrCat("fetch '", fetches[i], "' is dead in this run"));
    }
    // What was read through a reference is the variable's own memory, which later steps will overwrite.
    Tensor& value = (*values)[i];
    if (has_references_ && value.has_value() && !value.IsUniquelyOwned()) {
      SLUICE_ASSIGN_OR_RETURN(value, value.DeepCopy());
    }
  }
  return absl::OkStatus();
}

absl::Status PartialRun::Abort(const absl::Status& error) {
  {
    MutexLock lock(&mu_);
    has_failed_ = true;
  }
  rendezvous_->StartAbort(error);
  cancellation_.StartCancelWithStatus(error);
  return end_.Wait();
}

absl::StatusOr<std::vector<Tensor>> PartialRun::Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                                    const std::vector<std::string>& fetches, absl::Time deadline) {
  SLUICE_RETURN_IF_ERROR(Claim(feeds, fetches));
  std::vector<Tensor> values;
  absl::Status status = Send(feeds);
  if (status.ok()) status = Receive(fetches, deadline, &values);
  // Where everything was used, the rest of the step (targets) is waited for.
  if (status.ok() && IsOver()) {
    if (end_.WaitUntil(deadline)) {
      status = end_.Wait();
    } else {
      status = Error(ErrorCode::kDeadline).Text("the deadline of the run has passed");
    }
  }
  if (status.ok()) return values;
  // A node's own error says more than that the rendezvous was aborted with it.
  Abort(status).IgnoreError();
  return status;
}

}  // namespace sluice

#ifndef SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_
#define SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "executor/session/call_options.h"
#include "executor/session/linked_cancellation.h"
#include "executor/session/partitioned_step.h"
#include "executor/session/session_core.h"
#include "executor/session/step_end.h"
#include "executor/session/step_graph.h"
#include "executor/stall_watch.h"
#include "graph/base/cancellation.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/tensor.h"
#include "kernels/step/step_container.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {

// One step that is fed and fetched piece by piece; nodes wait for missing feeds. Each feed and each fetch may be used
// once, a fetch only after all feeds that it needs, so that no call waits for ever. The first error ends the step.
// Thread-safe. Owned by its session; the destructor ends the step and waits for it.
class PartialRun {
 public:
  // Starts the step. `options` hold for all of it, and what they point to must outlive it. The errors of
  // ApplyFeedsAndFetches and of making executors; kWrongUse for an unknown pool.
  static absl::StatusOr<std::shared_ptr<PartialRun>> Start(std::shared_ptr<SessionCore> core, const SessionGraph& graph,
                                                           const FeedFetchSpec& spec, const CallOptions& options);
  ~PartialRun();

  // Gives `feeds` and takes `fetches`, in order. INVALID_ARGUMENT kPartialRun for names that were not set up, were used
  // before, or need feeds that were not given, kFeedType and kFeedShape: nothing has happened then. Any other error
  // ends the step, among them the deadline and the cancellation of `options`. Tensors whose handles were fetched are in
  // the session's state afterwards.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                          const std::vector<std::string>& fetches, const CallOptions& options);
  // Whether nothing is left to do: everything was given and taken, or there was an error.
  bool IsOver() const ABSL_LOCKS_EXCLUDED(mu_);
  // Whether its step has ended with an error, perhaps between calls: the next call can only say so.
  bool HasFailed() const { return end_.HasFailed(); }

 private:
  // A feed or a fetch.
  struct Port {
    std::string endpoint;
    DType dtype = DType::kInvalid;
    PartialShape shape;
    RendezvousKey key;
    NodeId node;  // Of the signature's graph. Of a feed: invalid where it reaches no fetch and no target.
    bool is_used = false;
  };
  using Ports = HashMap<std::string, Port>;
  using Endpoints = std::set<std::string>;

  PartialRun(std::shared_ptr<SessionCore> core, StepGraph graph, const CallOptions& options);

  void AddPorts();
  void Begin(ThreadPool* pool, const CallOptions& options);
  // Marks what the call uses, or says why it may not.
  absl::Status Claim(const std::vector<std::pair<std::string, Tensor>>& feeds, const std::vector<std::string>& fetches)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Whether Claim may mark `used`; see CheckFetch.
  absl::Status CheckCall(const std::vector<std::pair<std::string, Tensor>>& feeds,
                         const std::vector<std::string>& fetches, std::vector<Port*>* used,
                         std::vector<NodeId>* looked_at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckFeed(const std::string& name, const Tensor& value) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether `name` may be fetched, with the earlier feeds and those of `now`. Adds to `looked_at` the nodes that it
  // needs and that were not known to have all their feeds.
  absl::Status CheckFetch(const std::string& name, const Endpoints& now, std::vector<NodeId>* looked_at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Send(const std::vector<std::pair<std::string, Tensor>>& feeds);
  absl::Status Receive(const std::vector<std::string>& fetches, absl::Time deadline, std::vector<Tensor>* values);
  absl::Status RunClaimed(const std::vector<std::pair<std::string, Tensor>>& feeds,
                          const std::vector<std::string>& fetches, absl::Time deadline, std::vector<Tensor>* values);
  // Makes tensors that nodes of `fetches` keep outlive the step.
  absl::Status SaveTensors(const std::vector<std::string>& fetches);
  // Ends the step with `error`; the second waits until its work has stopped, and returns why it ended.
  void StartAbort(const absl::Status& error);
  absl::Status Abort(const absl::Status& error);

  const std::shared_ptr<SessionCore> core_;
  const StepGraph graph_;
  StepContainer container_;
  TensorStore store_;
  LinkedCancellation linked_;
  ChildManager child_;
  const CountedPtr<LocalRendezvous> rendezvous_;
  std::optional<NodeOutputsObserver> outputs_;
  std::optional<StallWatch> watch_;  // Watches during calls only: between them the step may pause.
  StepEnd end_;
  std::unique_ptr<const PartitionedStep> step_;  // Destroyed before what it uses.
  bool has_references_ = false;                  // Some node refers to a variable. Set before the step starts.
  bool has_begun_ = false;                       // The step was started, and will end. Set by Start.

  mutable Mutex mu_;
  Ports feeds_ ABSL_GUARDED_BY(mu_);    // By endpoint, "node:0".
  Ports fetches_ ABSL_GUARDED_BY(mu_);  // The same.
  // By node of the signature's graph: the feed that it stands for; and the last call that has looked at it, or
  // kHasFeeds when all feeds that it needs were given. So all calls of one run together look at each node once, however
  // many fetches need it.
  static constexpr int64_t kHasFeeds = -1;
  std::vector<const Port*> feed_of_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> looked_at_by_ ABSL_GUARDED_BY(mu_);
  int64_t num_calls_ ABSL_GUARDED_BY(mu_) = 0;
  size_t unused_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_failed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_

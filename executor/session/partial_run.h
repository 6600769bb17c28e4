#ifndef SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_
#define SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "executor/session/partitioned_step.h"
#include "executor/session/session_core.h"
#include "executor/session/step_end.h"
#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/tensor.h"
#include "kernels/step/step_container.h"
#include "rendezvous/local_rendezvous.h"

namespace sluice {

// One step that is fed and fetched piece by piece: it waits where a feed has not come yet. Every feed may be given and
// every fetch taken once; a fetch only when all feeds that it needs were given, so that no call waits in vain. The
// first error ends the step. Thread-safe. Owned by its session; its destruction ends the step and waits for that.
class PartialRun {
 public:
  // Starts the step. Errors as of ApplyFeedsAndFetches and of making executors.
  static absl::StatusOr<std::shared_ptr<PartialRun>> Start(std::shared_ptr<SessionCore> core, const Graph& graph,
                                                           const FeedFetchSpec& spec);
  ~PartialRun();

  // Gives `feeds` and takes `fetches`, in order. INVALID_ARGUMENT kPartialRun for names that were not set up, were used
  // before, or need feeds that were not given: nothing has happened then. Any other error ends the step.
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<std::pair<std::string, Tensor>>& feeds,
                                          const std::vector<std::string>& fetches, absl::Time deadline);
  // Whether nothing is left to do: everything was given and taken, or there was an error.
  bool IsOver() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // A feed or a fetch.
  struct Port {
    DType dtype = DType::kInvalid;
    PartialShape shape;
    RendezvousKey key;
    bool is_needed = false;                 // A feed that reaches some fetch or target.
    std::vector<std::string> needed_feeds;  // Of a fetch.
    bool is_used = false;
  };
  using Ports = absl::flat_hash_map<std::string, Port>;

  explicit PartialRun(std::shared_ptr<SessionCore> core);

  void AddPorts(const StepGraph& step);
  void FindNeeds(const StepGraph& step);
  // Marks what the call uses, or says why it may not.
  absl::Status Claim(const std::vector<std::pair<std::string, Tensor>>& feeds, const std::vector<std::string>& fetches)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckFeed(const std::string& name, const Tensor& value) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckFetch(const std::string& name, const std::vector<std::pair<std::string, Tensor>>& feeds) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Send(const std::vector<std::pair<std::string, Tensor>>& feeds);
  absl::Status Receive(const std::vector<std::string>& fetches, absl::Time deadline, std::vector<Tensor>* values);
  // Ends the step with `error` and waits until its work has stopped. Returns why it ended.
  absl::Status Abort(const absl::Status& error);

  const std::shared_ptr<SessionCore> core_;
  StepContainer container_;
  CancellationManager cancellation_;
  const CountedPtr<LocalRendezvous> rendezvous_;
  StepEnd end_;
  std::unique_ptr<const PartitionedStep> step_;  // Ends before what it uses.
  bool has_references_ = false;                  // Some node refers to a variable. Set before the step starts.

  mutable Mutex mu_;
  Ports feeds_ ABSL_GUARDED_BY(mu_);    // By endpoint, "node:0".
  Ports fetches_ ABSL_GUARDED_BY(mu_);  // The same.
  size_t unused_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_failed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_PARTIAL_RUN_H_

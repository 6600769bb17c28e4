#ifndef SLUICE_EXECUTOR_SESSION_SESSION_GRAPH_H_
#define SLUICE_EXECUTOR_SESSION_SESSION_GRAPH_H_

// Note [Extending a session]
// A session has one graph, which grows in place: as in TensorFlow, Extend adds nodes and functions and changes no
// existing ones. So prepared signatures stay valid. Nothing refers to the graph: the part that a signature needs is cut
// out of it, and prepared without it. Cutting costs what is cut out (Note [Feeds and fetches]), adding costs what is
// added (amortised, as with vectors). Many threads cut at once; additions and cuts wait for each other, but never long:
// threads that wait when one addition ends come before the next.

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/plan/kernel_store.h"
#include "graph/base/limits.h"
#include "graph/base/mutex.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/ir/import.h"
#include "graph/load/graph_extender.h"
#include "graph/passes/feed_fetch.h"
#include "graph/placement/state_homes.h"

namespace sluice {

// The graph of a session. Thread-safe.
class SessionGraph {
 public:
  explicit SessionGraph(Graph graph) { Own(std::make_shared<Graph>(std::move(graph))); }
  // Shares an immutable graph: the first addition makes a copy.
  explicit SessionGraph(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {}
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;

  // Cuts out what `spec` needs: see ApplyFeedsAndFetches. kWrongUse after Forget; the status of options.stop if an
  // addition takes too long.
  absl::StatusOr<FeedFetchGraph> Cut(const FeedFetchSpec& spec, const FeedFetchOptions& options) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // What was cut out, with the graph's version at that time: the graph may change while it is prepared.
  struct Part {
    FeedFetchGraph needed;
    int64_t version = 0;            // See version().
    int64_t kernel_generation = 0;  // Of the store.
    // Devices of state that the graph does not place itself: Note [Homes of state]. Null: not requested.
    std::shared_ptr<const StateHomes> homes;
  };
  // As Cut. `kernels`: the session's. With `with_homes` the first call after a change costs all of the graph.
  absl::StatusOr<Part> CutPart(const FeedFetchSpec& spec, const FeedFetchOptions& options, const KernelStore& kernels,
                               bool with_homes) const ABSL_LOCKS_EXCLUDED(mu_);
  // See GraphExtender. kWrongUse after Forget.
  absl::Status Extend(GraphSource added, const LoadLimits& limits) ABSL_LOCKS_EXCLUDED(mu_);
  // Replaces the graph. First calls `before` with it, with all readers and writers excluded: of several calls at once,
  // the last graph that `before` sees is the one that stays. kWrongUse after Forget.
  absl::Status Replace(Graph graph, absl::FunctionRef<void(const Graph& next)> before) ABSL_LOCKS_EXCLUDED(mu_);
  // Drops the graph for good.
  void Forget() ABSL_LOCKS_EXCLUDED(mu_);

  // A copy of the graph as it is now, at the cost of all of it; null after Forget.
  std::shared_ptr<const Graph> Copy() const ABSL_LOCKS_EXCLUDED(mu_);
  // OK, or kWrongUse after Forget. Does not wait for an addition: callers may have a deadline.
  absl::Status CheckIsThere() const ABSL_LOCKS_EXCLUDED(mu_);
  // Changes with Replace and Forget: signatures of another version are not this graph's.
  int64_t version() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  class Reading;
  class Writing;

  // Of the graph as it is. REQUIRES: a Reading lives.
  std::shared_ptr<const StateHomes> Homes() const ABSL_LOCKS_EXCLUDED(mu_);
  void Own(std::shared_ptr<Graph> graph) {
    own_ = graph.get();
    graph_ = std::move(graph);
  }

  mutable Mutex mu_;
  mutable CondVar changed_;  // Of the numbers.
  mutable int32_t num_reading_ ABSL_GUARDED_BY(mu_) = 0;
  int32_t num_writing_ ABSL_GUARDED_BY(mu_) = 0;          // Waiting ones included: they come before new readers.
  int64_t num_written_ ABSL_GUARDED_BY(mu_) = 0;          // Finished ones.
  mutable int32_t num_waiting_ ABSL_GUARDED_BY(mu_) = 0;  // Readers.
  mutable int32_t num_due_ ABSL_GUARDED_BY(mu_) = 0;      // Readers that come before the next writer.
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_forgotten_ ABSL_GUARDED_BY(mu_) = false;
  mutable std::shared_ptr<const StateHomes> homes_ ABSL_GUARDED_BY(mu_);  // Of the graph of homes_of_; null: not known.
  mutable std::pair<int64_t, int32_t> homes_of_ ABSL_GUARDED_BY(mu_);     // Its version and id_limit.
  // Read while a Reading lives, changed while a Writing does. Null: forgotten.
  std::shared_ptr<const Graph> graph_;
  Graph* own_ = nullptr;    // The same, to be changed; null where others read it too.
  GraphExtender extender_;  // The same.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SESSION_GRAPH_H_

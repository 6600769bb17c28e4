#ifndef SLUICE_TESTS_FUZZ_GRAPH_TRIAL_H_
#define SLUICE_TESTS_FUZZ_GRAPH_TRIAL_H_

// The stages that one GraphDef goes through: import, check, conversion, preparing and running, as the program would do
// it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "executor/session/session.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/fuzz/fuzz_counts.h"
#include "tests/fuzz/trial_requests.h"
#include "tests/testing/guard_allocator.h"

namespace sluice {

// Runs graphs with hostile feeds under both drivers and ends the process where a promise is broken: every error has
// facts, what was accepted survives conversion, all memory comes back, and (by watching from outside) no run lasts.
// What is fed and fetched, and which sessions run it, follows from the trial's seed and from the names of nodes, so
// that a graph that is made smaller is still tried in the same way.
// Borrows the counts. Not thread-safe.
class GraphTrial {
 public:
  explicit GraphTrial(FuzzCounts* counts);

  // `bytes`: a binary GraphDef (or MetaGraphDef, SavedModel), perhaps damaged.
  void Run(absl::string_view bytes, uint64_t seed);
  // Preparing and running alone.
  void RunGraph(const Graph& graph, uint64_t seed);
  // The same of a graph to which gradients, or a training step, were added.
  void RunGradients(const Graph& graph, uint64_t seed);
  // To binary and text and back: an equal graph each time.
  void Convert(const Graph& graph);
  // What was worth looking at in the last trial: a short word, and what was seen.
  const std::map<std::string, std::string>& remarks() const { return remarks_; }

  // Small enough that what they allow is also quick.
  static LoadLimits Limits();

 private:
  struct StepResult;
  using RequestResults = std::vector<StepResult>;  // By round; empty where the request could not be prepared.

  void Check(const absl::StatusOr<LoadedGraph>& model);
  void RunRequests(const Graph& graph, const std::vector<TrialRequest>& requests, uint64_t seed);
  void RunSession(const Graph& graph, const SessionOptions& options, const std::vector<TrialRequest>& requests,
                  std::vector<RequestResults>* results);
  void RunSteps(Session& session, const TrialRequest& request, bool observe, RequestResults* results);
  void CountError(const absl::Status& status, bool at_run);
  // Whether both drivers end well and give equal values wherever that follows from the feeds.
  void CompareRequest(const Graph& graph, const FeedFetchSpec& spec, const RequestResults& serial,
                      const RequestResults& dataflow);

  FuzzCounts& counts_;
  ThreadPool pool_;
  GuardAllocator guard_;
  TrackingAllocator allocator_;
  absl::flat_hash_map<std::string, size_t> op_numbers_;
  std::map<std::string, std::string> remarks_;
  bool has_run_ = false, has_prepared_ = false, has_ended_well_ = false;  // In this trial.
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_GRAPH_TRIAL_H_

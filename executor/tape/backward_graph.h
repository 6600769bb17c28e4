#ifndef SLUICE_EXECUTOR_TAPE_BACKWARD_GRAPH_H_
#define SLUICE_EXECUTOR_TAPE_BACKWARD_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/compiled/compiled_graph.h"
#include "executor/executor.h"
#include "executor/tape/pass_plan.h"
#include "executor/tape/pass_structure.h"
#include "executor/tape/tape_core.h"

namespace sluice {

// A pass as a graph, compiled once for its structure and run by the executor: saved values and seeds are its arguments,
// gradients of leaves and captures its results. Sums are in the order in which a pass adds. Immutable; thread-safe.
class BackwardGraph {
 public:
  // `seeded` and `captured` as for the structure, which `plan` is of.
  static absl::StatusOr<std::shared_ptr<const BackwardGraph>> Make(TapeCore& core, const PassPlan& plan,
                                                                   const PassStructure& structure,
                                                                   const std::vector<bool>& seeded,
                                                                   absl::Span<const PassStructure::Captured> captured);

  // `args`: the saved values of all items in their order, each as its gradient lists them; then the seeds in the order
  // of the buffers. `results`: one for each leaf that gets a gradient, in the order of the items, then one for each
  // capture (without a value if nothing flows to it), then the shapes for the checks.
  absl::Status Run(const RunContext& run, absl::Span<Tensor> args, absl::Span<Tensor> results) const;
  size_t num_results() const { return num_results_; }
  // A gradient from a row of the host: its shape is among the last results, and RunGraph compares it with that of the
  // input. Rows of our own table are trusted to give the shape of their input.
  struct Check {
    size_t item = 0;
    size_t edge = 0;
  };
  absl::Span<const Check> checks() const { return checks_; }
  const Graph& graph() const { return compiled_->graph(); }

 private:
  friend class BackwardGraphMaker;
  BackwardGraph() = default;

  std::shared_ptr<const CompiledGraph> compiled_;
  std::unique_ptr<const Executor> executor_;
  std::vector<int32_t> places_;  // By result of the executor: which of `results` it is.
  std::vector<Check> checks_;
  size_t num_results_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_BACKWARD_GRAPH_H_

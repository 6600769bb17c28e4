#ifndef SLUICE_GRAPH_TRAINING_GRADIENT_ACCUMULATOR_H_
#define SLUICE_GRAPH_TRAINING_GRADIENT_ACCUMULATOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/training/train_nodes.h"
#include "graph/training/variable_node.h"

namespace sluice {

// Adds gradients up over several runs of a step, in variables: "w/gradient_accumulator" for each trained w, and for
// sparse gradients "w/gradient_accumulator_rows", which marks the rows that had one. Borrows the nodes.
class GradientAccumulator {
 public:
  GradientAccumulator(TrainNodes& nodes, int64_t num_runs) : nodes_(nodes), num_runs_(num_runs) {}

  // Adds the variables and the nodes that add to them after `ready`. The gradients become the means, live only in the
  // last run of each round, as are nodes after the branch's `taken`. `keep_rows`: sparse gradients stay sparse.
  Branch Add(NodeId ready, bool keep_rows, absl::Span<Trained> all);
  // Zeros for the next round, once `updated` has run.
  std::vector<NodeId> Clear(NodeId updated);

 private:
  struct Sum {
    VariableNode total;
    std::optional<VariableNode> rows;  // A vector of bool.
    Output shape, num_rows;            // Of the total, vectors.
  };

  Sum AddSum(const Trained& one, bool keep_rows);
  std::vector<NodeId> AddTo(const Sum& sum, const Gradient& gradient);
  // Counts this run, and says whether it is the last one of its round.
  Expr CountRun(const VariableNode& count, std::vector<NodeId>* done);
  void TakeMean(const Sum& sum, Trained* one);

  TrainNodes& nodes_;
  const int64_t num_runs_;
  std::vector<Sum> sums_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_GRADIENT_ACCUMULATOR_H_

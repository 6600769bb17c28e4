#ifndef SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_
#define SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

#include <string>
#include <utility>
#include <vector>

#include "graph/passes/pass.h"

namespace sluice {

// Joins pure nodes that are alike in op, attrs, device, inputs (in any order for commutative ops of two inputs) and
// control inputs: the one that comes first serves all. Nodes whose names are in `keep` are not removed, though their
// consumers may use another node alike. Linear.
class CommonSubexpressionPass : public Pass {
 public:
  explicit CommonSubexpressionPass(std::vector<std::string> keep = {}) : keep_(std::move(keep)) {}

  absl::string_view name() const override { return "common_subexpression"; }
  absl::StatusOr<int64_t> Run(Graph& graph) const override;

 private:
  const std::vector<std::string> keep_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

#ifndef SLUICE_GRAPH_IR_CONSUMERS_H_
#define SLUICE_GRAPH_IR_CONSUMERS_H_

#include <vector>

#include "graph/ir/graph.h"

namespace sluice {

// One use of a node: output `slot` feeds input `input` of `node` (both kControlIndex for a control edge).
struct Use {
  NodeId node;
  int32_t slot = 0;
  int32_t input = 0;
};

// The users of each node's outputs, as the graph was when this was made. Two arrays, linear time. Immutable; does not
// follow later changes of the graph.
class Consumers {
 public:
  explicit Consumers(const Graph& graph);
  // Uses of `id` in ascending order of the consumer; data edges of a consumer before its control edge.
  absl::Span<const Use> of(NodeId id) const {
    const size_t i = static_cast<size_t>(id.value());
    return absl::MakeConstSpan(uses_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
  }

 private:
  std::vector<uint32_t> starts_;
  std::vector<Use> uses_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_CONSUMERS_H_

#include "graph/ir/graph_node.h"

#include "graph/ir/op_class.h"

namespace sluice {
namespace {

constexpr int kMaxForwards = 8;  // A longer chain is rare and not worth the walk.

}  // namespace

bool GraphNode::InputIsConstant(int32_t i) const {
  const absl::Span<const Output> inputs = graph_.inputs(id_);
  if (i < 0 || static_cast<size_t>(i) >= inputs.size()) return false;
  Output source = inputs[static_cast<size_t>(i)];
  for (int steps = 0; steps < kMaxForwards && graph_.Contains(source.node); ++steps) {
    switch (graph_.op(source.node).op_class) {
      case OpClass::kConst:
        return true;
      case OpClass::kForward:
        source = graph_.inputs(source.node)[static_cast<size_t>(source.index)];
        break;
      case OpClass::kEnter:
        source = graph_.inputs(source.node)[0];
        break;
      default:
        if (!graph_.Is(source.node, "Snapshot")) return false;
        source = graph_.inputs(source.node)[0];
    }
  }
  return false;
}

}  // namespace sluice

#include "graph/ir/consumers.h"

namespace sluice {

Consumers::Consumers(const Graph& graph) : starts_(static_cast<size_t>(graph.id_limit()) + 1, 0) {
  const int32_t limit = graph.id_limit();
  for (int32_t i = 0; i < limit; ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      if (input.is_set()) ++starts_[static_cast<size_t>(input.node.value()) + 1];
    }
  }
  for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  uses_.resize(starts_.back());
  std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (int32_t i = 0; i < limit; ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    int32_t position = 0;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      const int32_t at = input.is_control() ? kControlIndex : position++;
      if (!input.is_set()) continue;
      uses_[next[static_cast<size_t>(input.node.value())]++] = Use{NodeId(i), input.index, at};
    }
  }
}

}  // namespace sluice

#include "frames/graph_view.h"

#include "frames/graph_view_builder.h"

namespace sluice {

absl::StatusOr<GraphView> GraphView::Create(const Graph& graph, const ControlFlowInfo& frames,
                                            absl::Span<const NodeFacts> facts, StopPoll* stop) {
  return GraphViewBuilder(graph, frames, facts, stop).Build();
}

void GraphView::FreeBlock::operator()(char* block) const {
  for (uint32_t i = 0; i < num_constants; ++i) constants[i].~Entry();
  HostAllocator().Free(block, bytes, kHostStream);
}

}  // namespace sluice

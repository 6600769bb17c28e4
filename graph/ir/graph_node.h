#ifndef SLUICE_GRAPH_IR_GRAPH_NODE_H_
#define SLUICE_GRAPH_IR_GRAPH_NODE_H_

#include <memory>

#include "graph/ir/graph.h"
#include "graph/ir/node_properties.h"

namespace sluice {

// The properties of a node of a graph, which must outlive this and not change meanwhile. A view: cheap to make.
class GraphNode final : public NodeProperties {
 public:
  // REQUIRES: graph.Contains(id).
  GraphNode(const Graph& graph, NodeId id)
      : NodeProperties(graph.op(id), graph.signature(id)), graph_(graph), id_(id) {}

  absl::string_view name() const override { return graph_.name(id_); }
  absl::string_view device() const override { return graph_.device(id_); }
  bool FindAttr(absl::string_view name, AttrView* value) const override { return graph_.FindAttr(id_, name, value); }
  // Sees through nodes that forward their input, and into the loops that a value enters.
  bool InputIsConstant(int32_t i) const override;
  std::shared_ptr<const void> SourceOwner(absl::string_view bytes) const override { return graph_.SourceOwner(bytes); }
  absl::Status Locate(const absl::Status& status) const override { return graph_.Locate(id_, status); }

 private:
  const Graph& graph_;
  const NodeId id_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_GRAPH_NODE_H_

#ifndef SLUICE_GRAPH_GRADIENTS_ADDED_PARTS_H_
#define SLUICE_GRAPH_GRADIENTS_ADDED_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "graph/ir/function_library.h"
#include "graph/ir/graph.h"

namespace sluice {

// Removes the nodes and functions that were added to a graph since this was made, unless Keep was called, even if
// memory runs out. Earlier nodes must not have been changed. Lives for one call; borrows the graph.
class AddedParts {
 public:
  explicit AddedParts(Graph& graph)
      : graph_(graph), first_node_(graph.id_limit()), num_functions_(graph.library().size()) {
    if (num_functions_ > 0) library_ = graph.library();
  }
  AddedParts(const AddedParts&) = delete;
  AddedParts& operator=(const AddedParts&) = delete;
  ~AddedParts() {
    if (is_kept_) return;
    for (int32_t i = first_node_; i < graph_.id_limit(); ++i) graph_.RemoveNode(NodeId(i));
    if (graph_.library().size() != num_functions_) graph_.library() = std::move(library_);
  }

  void Keep() { is_kept_ = true; }
  int num_nodes() const { return graph_.id_limit() - first_node_; }

 private:
  Graph& graph_;
  const int32_t first_node_;
  const size_t num_functions_;
  FunctionLibrary library_;  // As it was before; empty if the graph had none.
  bool is_kept_ = false;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_ADDED_PARTS_H_

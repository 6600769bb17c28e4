#ifndef SLUICE_GRAPH_FUNCTIONS_SHAPE_BODIES_H_
#define SLUICE_GRAPH_FUNCTIONS_SHAPE_BODIES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/ir/graph.h"
#include "graph/shapes/function_bodies.h"

namespace sluice {

// Bodies of the functions of one graph's library, for shape inference: each is instantiated once per set of attrs, when
// first asked for. Functions whose bodies are wrong, or would add too many nodes in all, have no body here.
//
//   ShapeBodies bodies(graph);
//   InferenceOptions options;
//   options.bodies = &bodies;
//   SLUICE_ASSIGN_OR_RETURN(ShapeMap shapes, InferShapes(graph, options));
//
// Ownership: borrows `graph`, owns the bodies. Not thread-safe.
class ShapeBodies : public FunctionBodies {
 public:
  // Instantiates at most limits.max_expanded_nodes nodes in all.
  explicit ShapeBodies(const Graph& graph, const LoadLimits& limits = LoadLimits());

  const Graph* Find(const Graph& caller, const FuncView& function) override;

 private:
  const Graph& graph_;
  int64_t nodes_left_;
  HashMap<std::string, std::unique_ptr<const Graph>> bodies_;  // By canonical name; null for functions without a body.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_SHAPE_BODIES_H_

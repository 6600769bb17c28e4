#ifndef SLUICE_GRAPH_SHAPES_FUNCTION_BODIES_H_
#define SLUICE_GRAPH_SHAPES_FUNCTION_BODIES_H_

#include "graph/ir/attr.h"
#include "graph/ir/graph.h"

namespace sluice {

// Returns the bodies of functions as graphs. An interface so that shapes need not know how functions are instantiated;
// graph/functions implements it.
class FunctionBodies {
 public:
  virtual ~FunctionBodies() = default;
  // The body of what `caller` calls as `function`, with `_Arg` and `_Retval` nodes (attr index); null when there is
  // none. The same call gives the same pointer; graphs live as long as this object.
  virtual const Graph* Find(const Graph& caller, const FuncView& function) = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_FUNCTION_BODIES_H_

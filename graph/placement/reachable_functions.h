#ifndef SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_
#define SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/ir/function_library.h"
#include "graph/ir/graph.h"

namespace sluice {

// Removes from graph.library() all functions but those that nodes call or name in attrs, those that these call, and
// their gradients. Linear in the graph and the bodies reached; not recursive.
void KeepReachableFunctions(Graph& graph);

// Adds to part.library(), which is empty, those of the functions of `whole` that KeepReachableFunctions would keep
// there, in no particular order. `part` is of nodes of `whole`, and the cost that of the part and the bodies that it
// reaches, however many functions there are. Returns false, and adds nothing, if a node calls a function that was
// removed from the library.
bool AddReachableFunctions(const Graph& whole, Graph& part);

// The functions of `whole` called `names`, those that they call, and their gradients, as a library of its own.
FunctionLibrary ReachableFrom(const FunctionLibrary& whole, absl::Span<const std::string> names);

// The functions of one library, for the many parts of the graph that it belongs to. Borrows the library.
class ReachableFunctions {
 public:
  explicit ReachableFunctions(const FunctionLibrary& library);

  // Adds to part.library() what KeepReachableFunctions would keep there, in the order of the file. Costs what the part
  // and the bodies that it reaches cost, however large the library is.
  absl::Status AddTo(Graph& part) const;

 private:
  const FunctionLibrary& library_;
  std::vector<std::shared_ptr<const FunctionDefinition>> functions_;  // As added.
  HashMap<absl::string_view, int32_t> positions_;                     // In functions_, by name.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

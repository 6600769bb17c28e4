#ifndef SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_
#define SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/function_library.h"
#include "graph/ir/graph.h"

namespace sluice {

// Removes from graph.library() what nothing needs: kept are the functions that nodes call or name in attrs, those that
// these call, and their gradients. Linear in the graph and the bodies reached; not recursive.
void KeepReachableFunctions(Graph& graph);

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
  absl::flat_hash_map<absl::string_view, int32_t> positions_;         // In functions_, by name.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

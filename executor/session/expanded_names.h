#ifndef SLUICE_EXECUTOR_SESSION_EXPANDED_NAMES_H_
#define SLUICE_EXECUTOR_SESSION_EXPANDED_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/functions/call_site.h"
#include "graph/ir/graph.h"

namespace sluice {

// Tells which names nodes may have when a step of a graph is prepared: those of the graph, and of nodes that replace
// its calls. A node NODE of a function's body is called "CALL/NODE" there, one of a branch or a loop "CALL/PART/NODE",
// and where such a name is taken, the same with "_" and a number. In doubt a name is possible: where a body calls what
// its caller names, or a gradient is made. Borrows the graph. Not thread-safe.
class ExpandedNames {
 public:
  explicit ExpandedNames(const Graph& graph) : graph_(graph), calls_(graph) {}

  // Costs the name's length times the number of its '/', and once the number of nodes of each function.
  bool MayHave(absl::string_view name);

 private:
  // A node of a body.
  struct BodyNode {
    std::vector<const FunctionDefinition*> callees;
    bool is_vague = false;     // Any name is possible below it.
    bool makes_parts = false;  // A conditional or a loop: its callees stand one part deeper, or more.
  };
  using Body = std::map<absl::string_view, BodyNode>;
  // A position in a name, and the function whose body is searched for the rest.
  struct Place {
    const FunctionDefinition* function;
    size_t begin;
  };

  const Body& BodyOf(const FunctionDefinition& function);
  BodyNode Describe(const NodeDefView& node) const;
  // Adds the places in which the rest of `name`, after the '/' at `slash`, may be.
  static void AddPlaces(const BodyNode& node, absl::string_view name, size_t slash, std::vector<Place>* places);
  // The node of `body` called `name`, or `name` without a number at its end; null: none.
  static const BodyNode* Find(const Body& body, absl::string_view name);
  BodyNode DescribeCall(NodeId call);

  const Graph& graph_;
  CallFinder calls_;
  std::map<const FunctionDefinition*, Body> bodies_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_EXPANDED_NAMES_H_

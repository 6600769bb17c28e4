#ifndef SLUICE_GRAPH_FUNCTIONS_CALL_EXPANSION_H_
#define SLUICE_GRAPH_FUNCTIONS_CALL_EXPANSION_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/functions/call_states.h"
#include "graph/functions/needed_parts.h"
#include "graph/ir/graph.h"
#include "graph/ir/made_nodes.h"

namespace sluice {

// The book-keeping of a rewrite that replaces nodes which call functions by other nodes.
//
// Note [Replacing calls]
// A call is replaced in constant time: it is removed, and a note says which output stands for each of its outputs and
// which nodes have run when it has ("done"). Edges that still point to it are turned in one pass at the end, in
// Finish(); code that reads edges before that goes through Resolve(). So n calls cost one walk over the graph, not n.
//
// Borrows the graph. Not thread-safe; lives for one rewrite.
class CallExpansion {
 public:
  // What replaces one output of a replaced node: `value`, but (when `gate` is set) not before `gate` has run.
  struct Replacement {
    Output value;
    NodeId gate;
  };

  // Where a call comes from.
  enum class Origin {
    kGraph,       // The graph, or a body.
    kLowered,     // An If, a Case or a While, which TensorFlow lowers.
    kFunctional,  // One which it does not lower.
  };

  // A call to look at, and how many calls it lies inside of.
  struct Pending {
    NodeId call;
    int depth;
    bool may_stay;  // Its arguments, and those of the calls around it, are neither dead nor late (call_choice.h).
    CallStates::Scope scope;
    BodyRun around = BodyRun::kResults;  // How the body runs that it stands in.
    Origin origin = Origin::kGraph;
  };

  CallExpansion(Graph& graph, const LoadLimits& limits) : graph_(graph), limits_(limits) {}

  Graph& graph() { return graph_; }
  const LoadLimits& limits() const { return limits_; }

  // Adds a helper node called `name`, or "name_1", ... Attrs as given, with a mark (Note [Made nodes]) among them;
  // counts against max_expanded_nodes.
  absl::StatusOr<NodeId> Add(absl::string_view op, absl::string_view name, std::vector<Output> inputs,
                             std::vector<NodeId> controls, std::vector<std::pair<std::string, AttrValue>> attrs,
                             absl::string_view device);

  // Counts nodes added by others. kLimitNodes at `call` when they are too many.
  absl::Status Count(NodeId call, size_t nodes);

  // Data inputs of `id` as they are after the replacements so far. Control inputs are turned by Finish().
  absl::StatusOr<std::vector<Output>> Inputs(NodeId id);
  std::vector<NodeId> Controls(NodeId id) const;

  // Keeps a node with the name of `id` when it is replaced: an IdentityN of its outputs, or a NoOp without outputs.
  void Keep(NodeId id) { kept_.insert(id); }

  // Takes `id` out of the graph. See Note [Replacing calls].
  absl::Status Replace(NodeId id, std::vector<Replacement> outputs, std::vector<NodeId> done);

  // Turns all edges that point to replaced nodes.
  absl::Status Finish();

  // Notes that all of these nodes are needed where one of them is. A node that is or will be replaced stands for what
  // takes its place: among `values` for its outputs too, among `controls` for what has run when it has.
  void Together(std::vector<NodeId> values, std::vector<NodeId> controls) {
    together_.push_back({std::move(values), std::move(controls)});
  }
  // After Finish: puts what has replaced them in the place of the roots in `parts`, and adds what was noted.
  void AddTo(InlinedParts* parts) const;

  // Calls still to be looked at, oldest first. Those of what takes the place of a call may stay where it might have,
  // and are in the same scope.
  void Push(NodeId call, int depth) { pending_.push_back({call, depth, may_stay_, scope_, around_, origin_}); }
  void Push(const Pending& pending) { pending_.push_back(pending); }
  bool Pop(Pending* pending);
  // No call in the replacement of the call that was popped last stays a call.
  void NoneMayStay() { may_stay_ = false; }
  // It is an If, a Case or a While which TensorFlow does not lower.
  void IsFunctional() { origin_ = Origin::kFunctional; }

  int64_t nodes_added() const { return nodes_added_; }

 private:
  struct Replaced {
    std::string name;
    MadeFor made_for;  // What the user knows it as.
    std::string device;
    std::vector<Replacement> outputs;
    std::vector<NodeId> done;
  };

  struct Group {
    std::vector<NodeId> values, controls;
  };

  absl::StatusOr<Output> Resolve(Output output);
  // Gives `value`, which replaces `output`, on after the gate of that replacement, from now on.
  absl::StatusOr<Output> AddGate(const Output& output, const Output& value);
  // The node to wait for instead of `id`; not valid when there is nothing to wait for.
  absl::StatusOr<NodeId> ResolveControl(NodeId id);
  absl::Status TurnEdges(NodeId id);
  // These nodes and, in the place of those that were replaced, what gives their outputs (only of `values`) or has run
  // when they have.
  std::vector<NodeId> Replacements(std::vector<NodeId> values, std::vector<NodeId> controls) const;

  Graph& graph_;
  const LoadLimits limits_;
  HashMap<NodeId, Replaced> replaced_;
  HashSet<NodeId> kept_;
  std::vector<Group> together_;
  std::deque<Pending> pending_;
  // Of the call that was popped last.
  bool may_stay_ = true;
  CallStates::Scope scope_;
  BodyRun around_ = BodyRun::kResults;
  Origin origin_ = Origin::kLowered;
  int64_t nodes_added_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CALL_EXPANSION_H_

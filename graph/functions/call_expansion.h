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
// Replacing a call takes constant time: the call is removed, and a record says which outputs replace its outputs and
// which nodes replace it as a control input ("done"). Finish() redirects all edges that still point to removed calls in
// one pass; code that reads edges before that must use Resolve(). So n calls cost one walk over the graph, not n.
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

  // Data inputs of `id` as they are after the replacements so far. Finish() redirects control inputs.
  absl::StatusOr<std::vector<Output>> Inputs(NodeId id);
  std::vector<NodeId> Controls(NodeId id) const;

  // Keeps a node with the name of `id` when it is replaced: an IdentityN of its outputs, or a NoOp without outputs.
  void Keep(NodeId id) { kept_.insert(id); }

  // Removes `id` from the graph and records its replacement. See Note [Replacing calls].
  absl::Status Replace(NodeId id, std::vector<Replacement> outputs, std::vector<NodeId> done);

  // Redirects all edges that point to replaced nodes.
  absl::Status Finish();

  // Records that if one of these nodes is needed, all are. A node that is or will be replaced stands for its
  // replacement: in `values` for its outputs and its "done" nodes, in `controls` only for the latter.
  void Together(std::vector<NodeId> values, std::vector<NodeId> controls) {
    together_.push_back({std::move(values), std::move(controls)});
  }
  // After Finish: puts what has replaced them in the place of the roots in `parts`, and adds what was noted.
  void AddTo(InlinedParts* parts) const;

  // Appends a call to be processed. Calls within the replacement of a call are in the same scope and may stay only if
  // that call might have.
  void Push(NodeId call, int depth) { pending_.push_back({call, depth, may_stay_, scope_, around_, origin_}); }
  void Push(const Pending& pending) { pending_.push_back(pending); }
  bool Pop(Pending* pending);
  // Says that no call in the replacement of the last popped call may stay.
  void NoneMayStay() { may_stay_ = false; }
  // Says that the last popped call is an If, a Case or a While that TensorFlow does not lower.
  void IsFunctional() { origin_ = Origin::kFunctional; }

  int64_t nodes_added() const { return nodes_added_; }

 private:
  struct Replaced {
    std::string name;
    MadeFor made_for;  // The node as the user knows it.
    std::string device;
    std::vector<Replacement> outputs;
    std::vector<NodeId> done;
  };

  struct Group {
    std::vector<NodeId> values, controls;
  };

  absl::StatusOr<Output> Resolve(Output output);
  // Makes `value`, the replacement of `output`, available only after its gate has run; later users get the gated one.
  absl::StatusOr<Output> AddGate(const Output& output, const Output& value);
  // The node to wait for instead of `id`; not valid when there is nothing to wait for.
  absl::StatusOr<NodeId> ResolveControl(NodeId id);
  absl::Status TurnEdges(NodeId id);
  // Returns these nodes, with each replaced one exchanged for its "done" nodes and, in `values`, the nodes of its
  // outputs.
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

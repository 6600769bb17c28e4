#ifndef SLUICE_GRAPH_EDIT_GRAPH_EDITOR_H_
#define SLUICE_GRAPH_EDIT_GRAPH_EDITOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/edit/live_shapes.h"
#include "graph/edit/live_uses.h"
#include "graph/ir/consumers.h"
#include "graph/ir/graph.h"
#include "graph/ir/infer_attrs.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// Changes a graph for rewrites: nodes are added under scopes, the uses of outputs follow every change, and no change
// leaves a type or an edge wrong (what Graph checks, and that nothing that is read is removed). Shapes follow, too.
//
//   GraphEditor edit(graph);
//   const GraphEditor::Scope names = edit.InName("gradients");
//   const GraphEditor::Scope place = edit.ColocatedWith(product);
//   const Output da = edit.Add("MatMul", "da", {dy, b}, {{"transpose_b", true}});
//   SLUICE_RETURN_IF_ERROR(edit.ReplaceUses(Output{old, 0}, da));
//   SLUICE_RETURN_IF_ERROR(edit.Remove(old));
//   return edit.status();
//
// Changes return their error and leave the graph as it was. Add, which calls of many lines are made of, gives an unset
// Output instead, which the next Add takes without adding anything; the first such error is in status().
// Borrows the graph, which others change only as TakeInAdded says. Not thread-safe.
class GraphEditor {
 public:
  // Ends, at its own end, what a call below began. Scopes end in the reverse of the order in which they began.
  class Scope {
   public:
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    friend class GraphEditor;
    Scope(GraphEditor& editor, size_t depth) : editor_(editor), depth_(depth) {}

    GraphEditor& editor_;
    const size_t depth_;  // Of the scopes around this one.
  };

  explicit GraphEditor(Graph& graph) : graph_(graph), scopes_(1) {}
  GraphEditor(const GraphEditor&) = delete;
  GraphEditor& operator=(const GraphEditor&) = delete;

  const Graph& graph() const { return graph_; }
  const absl::Status& status() const { return status_; }

  // --- Scopes: what nodes that Add adds get beside their own ---------------------------------------------------------
  // "name/" in front of their names.
  [[nodiscard]] Scope InName(absl::string_view name);
  // A device, for those that Add is not told one for.
  [[nodiscard]] Scope OnDevice(absl::string_view device);
  // The place of `id`: its device, and its colocation groups; where it states none, the group of its name. As that
  // name is written down, `id` is not renamed afterwards. Scopes in scopes add to each other, but for the device.
  [[nodiscard]] Scope ColocatedWith(NodeId id);
  // Control edges from `predecessors`, beside those of the scopes around this one.
  [[nodiscard]] Scope After(absl::Span<const NodeId> predecessors);

  // --- Adding --------------------------------------------------------------------------------------------------------
  // Adds a node under the scopes, by a name that no node has, `name` where that is free (empty: that of the op).
  // Control inputs may stand anywhere in `inputs`. Type attrs that follow from the inputs need not be given. Returns
  // output 0, or the control output of an op without outputs.
  Output Add(absl::string_view op, absl::string_view name, absl::Span<const Output> inputs, AttrList attrs = {});
  static Output Nth(Output output, int32_t index) { return Output{output.node, index}; }
  // As Graph::AddNode, whatever the scopes.
  absl::StatusOr<NodeId> AddNode(const NodeSpec& spec);
  // Takes in the nodes that others (an import into the graph) have added since the editor was made or last told.
  // They have changed no others.
  void TakeInAdded();

  // --- Changing: as the functions of Graph ---------------------------------------------------------------------------
  absl::Status SetInput(NodeId id, int32_t i, Output source);
  absl::Status SetInputs(NodeId id, absl::Span<const Output> inputs, absl::Span<const NodeId> controls);
  absl::Status AddControl(NodeId id, NodeId predecessor);
  void RemoveControl(NodeId id, NodeId predecessor);
  absl::Status SetAttr(NodeId id, absl::string_view name, const AttrValue& value);
  absl::Status RemoveAttr(NodeId id, absl::string_view name);
  // Lets all that use `from` use `to`, but for the node of `to` itself, which may be what is put between. Both are data
  // or both control. All or nothing: an input that does not take the type of `to` is an error.
  absl::Status ReplaceUses(const Output& from, const Output& to);
  // kWrongUse while another node uses it.
  absl::Status Remove(NodeId id);
  // Removes nodes that only each other use; kWrongUse, and nothing is removed, where a node that stays uses one. Those
  // that the graph does not have mean nothing. One look at the edges of the graph, or of `ids` where uses are kept.
  absl::Status RemoveAll(absl::Span<const NodeId> ids);
  // As Graph::Rename and Graph::UniqueName.
  absl::Status Rename(NodeId id, absl::string_view name) { return graph_.Rename(id, name); }
  std::string UniqueName(absl::string_view prefix) const { return graph_.UniqueName(prefix); }

  // --- Uses: as LiveUses, built when first asked for -----------------------------------------------------------------
  std::vector<Use> UsesOf(NodeId id) { return Uses().Of(id); }
  std::vector<Use> UsesOf(const Output& output) { return Uses().Of(output); }
  bool IsUsed(NodeId id) { return Uses().IsUsed(id); }

  // --- Shapes: as InferShapes, of the graph as it is now -------------------------------------------------------------
  // Inferred when first asked for; then only what changes have touched is inferred again (Note [Shapes that follow]).
  // Valid until the next change. Fails (kCycle) where the graph has no order.
  absl::StatusOr<const ShapeMap*> Shapes();
  // The options of Shapes from now on: feeds, bodies of functions (borrowed), hints.
  void SetInference(InferenceOptions options);
  // How many times a node was inferred. For tests.
  int64_t num_inferred() const { return shapes_ != nullptr ? shapes_->num_inferred() : 0; }

  // The first error of Add, or what ValidateGraph finds, or that uses are not those of the graph, which others changed.
  absl::Status Validate() const;

 private:
  struct Surroundings {
    std::string prefix;
    std::string device;
    std::vector<std::string> groups;  // Without repetitions, sorted.
    std::vector<NodeId> controls;
  };

  LiveUses& Uses();
  // Before a change of `id`.
  void WillChange(NodeId id) {
    if (shapes_ != nullptr) shapes_->WillChange(id);
  }
  Surroundings& Enter();
  std::string FreeName(const std::string& wanted);
  absl::Status UsedBy(NodeId id, NodeId user) const;
  // Runs `change`, which changes inputs of `id` and nothing else, and lets the uses follow.
  template <typename Change>
  auto WithUses(NodeId id, const Change& change);

  Graph& graph_;
  std::vector<Surroundings> scopes_;  // The innermost last; the first one is empty.
  std::unique_ptr<LiveUses> uses_;    // Null: not asked for, or lost when memory ran out.
  int32_t known_ = 0;                 // Nodes below this id are in uses_.
  InferenceOptions inference_;
  std::unique_ptr<LiveShapes> shapes_;  // Null: not asked for.
  // How often a name was asked for: where the search for a free number begins.
  std::unordered_map<std::string, int64_t> asked_;
  absl::Status status_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_EDIT_GRAPH_EDITOR_H_

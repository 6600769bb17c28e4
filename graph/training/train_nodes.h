#ifndef SLUICE_GRAPH_TRAINING_TRAIN_NODES_H_
#define SLUICE_GRAPH_TRAINING_TRAIN_NODES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/edit/graph_editor.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradient_region.h"
#include "graph/ir/graph.h"
#include "graph/training/variable_node.h"

namespace sluice {

// A variable and its gradient. A value type.
struct Trained {
  VariableNode variable;
  Gradient gradient;
  bool has_unique_rows = false;  // Of a sparse gradient: no row is named twice.
};

// One condition: nodes with a control edge from `taken` run if it holds, and are dead otherwise.
struct Branch {
  Output taken, not_taken;
};

// Writes the nodes of a training step: formulas (Expr) through its GradientEmitter; reads, updates, names and control
// edges through its GraphEditor. Both use the scopes of In(). The first error of each stays and is in status(). Borrows
// the graph, whose nodes others add between calls. Not thread-safe.
class TrainNodes {
 public:
  // `name` begins the names of the nodes of In() and Group().
  TrainNodes(Graph& graph, const std::string& name);

  // Ends a scope of In() in its destructor.
  class Scope {
   public:
    Scope(TrainNodes& nodes, absl::string_view part, absl::string_view device);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    GradientEmitter& emitter_;
    GradientEmitter::SavedScope outer_;
    const GraphEditor::Scope name_, device_;
  };
  // Names the nodes added next "NAME/`part`/..." and puts them on `device` (empty: any).
  [[nodiscard]] Scope In(absl::string_view part, absl::string_view device = "") { return Scope(*this, part, device); }
  // The same on the variable's device.
  [[nodiscard]] Scope In(absl::string_view part, const VariableNode& place) {
    return Scope(*this, part, DeviceOf(place));
  }

  const Graph& graph() const { return edit_.graph(); }
  GraphEditor& edit() { return edit_; }
  const std::string& name() const { return name_; }
  // Both are empty if the variable could not be added; the editor's status has the error.
  std::string NameOf(const VariableNode& variable) const {
    return graph().Contains(variable.id()) ? std::string(graph().name(variable.id())) : std::string();
  }
  std::string DeviceOf(const VariableNode& variable) const {
    return graph().Contains(variable.id()) ? std::string(graph().device(variable.id())) : std::string();
  }

  Expr Value(const Output& output) { return emitter_.Value(output); }
  // A scalar. Numbers are rounded to float first, whatever the type: TensorFlow's optimizers keep theirs as floats and
  // cast them to the type of each variable.
  Expr Number(DType type, double value) {
    return emitter_.Scalar(type, static_cast<double>(static_cast<float>(value)));
  }
  Expr ExactNumber(DType type, double value) { return emitter_.Scalar(type, value); }

  // Node "NAME/`part`", or "NAME" for an empty part, which runs after `nodes`.
  NodeId Group(absl::string_view part, absl::Span<const NodeId> nodes);

  // The shape of a variable, a vector of int64.
  Output ShapeOf(const VariableNode& variable);
  // Adds a variable that the step needs, of the kind and at the place of `like`, called `name` where that is free.
  // REQUIRES: no scope of In() is open; the same for its first value.
  VariableNode AddState(const VariableNode& like, const std::string& name, DType dtype, const PartialShape& shape);
  // Its first value, which init gives it: `number` in all elements.
  void BeginWith(const VariableNode& state, const Output& shape, double number);
  void BeginWithScalar(const VariableNode& state, double number);

  Branch If(const Expr& condition);
  // A node that runs after `last`, which runs where the branch is taken, or where it is not taken.
  NodeId Join(const Branch& branch, NodeId last);

  const std::vector<NodeId>& states() const { return states_; }
  const std::vector<NodeId>& inits() const { return inits_; }
  absl::Status status() const { return emitter_.ok() ? edit_.status() : emitter_.status(); }

 private:
  void Begin(const VariableNode& state, const Output& value);

  const std::string name_;
  GraphEditor edit_;
  const GradientRegion nothing_;
  ForwardFacts facts_;
  GradientEmitter emitter_;
  std::vector<NodeId> states_, inits_;
  std::optional<std::set<std::string>> shared_names_;  // Of the graph, once a state was added.
};

// --- Sparse gradients ------------------------------------------------------------------------------------------------
// Adds up rows with equal numbers.
void AddUpRows(TrainNodes& nodes, Trained* trained);
// Replaces the rows by one tensor.
void MakeDense(TrainNodes& nodes, Trained* trained);

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_TRAIN_NODES_H_

#include "graph/passes/unread_values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"
#include "graph/shapes/shape_map.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

// Whether an input from such a node is dead only where the node is, in the same frame.
bool DiesAsAWhole(OpClass of_input) {
  switch (of_input) {
    case OpClass::kOther:
    case OpClass::kConst:
    case OpClass::kForward:
    case OpClass::kArg:
    case OpClass::kMerge:
      return true;
    default:
      return false;
  }
}

// Whether the product's inputs agree: the one thing that MatMul asks for beside two matrices.
bool IsSureProduct(const Graph& graph, const ShapeMap& shapes, NodeId id) {
  const absl::Span<const Output> inputs = graph.inputs(id);
  if (shapes.shape(inputs[0]).rank() != 2 || shapes.shape(inputs[1]).rank() != 2) return false;
  const absl::StatusOr<bool> a = graph.GetBool(id, "transpose_a"), b = graph.GetBool(id, "transpose_b");
  return a.ok() && b.ok() && shapes.HaveSameSize(inputs[0], *a ? 0 : 1, inputs[1], *b ? 1 : 0);
}

// Whether a run that makes the inputs makes the outputs. Where all shapes are known, shape inference has found that
// they agree, contents of shapes included: else it would not know those of the outputs.
bool CannotFail(const Graph& graph, const ShapeMap& shapes, NodeId id) {
  if (graph.Is(id, "MatMul") && IsSureProduct(graph, shapes, id)) return true;
  const auto is_known = [&](const Output& output) { return shapes.shape(output).IsFullyDefined(); };
  for (int32_t i = 0; i < graph.num_outputs(id); ++i) {
    if (!is_known(Output{id, i})) return false;
  }
  const absl::Span<const Output> inputs = graph.inputs(id);
  return std::all_of(inputs.begin(), inputs.end(), is_known);
}

// How often a node is used.
struct UseCounts {
  int32_t data = 0;
  int32_t control = 0;
};

// One run of the pass over one graph. Borrows all it is made of.
class ValueDropper {
 public:
  ValueDropper(GraphEditor& edit, const PassContext& context)
      : edit_(edit), graph_(edit.graph()), context_(context), pure_(graph_, context) {}

  absl::StatusOr<int64_t> Run() {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
    CountUses();
    // Users before what they use: a node may be unread because its reader was.
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      if (!MayGo(*id)) continue;
      SLUICE_ASSIGN_OR_RETURN(const ShapeMap* const shapes, edit_.Shapes());
      if (CannotFail(graph_, *shapes, *id)) SLUICE_RETURN_IF_ERROR(TakeOut(*id));
    }
    if (gone_.empty()) return 0;
    SLUICE_RETURN_IF_ERROR(replacer_.Apply(edit_));
    SLUICE_RETURN_IF_ERROR(edit_.RemoveAll(gone_));
    return static_cast<int64_t>(gone_.size());
  }

 private:
  void CountUses() {
    uses_.resize(static_cast<size_t>(graph_.id_limit()));
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      if (!graph_.Contains(NodeId(i))) continue;
      for (const Output& input : graph_.all_inputs(NodeId(i))) {
        if (input.is_set()) ++(input.is_control() ? uses(input.node).control : uses(input.node).data);
      }
    }
  }

  // As far as can be said without shapes.
  bool MayGo(NodeId id) {
    if (uses(id).data > 0 || uses(id).control == 0 || graph_.all_inputs(id).empty()) return false;
    if (context_.IsKept(id) || !pure_.Contain(id)) return false;
    if (!graph_.op(id).traits.takes_any_value) return false;
    const absl::Span<const Output> inputs = graph_.inputs(id);
    return std::all_of(inputs.begin(), inputs.end(), [this](const Output& input) {
      // Who reads a variable by reference insists on its having a value, which the variable itself does not.
      return input.is_set() && DiesAsAWhole(graph_.op(input.node).op_class) &&
             !IsRef(graph_.output_type(input.node, input.index));
    });
  }

  absl::Status TakeOut(NodeId id) {
    std::vector<NodeId> waited_for;
    for (const Output& input : graph_.all_inputs(id)) waited_for.push_back(input.node);
    std::sort(waited_for.begin(), waited_for.end());
    waited_for.erase(std::unique(waited_for.begin(), waited_for.end()), waited_for.end());
    for (const Output& input : graph_.inputs(id)) --uses(input.node).data;
    for (const NodeId node : waited_for) ++uses(node).control;
    NodeId instead = waited_for[0];
    if (waited_for.size() > 1) {
      NodeSpec spec;
      const std::string name = edit_.UniqueName(absl::StrCat(graph_.name(id), "/unread"));
      const std::string device(graph_.device(id));
      spec.name = name;
      spec.op = "NoOp";
      spec.device = device;
      spec.controls = std::move(waited_for);
      SLUICE_ASSIGN_OR_RETURN(instead, edit_.AddNode(spec));
    }
    replacer_.Replace(Output{id, kControlIndex}, Output{instead, kControlIndex});
    gone_.push_back(id);
    return absl::OkStatus();
  }

  UseCounts& uses(NodeId id) { return uses_[static_cast<size_t>(id.value())]; }

  GraphEditor& edit_;
  const Graph& graph_;
  const PassContext& context_;
  PureNodes pure_;
  std::vector<UseCounts> uses_;  // Of the nodes that there were at first.
  OutputReplacer replacer_;
  std::vector<NodeId> gone_;
};

}  // namespace

absl::StatusOr<int64_t> UnreadValuesPass::Run(GraphEditor& edit, const PassContext& context) const {
  return ValueDropper(edit, context).Run();
}

}  // namespace sluice

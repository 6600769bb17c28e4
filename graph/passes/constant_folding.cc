#include "graph/passes/constant_folding.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

// Control inputs that a new constant takes over from one that it replaces. Of a constant with more it waits for that
// constant instead: chains and fans of folded nodes would else copy ever longer lists.
constexpr size_t kMaxTakenControls = 4;

// One run over one graph.
class Folder {
 public:
  Folder(Graph& graph, const ConstantEvaluator& evaluator, size_t max_output_bytes)
      : graph_(graph), evaluator_(evaluator), max_output_bytes_(max_output_bytes), const_op_(graph.FindOp("Const")) {}

  absl::StatusOr<int64_t> Run() {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) SLUICE_RETURN_IF_ERROR(Visit(id));
    SLUICE_RETURN_IF_ERROR(replacer_.Apply(graph_));
    for (NodeId id : folded_) graph_.RemoveNode(id);
    return static_cast<int64_t>(folded_.size());
  }

 private:
  bool IsConst(NodeId id) const { return &graph_.op(id) == const_op_; }

  absl::Status Visit(NodeId id) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    if (inputs.empty() || graph_.num_outputs(id) == 0 || !IsPure(graph_, id)) return absl::OkStatus();
    const bool constant = std::all_of(inputs.begin(), inputs.end(), [&](const Output& input) {
      return input.is_set() && IsConst(replacer_.Resolve(input).node);
    });
    if (!constant) return absl::OkStatus();
    std::vector<Tensor> values;
    for (const Output& input : inputs) {
      const absl::StatusOr<Tensor> value = ValueOf(replacer_.Resolve(input).node);
      if (!value.ok()) return absl::OkStatus();
      values.push_back(*value);
    }
    const absl::StatusOr<std::vector<Tensor>> outputs = evaluator_.Evaluate(graph_, id, values);
    return outputs.ok() && Fits(id, *outputs) ? Replace(id, *outputs) : absl::OkStatus();
  }

  // The value of a Const, decoded once.
  absl::StatusOr<Tensor> ValueOf(NodeId id) {
    const auto known = values_.find(id);
    if (known != values_.end()) return known->second;
    SLUICE_ASSIGN_OR_RETURN(const AttrView attr, graph_.GetAttr(id, "value"));
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, attr.AsTensorBytes());
    SLUICE_ASSIGN_OR_RETURN(Tensor value, DecodeTensorProto(bytes));
    values_.emplace(id, value);
    return value;
  }

  // Whether the evaluator gave what the node declares, of bearable size and storable.
  bool Fits(NodeId id, const std::vector<Tensor>& outputs) const {
    size_t bytes = 0;
    if (outputs.size() != static_cast<size_t>(graph_.num_outputs(id))) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const DType type = outputs[i].dtype();
      if (type != graph_.output_type(id, static_cast<int32_t>(i)) || type == DType::kVariant) return false;
      bytes += outputs[i].total_bytes();
    }
    return bytes <= max_output_bytes_;
  }

  // What the constants that replace `id` wait for, so that they wait for all that the node and its inputs did.
  std::vector<NodeId> ControlsFor(NodeId id) const {
    std::vector<NodeId> controls;
    const auto add_controls = [&](NodeId from) {
      for (const Output& control : graph_.controls(from)) controls.push_back(replacer_.Resolve(control).node);
    };
    add_controls(id);
    for (const Output& input : graph_.inputs(id)) {
      const NodeId constant = replacer_.Resolve(input).node;
      if (graph_.controls(constant).size() > kMaxTakenControls) {
        controls.push_back(constant);
      } else {
        add_controls(constant);
      }
    }
    return controls;
  }

  absl::Status Replace(NodeId id, const std::vector<Tensor>& outputs) {
    std::vector<NodeId> controls = ControlsFor(id);
    const std::string name(graph_.name(id));
    if (outputs.size() == 1) SLUICE_RETURN_IF_ERROR(graph_.Rename(id, graph_.UniqueName(absl::StrCat(name, "/old"))));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string own = outputs.size() == 1 ? name : graph_.UniqueName(absl::StrCat(name, "/folded_", i));
      NodeSpec spec;
      spec.name = own;
      spec.op = "Const";
      spec.controls = controls;
      spec.attrs = {{"dtype", outputs[i].dtype()}, {"value", outputs[i]}};
      const std::string device(graph_.device(id));
      spec.device = device;
      SLUICE_ASSIGN_OR_RETURN(const NodeId added, graph_.AddNode(spec));
      values_.emplace(added, outputs[i]);
      replacer_.Replace(Output{id, static_cast<int32_t>(i)}, Output{added, 0});
      if (i == 0) replacer_.Replace(Output{id, kControlIndex}, Output{added, kControlIndex});
      if (i == 0 && controls.size() > kMaxTakenControls) controls = {added};  // The others wait for the first.
    }
    folded_.push_back(id);
    return absl::OkStatus();
  }

  Graph& graph_;
  const ConstantEvaluator& evaluator_;
  const size_t max_output_bytes_;
  const OpSchema* const const_op_;
  OutputReplacer replacer_;
  absl::flat_hash_map<NodeId, Tensor> values_;
  std::vector<NodeId> folded_;
};

}  // namespace

absl::StatusOr<int64_t> ConstantFoldingPass::Run(Graph& graph) const {
  return Folder(graph, evaluator_, options_.max_output_bytes).Run();
}

}  // namespace sluice

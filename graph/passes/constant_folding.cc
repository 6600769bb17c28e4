#include "graph/passes/constant_folding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

// Control inputs that a new constant takes over from one that it replaces. Of a constant with more it waits for that
// constant instead: chains and fans of folded nodes would else copy ever longer lists.
constexpr size_t kMaxTakenControls = 4;

// An attr has less than 4 GiB, and a file less than two.
constexpr int64_t kMaxAttrBytes = int64_t{1} << 30;

// A constant that is found through a longer chain of nodes that hand it on is not seen at the first look.
constexpr int kMaxHops = 8;

// One run over one graph.
class Folder {
 public:
  Folder(GraphEditor& edit, const PassContext& context, const ConstantFoldingOptions& options)
      : edit_(edit),
        graph_(edit.graph()),
        context_(context),
        options_(options),
        const_op_(graph_.FindOp("Const")),
        pure_(graph_, context) {}

  absl::StatusOr<int64_t> Run() {
    SLUICE_ASSIGN_OR_RETURN(const bool has_work, HasWork());
    if (!has_work) return 0;
    const absl::Time end = absl::Now() + options_.max_time;
    SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      const int64_t evaluated = num_evaluated_;
      SLUICE_RETURN_IF_ERROR(Visit(id));
      if (num_evaluated_ != evaluated && absl::Now() > end) break;
    }
    SLUICE_RETURN_IF_ERROR(replacer_.Apply(edit_));
    SLUICE_RETURN_IF_ERROR(edit_.RemoveAll(folded_));
    return static_cast<int64_t>(folded_.size());
  }

 private:
  // A node that gives the value of a Const: itself, or what hands it on.
  struct Known {
    NodeId constant;
    bool waits = false;  // For something, on the way from the Const here.
  };

  bool IsConst(NodeId id) { return &graph_.op(id) == const_op_ && pure_.Contain(id); }
  // Whether the node hands its only input on, and does nothing else.
  bool HandsOn(NodeId id) {
    return graph_.op(id).op_class == OpClass::kForward && graph_.inputs(id).size() == 1 && pure_.Contain(id);
  }
  // Whether the node may be replaced, whatever its inputs.
  bool MayFold(NodeId id) {
    return !graph_.inputs(id).empty() && graph_.num_outputs(id) > 0 && graph_.op(id).op_class != OpClass::kForward &&
           pure_.Contain(id) && !context_.IsKept(id);
  }

  // Whether any node has constants for all its inputs.
  absl::StatusOr<bool> HasWork() {
    const auto is_constant = [this](const Output& input) {
      NodeId id = input.node;
      for (int hops = 0; graph_.Contains(id); ++hops) {
        if (IsConst(id)) return true;
        if (hops == kMaxHops || !HandsOn(id)) return false;
        id = graph_.inputs(id)[0].node;
      }
      return false;
    };
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      const NodeId id(i);
      if (!graph_.Contains(id)) continue;
      const absl::Span<const Output> inputs = graph_.inputs(id);
      if (inputs.empty() || !is_constant(inputs[0]) || !MayFold(id)) continue;
      if (std::all_of(inputs.begin(), inputs.end(), is_constant)) return true;
    }
    return false;
  }

  // The known facts of an input, after the replacements so far.
  const Known* Find(const Output& input) const {
    if (!input.is_set()) return nullptr;
    const auto found = known_.find(replacer_.Resolve(input).node);
    return found == known_.end() ? nullptr : &found->second;
  }

  absl::Status Visit(NodeId id) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    if (IsConst(id)) {
      known_[id] = {id, false};
      return absl::OkStatus();
    }
    if (inputs.empty() || Find(inputs[0]) == nullptr) return absl::OkStatus();
    if (HandsOn(id)) {
      const Known of = *Find(inputs[0]);
      known_[id] = {of.constant, of.waits || !graph_.controls(id).empty() || !graph_.controls(of.constant).empty()};
      return absl::OkStatus();
    }
    const auto is_known = [this](const Output& input) { return Find(input) != nullptr; };
    if (!MayFold(id) || !std::all_of(inputs.begin(), inputs.end(), is_known)) return absl::OkStatus();
    std::vector<Tensor> values;
    int64_t bytes = 0;
    for (const Output& input : inputs) {
      const absl::StatusOr<Tensor> value = ValueOf(Find(input)->constant);
      if (!value.ok()) return absl::OkStatus();
      bytes += static_cast<int64_t>(value->total_bytes());
      values.push_back(*value);
    }
    if (bytes > options_.max_input_bytes) return absl::OkStatus();
    ++num_evaluated_;
    const absl::StatusOr<std::vector<Tensor>> outputs = context_.evaluator->Evaluate(graph_, id, values);
    return outputs.ok() && Fits(id, *outputs) ? Replace(id, *outputs) : absl::OkStatus();
  }

  // The value of a Const, decoded once. An error where it is too large.
  absl::StatusOr<Tensor> ValueOf(NodeId id) {
    const auto known = values_.find(id);
    if (known != values_.end()) return known->second;
    SLUICE_ASSIGN_OR_RETURN(const AttrView attr, graph_.GetAttr(id, "value"));
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, attr.AsTensorBytes());
    SLUICE_ASSIGN_OR_RETURN(const TensorProtoInfo info, InspectTensorProto(bytes));
    if (info.memory_bytes > options_.max_input_bytes) return absl::ResourceExhaustedError("too large");
    if (info.dtype != graph_.output_type(id, 0)) return absl::InvalidArgumentError("not what attr 'dtype' says");
    DecodeTensorOptions decoding;
    decoding.owner = graph_.SourceOwner(bytes);
    SLUICE_ASSIGN_OR_RETURN(Tensor value, DecodeTensorProto(bytes, decoding));
    values_.emplace(id, value);
    return value;
  }

  // Whether the evaluator gave what the node declares, of bearable size and storable.
  bool Fits(NodeId id, const std::vector<Tensor>& outputs) {
    int64_t bytes = 0;
    if (outputs.size() != static_cast<size_t>(graph_.num_outputs(id))) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const DType type = outputs[i].dtype();
      if (type != graph_.output_type(id, static_cast<int32_t>(i)) || type == DType::kVariant) return false;
      bytes += static_cast<int64_t>(outputs[i].total_bytes());
    }
    if (bytes > std::min(options_.max_output_bytes, kMaxAttrBytes) || total_bytes_ + bytes > options_.max_total_bytes)
      return false;
    total_bytes_ += bytes;
    return true;
  }

  // What the constants that replace `id` wait for, so that they wait for all that the node and its inputs did.
  std::vector<NodeId> ControlsFor(NodeId id) const {
    std::vector<NodeId> controls;
    const auto add_controls = [&](NodeId from) {
      for (const Output& control : graph_.controls(from)) controls.push_back(replacer_.Resolve(control).node);
    };
    add_controls(id);
    for (const Output& input : graph_.inputs(id)) {
      const NodeId source = replacer_.Resolve(input).node;
      const Known& known = known_.at(source);
      const bool is_constant = known.constant == source;
      if (is_constant ? graph_.controls(source).size() > kMaxTakenControls : known.waits) {
        controls.push_back(source);
      } else if (is_constant) {
        add_controls(source);
      }
    }
    return controls;
  }

  absl::Status Replace(NodeId id, const std::vector<Tensor>& outputs) {
    std::vector<NodeId> controls = ControlsFor(id);
    const std::string name(graph_.name(id));
    if (outputs.size() == 1) SLUICE_RETURN_IF_ERROR(edit_.Rename(id, edit_.UniqueName(absl::StrCat(name, "/old"))));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string own = outputs.size() == 1 ? name : edit_.UniqueName(absl::StrCat(name, "/folded_", i));
      NodeSpec spec;
      spec.name = own;
      spec.op = "Const";
      spec.controls = controls;
      spec.attrs = {{"dtype", outputs[i].dtype()}, {"value", outputs[i]}};
      const std::string device(graph_.device(id));
      spec.device = device;
      SLUICE_ASSIGN_OR_RETURN(const NodeId added, edit_.AddNode(spec));
      values_.emplace(added, outputs[i]);
      known_[added] = {added, false};
      replacer_.Replace(Output{id, static_cast<int32_t>(i)}, Output{added, 0});
      if (i == 0) replacer_.Replace(Output{id, kControlIndex}, Output{added, kControlIndex});
      if (i == 0 && controls.size() > kMaxTakenControls) controls = {added};  // The others wait for the first.
    }
    folded_.push_back(id);
    return absl::OkStatus();
  }

  GraphEditor& edit_;
  const Graph& graph_;
  const PassContext& context_;
  const ConstantFoldingOptions& options_;
  const OpSchema* const const_op_;
  PureNodes pure_;
  OutputReplacer replacer_;
  HashMap<NodeId, Known> known_;
  HashMap<NodeId, Tensor> values_;  // Of Consts.
  int64_t num_evaluated_ = 0;
  int64_t total_bytes_ = 0;  // Of new constants.
  std::vector<NodeId> folded_;
};

}  // namespace

absl::StatusOr<int64_t> ConstantFoldingPass::Run(GraphEditor& edit, const PassContext& context) const {
  return context.evaluator == nullptr ? 0 : Folder(edit, context, options_).Run();
}

}  // namespace sluice

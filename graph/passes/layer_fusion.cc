#include "graph/passes/layer_fusion.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/device_name.h"
#include "graph/base/status_macros.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"
#include "graph/shapes/shape_map.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

constexpr int32_t kNone = -1;
// How far back, and how widely, IsAtHand looks.
constexpr int kMaxDepth = 8;
constexpr size_t kMaxFanIn = 4;

// A product, its fused form, the attrs that both have, and where the channels stand in the second input.
struct ProductOp {
  absl::string_view op;
  absl::string_view fused;
  absl::Span<const absl::string_view> attrs;
  bool is_convolution;
};

constexpr absl::string_view kMatMulAttrs[] = {"transpose_a", "transpose_b"};
constexpr absl::string_view kConvAttrs[] = {"strides",     "padding",   "explicit_paddings",
                                            "data_format", "dilations", "use_cudnn_on_gpu"};
constexpr absl::string_view kDepthwiseAttrs[] = {"strides", "padding", "data_format", "dilations"};

constexpr ProductOp kProducts[] = {
    {"MatMul", "_FusedMatMul", kMatMulAttrs, false},
    {"Conv2D", "_FusedConv2D", kConvAttrs, true},
    {"DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", kDepthwiseAttrs, true},
};

// The parts of a fused node.
struct Layer {
  const ProductOp* form = nullptr;
  NodeId product;
  NodeId sum;         // BiasAdd or a FusedBatchNorm.
  NodeId activation;  // Invalid: none.

  NodeId last() const { return activation.valid() ? activation : sum; }
};

bool IsNorm(const Graph& graph, NodeId id) {
  return graph.Is(id, "FusedBatchNormV3") || graph.Is(id, "FusedBatchNorm") || graph.Is(id, "FusedBatchNormV2");
}

bool IsText(const Graph& graph, NodeId id, absl::string_view attr, absl::string_view wanted) {
  const absl::StatusOr<absl::string_view> text = graph.GetString(id, attr);
  return text.ok() && *text == wanted;
}

// One run over one graph. Borrows all it is made of.
class LayerFuser {
 public:
  LayerFuser(GraphEditor& edit, const PassContext& context)
      : edit_(edit), graph_(edit.graph()), context_(context), pure_(graph_, context) {}

  absl::StatusOr<int64_t> Run() {
    CountUses();
    // All layers before the first change, which would have shapes inferred again: no node is part of two.
    std::vector<Layer> layers;
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      Layer layer;
      if (!graph_.Contains(NodeId(i)) || !FindLayer(NodeId(i), &layer)) continue;
      SLUICE_ASSIGN_OR_RETURN(const bool agrees, ChannelsAgree(layer));
      if (agrees) layers.push_back(layer);
    }
    std::vector<std::pair<NodeId, std::string>> fused;
    for (const Layer& layer : layers) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      SLUICE_ASSIGN_OR_RETURN(const NodeId made, Fuse(layer));
      if (made.valid()) fused.emplace_back(made, graph_.name(layer.product));
    }
    if (fused.empty()) return 0;
    SLUICE_RETURN_IF_ERROR(replacer_.Apply(edit_));
    SLUICE_RETURN_IF_ERROR(edit_.RemoveAll(gone_));
    for (const auto& [made, name] : fused) SLUICE_RETURN_IF_ERROR(edit_.Rename(made, name));
    return static_cast<int64_t>(fused.size());
  }

 private:
  void CountUses() {
    uses_.resize(static_cast<size_t>(graph_.id_limit()));
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      if (!graph_.Contains(NodeId(i))) continue;
      for (const Output& input : graph_.all_inputs(NodeId(i))) {
        if (input.is_set()) ++uses_[static_cast<size_t>(input.node.value())];
      }
    }
  }
  int32_t NumUses(NodeId id) const { return uses_[static_cast<size_t>(id.value())]; }

  // The layer whose sum `sum` is, as far as can be said without shapes.
  bool FindLayer(NodeId sum, Layer* layer) {
    const bool is_norm = IsNorm(graph_, sum);
    if ((!is_norm && !graph_.Is(sum, "BiasAdd")) || !IsOfFloats(sum) || !graph_.inputs(sum)[0].is_set()) return false;
    const Output from = graph_.inputs(sum)[0];
    layer->sum = sum;
    layer->product = from.node;
    for (const ProductOp& form : kProducts) {
      if (graph_.Is(from.node, form.op)) layer->form = &form;
    }
    if (layer->form == nullptr || !IsOfFloats(from.node) || !IsPart(sum, from.node)) return false;
    if (HasLabel(sum) || HasLabel(from.node)) return false;
    if (!IsText(graph_, sum, "data_format", "NHWC") || (is_norm && !IsGivenNorm(*layer))) return false;
    if (layer->form->is_convolution && !IsServed(from.node)) return false;
    layer->activation = ActivationOf(sum);
    if (context_.IsKept(layer->last()) || NumUses(layer->last()) == 0 || ReadsMore(layer->last())) return false;
    return pure_.Contain(sum) && pure_.Contain(from.node) && IsOnCpu(from.node) && NeedsNothingMore(*layer);
  }

  // Whether what the sum and the activation take beside the product is there when the product's own inputs are: else
  // the product would wait for more than the user's, and its error, or its not being dead, would come late or never.
  bool NeedsNothingMore(const Layer& layer) {
    for (const NodeId part : {layer.sum, layer.activation}) {
      if (!part.valid()) continue;
      for (const Output& input : graph_.all_inputs(part)) {
        if (input.node == layer.product || input.node == layer.sum) continue;
        if (!input.is_set() || !(IsWaitedFor(layer.product, input) || IsAtHand(input, 0))) return false;
      }
    }
    return true;
  }
  bool IsWaitedFor(NodeId product, const Output& input) const {
    const absl::Span<const Output> inputs = graph_.all_inputs(product);
    return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
  }
  // Whether `output` is there from the start of the run or function, and never dead: constants, arguments, plain reads,
  // and what hands them on, in a loop, too. A reference is not: what reads it may fail.
  bool IsAtHand(const Output& output, int depth) {
    if (!output.is_set() || depth > kMaxDepth) return false;
    const NodeId id = output.node;
    const absl::Span<const Output> inputs = graph_.all_inputs(id);
    if (inputs.size() > kMaxFanIn) return false;
    if (depth == 0 && !output.is_control() && IsRef(graph_.output_type(id, output.index))) return false;
    const OpClass op_class = graph_.op(id).op_class;
    const bool hands_on = op_class == OpClass::kForward || op_class == OpClass::kNoOp ||
                          graph_.Is(id, "ReadVariableOp") || IsLoopConstant(id);
    if (!hands_on && !IsSource(id)) return false;
    return std::all_of(inputs.begin(), inputs.end(), [&](const Output& input) { return IsAtHand(input, depth + 1); });
  }
  bool IsLoopConstant(NodeId id) const {
    return graph_.op(id).op_class == OpClass::kEnter && graph_.GetBool(id, "is_constant").value_or(false);
  }
  bool IsSource(NodeId id) const {
    const OpClass op_class = graph_.op(id).op_class;
    const OpTraits& traits = graph_.op(id).traits;
    return op_class == OpClass::kConst || op_class == OpClass::kArg || traits.is_placeholder || traits.makes_variable;
  }

  bool IsOfFloats(NodeId id) const {
    const absl::StatusOr<DType> type = graph_.GetType(id, "T");
    return type.ok() && *type == DType::kFloat;
  }
  // Whether only `user`, which stands on the same device, reads output 0 of `part`, and nobody anything else of it.
  bool IsPart(NodeId user, NodeId part) {
    return !context_.IsKept(part) && graph_.device(part) == graph_.device(user) && NumUses(part) == 1 &&
           graph_.inputs(user)[0] == Output{part, 0};
  }
  // Whether other outputs than the first (a norm's statistics) are read.
  bool ReadsMore(NodeId id) {
    const std::vector<Use> uses = edit_.UsesOf(id);
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.slot > 0; });
  }
  bool IsGivenNorm(const Layer& layer) const {
    const absl::StatusOr<bool> is_training = graph_.GetBool(layer.sum, "is_training");
    return layer.form->is_convolution && is_training.ok() && !*is_training &&
           std::all_of(graph_.inputs(layer.sum).begin(), graph_.inputs(layer.sum).end(),
                       [](const Output& input) { return input.is_set(); });
  }
  // Whether the fused op has all attrs that count, also those that the kernel would refuse.
  bool IsServed(NodeId convolution) const {
    if (!IsText(graph_, convolution, "data_format", "NHWC")) return false;
    if (graph_.Is(convolution, "Conv2D")) return true;
    AttrView value;
    const bool has_paddings = graph_.FindAttr(convolution, "explicit_paddings", &value) &&
                              !value.AsIntList().value_or(std::vector<int64_t>(1)).empty();
    return !IsText(graph_, convolution, "padding", "EXPLICIT") && !has_paddings;
  }
  // Whether the user has chosen the kernel.
  bool HasLabel(NodeId id) const {
    AttrView label;
    return graph_.FindAttr(id, "_kernel", &label);
  }
  // Whether the device is, or can only be, a CPU.
  bool IsOnCpu(NodeId id) const {
    DeviceName device;
    if (graph_.device(id).empty()) return true;
    return ParseDeviceName(graph_.device(id), &device) && device.type == "CPU";
  }

  NodeId ActivationOf(NodeId sum) {
    if (NumUses(sum) != 1) return NodeId();
    const NodeId user = edit_.UsesOf(sum)[0].node;
    const bool is_activation = graph_.op(user).traits.is_activation;
    const bool is_part = is_activation && !context_.IsKept(user) && IsPart(user, sum) && NumUses(user) > 0;
    return is_part && pure_.Contain(user) && !HasLabel(user) ? user : NodeId();
  }

  // Whether shapes say that there is a number for each channel made.
  absl::StatusOr<bool> ChannelsAgree(const Layer& layer) {
    SLUICE_ASSIGN_OR_RETURN(const ShapeMap* const shapes, edit_.Shapes());
    const int64_t channels = ChannelsOf(layer, *shapes);
    if (channels == kNone) return false;
    for (size_t i = 1; i < graph_.inputs(layer.sum).size(); ++i) {
      const PartialShape& shape = shapes->shape(graph_.inputs(layer.sum)[i]);
      if (shape.rank() != 1 || shape.dim(0) != channels) return false;
    }
    return true;
  }
  // Of the product's result, or kNone.
  int64_t ChannelsOf(const Layer& layer, const ShapeMap& shapes) const {
    const PartialShape& second = shapes.shape(graph_.inputs(layer.product)[1]);
    if (!layer.form->is_convolution) {
      const absl::StatusOr<bool> is_transposed = graph_.GetBool(layer.product, "transpose_b");
      return is_transposed.ok() && second.rank() == 2 ? second.dim(*is_transposed ? 0 : 1) : kNone;
    }
    if (second.rank() != 4 || second.dim(2) < 0 || second.dim(3) < 0) return kNone;
    return graph_.Is(layer.product, "Conv2D") ? second.dim(3) : second.dim(2) * second.dim(3);
  }

  // Adds the fused node, and says what goes. Invalid: there is no kernel for it, and the graph is as it was.
  absl::StatusOr<NodeId> Fuse(const Layer& layer) {
    const std::string name = edit_.UniqueName(absl::StrCat(graph_.name(layer.product), "/fused"));
    const std::string device(graph_.device(layer.product));
    const absl::Span<const Output> first = graph_.inputs(layer.product), more = graph_.inputs(layer.sum);
    NodeSpec spec;
    spec.name = name;
    spec.op = layer.form->fused;
    spec.device = device;
    spec.inputs.assign(first.begin(), first.end());
    spec.inputs.insert(spec.inputs.end(), more.begin() + 1, more.end());
    for (const NodeId part : {layer.product, layer.sum, layer.activation}) {
      if (!part.valid()) continue;
      for (const Output& control : graph_.controls(part)) spec.controls.push_back(control.node);
    }
    spec.attrs = AttrsOf(layer);
    spec.source = graph_.source_bytes(layer.product);
    SLUICE_ASSIGN_OR_RETURN(const NodeId made, edit_.AddNode(spec));
    if (context_.catalog == nullptr || !context_.catalog->HasKernel(graph_, made, "CPU")) {
      SLUICE_RETURN_IF_ERROR(edit_.Remove(made));
      return NodeId();
    }
    replacer_.Replace(Output{layer.last(), 0}, Output{made, 0});
    replacer_.Replace(Output{layer.last(), kControlIndex}, Output{made, kControlIndex});
    for (const NodeId part : {layer.product, layer.sum, layer.activation}) {
      if (part.valid()) gone_.push_back(part);
    }
    return made;
  }

  AttrList AttrsOf(const Layer& layer) const {
    AttrList attrs = FusedMarks(graph_, layer.product, layer.last());
    attrs.emplace_back("T", DType::kFloat);
    graph_.ForEachAttr(layer.product, [&](absl::string_view name, absl::string_view bytes) {
      const absl::Span<const absl::string_view> taken = layer.form->attrs;
      if (std::find(taken.begin(), taken.end(), name) == taken.end()) return;
      attrs.emplace_back(std::string(name), AttrValue::FromBytes(bytes));
    });
    const bool is_norm = IsNorm(graph_, layer.sum);
    std::vector<std::string> ops = {is_norm ? "FusedBatchNorm" : "BiasAdd"};
    if (is_norm) attrs.emplace_back("epsilon", graph_.GetFloat(layer.sum, "epsilon").value_or(0));
    if (layer.activation.valid()) {
      ops.emplace_back(graph_.op_name(layer.activation));
      if (graph_.Is(layer.activation, "LeakyRelu")) {
        attrs.emplace_back("leakyrelu_alpha", graph_.GetFloat(layer.activation, "alpha").value_or(0));
      }
    }
    const auto num_args = static_cast<int64_t>(graph_.inputs(layer.sum).size()) - 1;
    attrs.emplace_back("fused_ops", std::move(ops));
    attrs.emplace_back("num_args", num_args);
    if (graph_.Is(layer.product, "Conv2D")) {
      attrs.emplace_back("TArgs", std::vector<DType>(static_cast<size_t>(num_args), DType::kFloat));
      attrs.emplace_back("num_host_args", 0);
    }
    return attrs;
  }

  GraphEditor& edit_;
  const Graph& graph_;
  const PassContext& context_;
  PureNodes pure_;
  std::vector<int32_t> uses_;  // Of the nodes that there were at first, data and control.
  OutputReplacer replacer_;
  std::vector<NodeId> gone_;
};

}  // namespace

absl::StatusOr<int64_t> LayerFusionPass::Run(GraphEditor& edit, const PassContext& context) const {
  if (context.catalog == nullptr) return 0;
  return LayerFuser(edit, context).Run();
}

}  // namespace sluice

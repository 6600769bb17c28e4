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
#include "graph/passes/node_traits.h"
#include "graph/shapes/shape_map.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

constexpr int32_t kNone = -1;

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

// Whose loops over floats are those of the ops of these names.
constexpr absl::string_view kActivations[] = {"Elu", "LeakyRelu", "Relu", "Relu6", "Sigmoid", "Tanh"};

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
    int64_t fused = 0;
    const int32_t limit = graph_.id_limit();
    for (int32_t i = 0; i < limit; ++i) {
      SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
      Layer layer;
      if (!graph_.Contains(NodeId(i)) || !FindLayer(NodeId(i), &layer)) continue;
      SLUICE_ASSIGN_OR_RETURN(const bool agrees, ChannelsAgree(layer));
      if (!agrees) continue;
      SLUICE_ASSIGN_OR_RETURN(const bool is_fused, Fuse(layer));
      fused += is_fused ? 1 : 0;
    }
    return fused;
  }

 private:
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
    if (!IsText(graph_, sum, "data_format", "NHWC") || (is_norm && !IsGivenNorm(*layer))) return false;
    if (layer->form->is_convolution && !IsServed(from.node)) return false;
    layer->activation = ActivationOf(sum);
    if (context_.IsKept(layer->last()) || !edit_.IsUsed(layer->last()) || ReadsMore(layer->last())) return false;
    return pure_.Contain(sum) && pure_.Contain(from.node) && IsOnCpu(from.node);
  }

  bool IsOfFloats(NodeId id) const {
    const absl::StatusOr<DType> type = graph_.GetType(id, "T");
    return type.ok() && *type == DType::kFloat;
  }
  // Whether only `user`, which stands on the same device, reads output 0 of `part`, and nobody anything else of it.
  bool IsPart(NodeId user, NodeId part) {
    if (context_.IsKept(part) || graph_.device(part) != graph_.device(user)) return false;
    const std::vector<Use> uses = edit_.UsesOf(part);
    return uses.size() == 1 && uses[0].node == user && uses[0].input == 0 && uses[0].slot == 0;
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
  // Whether the fused op has all attrs that count.
  bool IsServed(NodeId convolution) const {
    return IsText(graph_, convolution, "data_format", "NHWC") &&
           (graph_.Is(convolution, "Conv2D") || !IsText(graph_, convolution, "padding", "EXPLICIT"));
  }
  // Whether the device is, or can only be, a CPU.
  bool IsOnCpu(NodeId id) const {
    DeviceName device;
    if (graph_.device(id).empty()) return true;
    return ParseDeviceName(graph_.device(id), &device) && device.type == "CPU";
  }

  NodeId ActivationOf(NodeId sum) {
    const std::vector<Use> uses = edit_.UsesOf(sum);
    if (uses.size() != 1 || uses[0].input != 0) return NodeId();
    const NodeId user = uses[0].node;
    const bool is_activation = std::any_of(std::begin(kActivations), std::end(kActivations),
                                           [&](absl::string_view op) { return graph_.Is(user, op); });
    const bool is_part = is_activation && !context_.IsKept(user) && IsPart(user, sum) && edit_.IsUsed(user);
    return is_part && pure_.Contain(user) ? user : NodeId();
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

  // False: there is no kernel for it, and the graph is as it was.
  absl::StatusOr<bool> Fuse(const Layer& layer) {
    std::vector<Output> inputs(graph_.inputs(layer.product).begin(), graph_.inputs(layer.product).end());
    const absl::Span<const Output> more = graph_.inputs(layer.sum);
    inputs.insert(inputs.end(), more.begin() + 1, more.end());
    for (const NodeId part : {layer.product, layer.sum, layer.activation}) {
      if (!part.valid()) continue;
      for (const Output& control : graph_.controls(part)) inputs.push_back(control);
    }
    const std::string name(graph_.name(layer.product));
    const GraphEditor::Scope place = edit_.OnDevice(graph_.device(layer.product));
    const Output made = edit_.Add(layer.form->fused, absl::StrCat(name, "/fused"), inputs, AttrsOf(layer));
    SLUICE_RETURN_IF_ERROR(edit_.status());
    if (context_.catalog == nullptr || !context_.catalog->HasKernel(graph_, made.node, "CPU")) {
      SLUICE_RETURN_IF_ERROR(edit_.Remove(made.node));
      return false;
    }
    const NodeId last = layer.last();
    SLUICE_RETURN_IF_ERROR(edit_.ReplaceUses(Output{last, 0}, made));
    SLUICE_RETURN_IF_ERROR(edit_.ReplaceUses(Output{last, kControlIndex}, Output{made.node, kControlIndex}));
    if (layer.activation.valid()) SLUICE_RETURN_IF_ERROR(edit_.Remove(layer.activation));
    SLUICE_RETURN_IF_ERROR(edit_.Remove(layer.sum));
    SLUICE_RETURN_IF_ERROR(edit_.Remove(layer.product));
    SLUICE_RETURN_IF_ERROR(edit_.Rename(made.node, name));
    return true;
  }

  AttrList AttrsOf(const Layer& layer) const {
    AttrList attrs;
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
};

}  // namespace

absl::StatusOr<int64_t> LayerFusionPass::Run(GraphEditor& edit, const PassContext& context) const {
  if (context.catalog == nullptr) return 0;
  return LayerFuser(edit, context).Run();
}

}  // namespace sluice

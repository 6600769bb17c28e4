#include "graph/gradients/body_gradient.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/functions/graph_to_function.h"

namespace sluice {
namespace {

// Makes one gradient function. Lives for one call.
class FunctionMaker {
 public:
  FunctionMaker(FunctionGraph forward, const BodyGradientSpec& spec, const GradientOptions& options)
      : forward_(std::move(forward)), graph_(forward_.graph), spec_(spec), options_(options) {}

  absl::StatusOr<BodyGradient> Make(FunctionLibrary* library) {
    for (const NodeId id : forward_.args) written_.args.push_back({id, 0});
    SLUICE_RETURN_IF_ERROR(AddDys());
    args_ = forward_.args;
    if (spec_.waits) SLUICE_RETURN_IF_ERROR(HoldArgs());
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Gradient> dxs, Differentiate());
    for (size_t i = 0; i < args_.size(); ++i) SLUICE_RETURN_IF_ERROR(AddPart(i, dxs[i]));
    // The functions that it calls, gradients of calls among them, are made in the copy.
    for (const std::string& name : graph_.library().Names()) {
      if (!library->Contains(name)) SLUICE_RETURN_IF_ERROR(library->Add(graph_.library().Find(name)));
    }
    made_.name = library->UniqueName(spec_.name);
    written_.name = made_.name;
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const FunctionDefinition> function, GraphToFunction(graph_, written_));
    SLUICE_RETURN_IF_ERROR(library->Add(std::move(function)));
    return std::move(made_);
  }

 private:
  absl::StatusOr<NodeId> AddNode(absl::string_view name, absl::string_view op, std::vector<Output> inputs,
                                 std::vector<std::pair<std::string, AttrValue>> attrs) {
    NodeSpec spec;
    const std::string unique = graph_.UniqueName(name);
    spec.name = unique;
    spec.op = op;
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    return graph_.AddNode(spec);
  }

  absl::Status AddDys() {
    dys_.assign(forward_.results.size(), kNoOutput);
    for (size_t i = 0; i < forward_.results.size(); ++i) {
      if (!spec_.has_dy[i]) continue;
      const int index = static_cast<int>(written_.args.size());
      SLUICE_ASSIGN_OR_RETURN(const NodeId dy,
                              AddNode(absl::StrCat("dy_", i), "_Arg", {},
                                      {{"T", BaseType(forward_.signature.outputs[i])}, {"index", index}}));
      dys_[i] = {dy, 0};
      written_.args.push_back(dys_[i]);
    }
    return absl::OkStatus();
  }

  // Adds an Identity after each argument, which waits for the dys.
  absl::Status HoldArgs() {
    for (NodeId& arg : args_) {
      const DType type = BaseType(graph_.output_type(arg, 0));
      SLUICE_ASSIGN_OR_RETURN(const NodeId held,
                              AddNode(absl::StrCat("held/", graph_.name(arg)), "Identity", {{arg, 0}}, {{"T", type}}));
      for (const Output& dy : dys_) {
        if (dy.is_set()) SLUICE_RETURN_IF_ERROR(graph_.AddControl(held, dy.node));
      }
      arg = held;
    }
    return TurnUses(graph_, forward_.args, args_, args_);
  }

  absl::StatusOr<std::vector<Gradient>> Differentiate() {
    std::vector<Output> ys, xs;
    GradientOptions options = options_;
    options.grad_ys.clear();
    options.stop.clear();
    options.unconnected = GradientOptions::Unconnected::kNone;
    for (size_t i = 0; i < dys_.size(); ++i) {
      if (!dys_[i].is_set()) continue;
      ys.push_back(graph_.inputs(forward_.results[i])[0]);
      options.grad_ys.push_back(dys_[i]);
    }
    for (size_t i = 0; i < args_.size(); ++i) {
      if (spec_.has_dx[i]) xs.push_back({args_[i], 0});
    }
    ++options.depth;
    SLUICE_ASSIGN_OR_RETURN(const GradientResult found, AddGradients(graph_, ys, xs, options));
    std::vector<Gradient> dxs(args_.size());
    prefix_ = found.name;
    for (size_t i = 0, next = 0; i < args_.size(); ++i) {
      if (spec_.has_dx[i]) dxs[i] = found.xs[next++];
    }
    return dxs;
  }

  void AddResult(const Output& value, absl::string_view name) {
    written_.results.push_back(value);
    written_.result_names.emplace_back(name);
    made_.result_types.push_back(BaseType(graph_.output_type(value.node, value.index)));
  }

  // Adds the gradient of argument `i` to the results.
  absl::Status AddPart(size_t i, Gradient dx) {
    BodyGradient::Part part;
    part.first = static_cast<int32_t>(written_.results.size());
    if (spec_.fills && spec_.has_dx[i]) {
      SLUICE_ASSIGN_OR_RETURN(const Output dense,
                              DenseGradient(graph_, {args_[i], 0}, dx, prefix_, spec_.handle_types[i]));
      dx = Gradient::Dense(dense);
    }
    part.kind = dx.kind;
    const std::string name = absl::StrCat("dx_", i);
    if (dx.is_set()) AddResult(dx.value, name);
    if (dx.is_slices()) {
      AddResult(dx.indices, absl::StrCat(name, "_indices"));
      part.has_shape = dx.dense_shape.is_set();
      if (part.has_shape) AddResult(dx.dense_shape, absl::StrCat(name, "_shape"));
    }
    made_.parts.push_back(part);
    return absl::OkStatus();
  }

  FunctionGraph forward_;
  Graph& graph_;
  const BodyGradientSpec& spec_;
  const GradientOptions& options_;
  std::vector<NodeId> args_;  // Nodes that give the arguments to the body.
  std::vector<Output> dys_;   // By result; unset ones have no gradient.
  std::string prefix_;        // Begins the names of the gradient's nodes.
  FunctionSpec written_;
  BodyGradient made_;
};

}  // namespace

absl::StatusOr<BodyGradient> MakeBodyGradient(FunctionGraph forward, const BodyGradientSpec& spec,
                                              const GradientOptions& options, FunctionLibrary* library) {
  return FunctionMaker(std::move(forward), spec, options).Make(library);
}

absl::StatusOr<FunctionGraph> GraphOfOp(const Graph& graph, const OpSchema& op, const BoundAttrs& attrs,
                                        const LoadLimits& limits) {
  const auto find = [&](absl::string_view name, AttrView* value) {
    const auto given = attrs.find(name);
    if (given != attrs.end()) *value = given->second.view();
    if (given != attrs.end()) return true;
    const AttrSpec* const spec = op.FindAttr(name);
    if (spec == nullptr || !spec->has_default) return false;
    *value = AttrView(spec->default_value);
    return true;
  };
  SLUICE_ASSIGN_OR_RETURN(const Signature signature, ComputeSignature(op, find, limits.max_inputs_per_node));
  FunctionGraph made{Graph(graph.ops()), {}, {}, {}, signature};
  made.graph.versions() = graph.versions();
  made.graph.library() = graph.library();
  NodeSpec spec;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    NodeSpec arg;
    const std::string name = absl::StrCat("x_", i);
    arg.name = name;
    arg.op = "_Arg";
    arg.attrs = {{"T", BaseType(signature.inputs[i])}, {"index", static_cast<int>(i)}};
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, made.graph.AddNode(arg));
    made.args.push_back(id);
    spec.inputs.push_back({id, 0});
  }
  spec.name = op.name;
  spec.op = op.name;
  for (const auto& [name, value] : attrs) spec.attrs.emplace_back(name, value);
  SLUICE_ASSIGN_OR_RETURN(const NodeId node, made.graph.AddNode(spec));
  for (int32_t i = 0; i < made.graph.num_outputs(node); ++i) {
    NodeSpec result;
    const std::string name = absl::StrCat("y_", i, "_RetVal");
    result.name = name;
    result.op = "_Retval";
    result.inputs = {{node, i}};
    result.attrs = {{"T", BaseType(made.graph.output_type(node, i))}, {"index", i}};
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, made.graph.AddNode(result));
    made.results.push_back(id);
  }
  return made;
}

absl::Status TurnUses(Graph& graph, absl::Span<const NodeId> from, absl::Span<const NodeId> to,
                      absl::Span<const NodeId> but) {
  HashMap<NodeId, NodeId> turned;
  for (size_t i = 0; i < from.size(); ++i) turned.emplace(from[i], to[i]);
  const HashSet<NodeId> excepted(but.begin(), but.end());
  std::vector<Output> inputs;
  std::vector<NodeId> controls;
  for (const NodeId id : graph.Nodes()) {
    const absl::Span<const Output> all = graph.all_inputs(id);
    const auto is_turned = [&](const Output& input) { return turned.contains(input.node); };
    if (excepted.contains(id) || std::none_of(all.begin(), all.end(), is_turned)) continue;
    const auto turn = [&](NodeId node) {
      const auto found = turned.find(node);
      return found == turned.end() ? node : found->second;
    };
    inputs.clear();
    controls.clear();
    for (const Output& input : graph.inputs(id)) inputs.push_back({turn(input.node), input.index});
    for (const Output& control : graph.controls(id)) controls.push_back(turn(control.node));
    SLUICE_RETURN_IF_ERROR(graph.SetInputs(id, inputs, controls));
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "graph/gradients/own_gradients.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/added_gradients.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

constexpr absl::string_view kRecomputeAttr = "_recompute_grad";

// The first op of the body, or of what it calls, that may not run again; empty where there is none.
absl::StatusOr<std::string> FindUnrepeatable(const Graph& body) {
  Graph whole(body);
  InlineOptions options;
  options.lower_unmarked = true;
  options.ignore_marks = true;
  SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(whole, options).status());
  for (const NodeId id : whole.Nodes()) {
    if (whole.op(id).is_stateful && !whole.op(id).traits.may_run_again) return std::string(whole.op_name(id));
  }
  return std::string();
}

// Calls `function`, by TensorFlow's stateful op if the function has effects.
Expr CallFunction(GradientContext& c, const FunctionDefinition& function, const BoundAttrs& attrs, const Exprs& inputs,
                  const std::vector<DType>& result_types) {
  std::vector<std::pair<std::string, AttrValue>> bound(attrs.begin(), attrs.end());
  std::vector<DType> types;
  for (const Expr& input : inputs) types.push_back(input.type());
  return c.Op(
      function.schema.is_stateful ? "StatefulPartitionedCall" : "PartitionedCall", inputs,
      {{"f", AttrValue::Func(function.name(), bound)}, {"Tin", AttrValue(types)}, {"Tout", AttrValue(result_types)}});
}

// What stands before the names of the body of `function` in which `node` came into the graph; false where it is not of
// such a body.
bool FindPrefix(const Graph& graph, NodeId node, const FunctionDefinition& function, absl::string_view op_type,
                absl::string_view* prefix) {
  for (const NodeDefView& body_node : function.nodes) {
    const NamedAttr* const type = body_node.FindAttr(kGradientOpTypeAttr);
    if (type == nullptr || body_node.op != graph.op_name(node)) continue;
    const absl::StatusOr<absl::string_view> stated = type->value.AsString();
    if (!stated.ok() || *stated != op_type) continue;
    *prefix = graph.name(node);
    if (absl::ConsumeSuffix(prefix, body_node.name) && (prefix->empty() || absl::EndsWith(*prefix, "/"))) return true;
  }
  return false;
}

// The tensor of an argument of the function: what its call was given, which an Identity hands to the body.
Output FindArgument(const Graph& graph, const FunctionDefinition& function, absl::string_view name,
                    absl::string_view prefix) {
  for (size_t i = 0; i < function.schema.inputs.size(); ++i) {
    const ArgSpec& arg = function.schema.inputs[i];
    if (arg.is_list()) return kNoOutput;  // None in what TensorFlow's tracing writes.
    if (arg.name != name || !absl::ConsumeSuffix(&prefix, "/")) continue;
    const NodeId id = graph.Find(absl::StrCat("Func/", prefix, "/input/_", i));
    if (graph.Contains(id) && graph.Is(id, "Identity")) return {id, 0};
  }
  return kNoOutput;
}

// The output that `capture` of `gradient` stands for, where `node` asks for it. In a body that was put in the place of
// a call, names have the call's in front: those of the values that belong together have the same. kUnsupported, naming
// the node, where it cannot be found.
absl::StatusOr<Output> FindCapture(const Graph& graph, NodeId node, const CustomGradient& gradient,
                                   const CustomGradient::Capture& capture) {
  const TensorId tensor = ParseTensorId(capture.tensor);
  Output found = kNoOutput;
  if (capture.function.empty()) {
    found = {graph.Find(tensor.node), tensor.index};
  } else if (const std::shared_ptr<const FunctionDefinition> function = graph.library().Find(capture.function)) {
    absl::string_view prefix;
    if (FindPrefix(graph, node, *function, gradient.op_type, &prefix)) {
      found = {graph.Find(absl::StrCat(prefix, tensor.node)), tensor.index};
      if (!graph.Contains(found.node)) found = FindArgument(graph, *function, tensor.node, prefix);
    }
  }
  if (graph.Contains(found.node) && found.index >= 0 && found.index < graph.num_outputs(found.node)) return found;
  const std::string where = capture.function.empty() ? "" : absl::StrCat(" of '", PrintableName(capture.function), "'");
  return graph.Locate(
      node, Error(ErrorCode::kUnsupported)
                .Text(absl::StrCat("has no gradient: '", PrintableName(gradient.function), "', that of its type '",
                                   PrintableName(gradient.op_type), "', takes the value '",
                                   PrintableName(capture.tensor), "'", where, ", which is not there")));
}

// What to hand over for output `i`: its gradient, or zeros; for a value that can have none, itself: it is not looked
// at.
Expr DyOrValue(GradientContext& c, int i) {
  const DType type = c.output_type(i);
  const bool has_zeros = type != DType::kResource && type != DType::kVariant && type != DType::kString;
  return c.HasDy(i) || has_zeros ? c.dy(i) : c.Output(i);
}

// Checks the types of the arguments and results against the signature of `function`.
absl::Status CheckCall(const GradientContext& c, const BoundFunction& function, const Exprs& inputs, size_t results) {
  const std::vector<DType>& types = function.signature.inputs;
  bool fits = types.size() == inputs.size();
  for (size_t i = 0; fits && i < types.size(); ++i)
    fits = !inputs[i].is_set() || BaseType(types[i]) == inputs[i].type();
  if (fits && function.signature.outputs.size() >= results) return absl::OkStatus();
  return c.graph().Locate(
      c.node(), Error(ErrorCode::kFunctionArity)
                    .Text(absl::StrCat("has the gradient function '", PrintableName(function.name()),
                                       "', which does not take its values and their gradients, or gives too few"))
                    .Found(absl::StrCat(types.size(), " arguments, ", function.signature.outputs.size(), " results"))
                    .Expected(absl::StrCat(inputs.size(), " arguments of their types, ", results, " results")));
}

}  // namespace

OwnGradients::OwnGradients(const Graph& graph, const GradientOptions& options)
    : graph_(graph), options_(options), finder_(graph) {}

bool OwnGradients::TakeValuesOfBodies() const {
  return std::any_of(options_.custom.begin(), options_.custom.end(),
                     [](const CustomGradient& gradient) { return !gradient.captures.empty(); });
}

absl::string_view OwnGradients::TypeOf(NodeId id) {
  AttrView value;
  if (!graph_.FindAttr(id, kGradientOpTypeAttr, &value)) return "";
  const absl::StatusOr<absl::string_view> type = value.AsString();
  return type.ok() && *type != graph_.op_name(id) ? *type : absl::string_view();
}

OwnGradients::Kind OwnGradients::KindOf(NodeId id) {
  const CallKind kind = finder_.KindOf(id);
  if (kind == CallKind::kNone) return TypeOf(id).empty() ? Kind::kNone : Kind::kOfType;
  if (kind != CallKind::kDirect && kind != CallKind::kCall) return Kind::kNone;
  const absl::StatusOr<std::vector<Callee>> callees = finder_.Callees(id);
  if (!callees.ok() || callees->size() != 1) return Kind::kNone;
  const absl::string_view name = (*callees)[0].name;
  if (!graph_.library().FindGradient(name).empty()) return Kind::kStated;
  AttrView mark;
  if (graph_.FindAttr(id, kRecomputeAttr, &mark) && mark.AsBool().value_or(false)) return Kind::kRecomputed;
  if (std::find(options_.recompute.begin(), options_.recompute.end(), name) != options_.recompute.end()) {
    return Kind::kRecomputed;
  }
  const std::shared_ptr<const FunctionDefinition> function = graph_.library().Find(name);
  return function != nullptr && function->IsMarked(kRecomputeAttr) ? Kind::kRecomputed : Kind::kNone;
}

absl::Status OwnGradients::Call(GradientContext& c) {
  switch (KindOf(c.node())) {
    case Kind::kOfType:
      return CallOfType(c, TypeOf(c.node()));
    case Kind::kStated:
      return CallStated(c);
    case Kind::kRecomputed:
      return CallRecomputed(c);
    case Kind::kNone:
      break;
  }
  return c.Refuse("it has none of its own");
}

// --- Of types --------------------------------------------------------------------------------------------------------

absl::Status OwnGradients::CallOfType(GradientContext& c, absl::string_view type) {
  for (const CustomGradient& gradient : options_.custom) {
    if (gradient.op_type == type) return CallRegistered(c, gradient);
  }
  const auto row = std::find_if(options_.rows.begin(), options_.rows.end(),
                                [&](const GradientRow& candidate) { return candidate.op == type; });
  const GradientRow* const found = row != options_.rows.end() ? &*row : FindGradientRow(type);
  if (found != nullptr && found->kind == GradientRow::Kind::kFunction) return found->function(c);
  if (found != nullptr && found->kind == kNoGradient) return absl::OkStatus();
  if (const auto added = FindAddedGradient(graph_.ops().get(), type)) return (*added)(c);
  SLUICE_ASSIGN_OR_RETURN(const CustomGradient gradient, FromLibrary(c, type));
  return CallRegistered(c, gradient);
}

absl::StatusOr<CustomGradient> OwnGradients::FromLibrary(const GradientContext& c, absl::string_view type) const {
  const absl::string_view name = FindRegisteredGradient(graph_.library(), type);
  if (name.empty()) {
    return graph_.Locate(c.node(), Error(ErrorCode::kFunctionMissing)
                                       .Attr(kGradientOpTypeAttr)
                                       .Text(absl::StrCat("states the gradient '", PrintableName(type),
                                                          "', and no function of the model is registered as that")));
  }
  SLUICE_ASSIGN_OR_RETURN(const BoundFunction function, BindFunction(graph_.library(), name, {}));
  CustomGradient gradient;
  gradient.op_type = std::string(type);
  gradient.function = std::string(name);
  const size_t num_inputs = static_cast<size_t>(c.num_inputs());
  const bool is_plain = function.signature.inputs.size() == static_cast<size_t>(c.num_outputs()) &&
                        function.signature.outputs.size() == num_inputs;
  if (!is_plain) {
    return c.Refuse(absl::StrCat("what '", PrintableName(name), "', its gradient '", PrintableName(type),
                                 "', takes and gives is said in a SavedModel's object graph only, which is not here"));
  }
  for (size_t i = 0; i < num_inputs; ++i) gradient.results.push_back(static_cast<int32_t>(i));
  return gradient;
}

absl::Status OwnGradients::CallRegistered(GradientContext& c, const CustomGradient& gradient) {
  absl::StatusOr<BoundFunction> function = BindFunction(graph_.library(), gradient.function, {});
  if (!function.ok()) return graph_.Locate(c.node(), function.status());
  Exprs inputs;
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(DyOrValue(c, i));
  for (const CustomGradient::Capture& capture : gradient.captures) {
    SLUICE_ASSIGN_OR_RETURN(const Output value, FindCapture(graph_, c.node(), gradient, capture));
    inputs.push_back(c.emitter().Forward(value));
  }
  size_t results = 0;
  for (const int32_t result : gradient.results) results = std::max(results, static_cast<size_t>(result + 1));
  SLUICE_RETURN_IF_ERROR(CheckCall(c, *function, inputs, results));
  if (gradient.results.size() != static_cast<size_t>(c.num_inputs())) {
    return c.Refuse(absl::StrCat("its gradient '", PrintableName(gradient.op_type), "' is that of ",
                                 gradient.results.size(), " inputs, and it has ", c.num_inputs()));
  }
  const Expr call = CallFunction(c, *function->definition, function->attrs, inputs, function->signature.outputs);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const int32_t result = gradient.results[static_cast<size_t>(i)];
    if (result >= 0 && c.Wants(i)) c.SetInput(i, call.out(result));
  }
  return absl::OkStatus();
}

// --- Of calls --------------------------------------------------------------------------------------------------------

absl::Status OwnGradients::CallStated(GradientContext& c) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Callee> callees, finder_.Callees(c.node()));
  const absl::string_view name = graph_.library().FindGradient(callees[0].name);
  absl::StatusOr<BoundFunction> function = BindFunction(graph_.library(), name, callees[0].attrs);
  if (!function.ok()) return graph_.Locate(c.node(), function.status());
  Exprs inputs = c.Inputs(0, c.num_inputs());
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(DyOrValue(c, i));
  SLUICE_RETURN_IF_ERROR(CheckCall(c, *function, inputs, static_cast<size_t>(c.num_inputs())));
  const Expr call = CallFunction(c, *function->definition, function->attrs, inputs, function->signature.outputs);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, call.out(i));
  }
  return absl::OkStatus();
}

absl::StatusOr<const BodyGradient*> OwnGradients::GradientOf(const GradientContext& c, const BoundFunction& function) {
  BodyGradientSpec spec;
  spec.waits = true;
  std::string key = absl::StrCat(Canonicalize(function.name(), function.attrs), " ");
  for (int i = 0; i < c.num_outputs(); ++i) spec.has_dy.push_back(c.HasDy(i));
  for (int i = 0; i < c.num_inputs(); ++i) spec.has_dx.push_back(c.Wants(i));
  for (const bool has : spec.has_dy) key += has ? 'y' : '-';
  for (const bool has : spec.has_dx) key += has ? 'x' : '-';
  const auto known = made_.find(key);
  if (known != made_.end()) return &known->second;
  InstantiateOptions instantiation;
  instantiation.prune = true;
  instantiation.versions = graph_.versions();
  SLUICE_ASSIGN_OR_RETURN(FunctionGraph forward,
                          InstantiateFunction(graph_.library(), graph_.ops(), function, instantiation));
  SLUICE_ASSIGN_OR_RETURN(const std::string unrepeatable, FindUnrepeatable(forward.graph));
  if (!unrepeatable.empty()) {
    return c.Refuse(absl::StrCat("'", PrintableName(function.name()), "' would be computed again for it, but '",
                                 PrintableName(unrepeatable),
                                 "' in there has effects, or may give other results the second time"));
  }
  spec.name = absl::StrCat("gradient_of_", function.name());
  SLUICE_ASSIGN_OR_RETURN(BodyGradient made,
                          MakeBodyGradient(std::move(forward), spec, options_, &c.emitter().mutable_graph().library()));
  return &made_.try_emplace(std::move(key), std::move(made)).first->second;
}

absl::Status OwnGradients::CallRecomputed(GradientContext& c) {
  absl::StatusOr<std::vector<BoundFunction>> callees = BindCallees(graph_, c.node(), finder_, graph_.library());
  SLUICE_RETURN_IF_ERROR(callees.status());
  const absl::StatusOr<const BodyGradient*> made = GradientOf(c, (*callees)[0]);
  if (!made.ok()) return graph_.Locate(c.node(), made.status());
  const BodyGradient& gradient = **made;
  if (gradient.result_types.empty()) return absl::OkStatus();
  Exprs inputs = c.Inputs(0, c.num_inputs());
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (c.HasDy(i)) inputs.push_back(c.dy(i));
  }
  const std::shared_ptr<const FunctionDefinition> function = graph_.library().Find(gradient.name);
  const Expr call = CallFunction(c, *function, {}, inputs, gradient.result_types);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const BodyGradient::Part& part = gradient.parts[static_cast<size_t>(i)];
    if (part.kind == Gradient::Kind::kDense) c.SetInput(i, call.out(part.first));
    if (part.kind != Gradient::Kind::kSlices) continue;
    const Expr shape = part.has_shape ? call.out(part.first + 2) : Expr();
    c.SetSlices(i, call.out(part.first), call.out(part.first + 1), shape);
  }
  return absl::OkStatus();
}

}  // namespace sluice

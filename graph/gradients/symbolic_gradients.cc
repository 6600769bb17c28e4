#include "graph/gradients/symbolic_gradients.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/instantiate.h"
#include "graph/functions/needed_parts.h"
#include "graph/gradients/body_gradient.h"
#include "graph/ir/made_nodes.h"

namespace sluice {
namespace {

constexpr absl::string_view kOp = "SymbolicGradient";

// Replaces nodes of one graph. Lives for one ExpandSymbolicGradients.
class Expander {
 public:
  Expander(Graph& graph, const LoadLimits& limits) : graph_(graph) { options_.limits = limits; }

  absl::Status Expand(NodeId id) {
    absl::StatusOr<AttrValue> callee = CalleeOf(id);
    if (!callee.ok()) return graph_.Locate(id, callee.status());
    NodeSpec spec;
    const std::string name(graph_.name(id));
    const std::string device(graph_.device(id));
    spec.name = name;
    spec.device = device;
    spec.op = "PartitionedCall";
    spec.inputs.assign(graph_.inputs(id).begin(), graph_.inputs(id).end());
    for (const Output& control : graph_.controls(id)) spec.controls.push_back(control.node);
    const Signature& signature = graph_.signature(id);
    spec.attrs = {{"f", *std::move(callee)},
                  {"Tin", AttrValue(signature.inputs)},
                  {"Tout", AttrValue(signature.outputs)},
                  MadeForAttr(graph_, id)};
    SLUICE_RETURN_IF_ERROR(graph_.Rename(id, graph_.UniqueName(absl::StrCat(name, "/replaced"))));
    SLUICE_ASSIGN_OR_RETURN(const NodeId call, graph_.AddNode(spec));
    from_.push_back(id);
    to_.push_back(call);
    return absl::OkStatus();
  }

  absl::Status Finish() {
    SLUICE_RETURN_IF_ERROR(TurnUses(graph_, from_, to_, {}));
    for (const NodeId id : from_) graph_.RemoveNode(id);
    return absl::OkStatus();
  }

 private:
  // The function to call instead.
  absl::StatusOr<AttrValue> CalleeOf(NodeId id) {
    SLUICE_ASSIGN_OR_RETURN(const AttrView attr, graph_.GetAttr(id, "f"));
    SLUICE_ASSIGN_OR_RETURN(const FuncView f, attr.AsFunc());
    if (f.name == kOp) return Error(ErrorCode::kUnsupported).Text("cannot be the gradient of a SymbolicGradient");
    const absl::string_view stated = graph_.library().FindGradient(f.name);
    if (!stated.empty()) {
      std::vector<std::pair<std::string, AttrValue>> attrs;
      for (const auto& [name, value] : f.attrs)
        attrs.emplace_back(std::string(name), AttrValue::FromBytes(value.bytes()));
      return AttrValue::Func(stated, attrs);
    }
    const Signature& signature = graph_.signature(id);
    std::string key(attr.bytes());
    for (const DType type : signature.outputs) absl::StrAppend(&key, " ", static_cast<int>(type));
    const auto known = made_.find(key);
    if (known != made_.end()) return AttrValue::Func(known->second);
    SLUICE_ASSIGN_OR_RETURN(FunctionGraph forward, ForwardOf(f));
    SLUICE_RETURN_IF_ERROR(CheckTypes(f, forward.signature, signature));
    BodyGradientSpec spec;
    spec.name = absl::StrCat("gradient_of_", f.name);
    spec.has_dy.assign(forward.results.size(), true);
    spec.has_dx.assign(forward.args.size(), true);
    spec.fills = true;
    spec.handle_types = signature.outputs;
    SLUICE_ASSIGN_OR_RETURN(const BodyGradient made,
                            MakeBodyGradient(std::move(forward), spec, options_, &graph_.library()));
    if (made.result_types != signature.outputs) {
      return Error(ErrorCode::kFunctionArity)
          .Text(absl::StrCat("states other types in Tout than those of the gradient of '", PrintableName(f.name), "'"));
    }
    return AttrValue::Func(made_.try_emplace(std::move(key), made.name).first->second);
  }

  absl::StatusOr<FunctionGraph> ForwardOf(const FuncView& f) {
    if (graph_.library().Contains(f.name)) {
      SLUICE_ASSIGN_OR_RETURN(const BoundFunction function, BindFunction(graph_.library(), f.name, f.attrs));
      InstantiateOptions options;
      options.prune = true;
      options.versions = graph_.versions();
      return InstantiateFunction(graph_.library(), graph_.ops(), function, options);
    }
    const OpSchema* const op = graph_.ops()->Find(f.name);
    if (op == nullptr) {
      return Error(ErrorCode::kFunctionUnknown)
          .Text(absl::StrCat("names '", PrintableName(f.name), "', which is neither a function nor an op"));
    }
    BoundAttrs attrs;
    for (const NamedAttr& attr : f.attrs) {
      attrs.emplace(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
    }
    return GraphOfOp(graph_, *op, attrs, options_.limits);
  }

  // Checks that the node takes f's arguments and results, and gives as many outputs as f has arguments.
  static absl::Status CheckTypes(const FuncView& f, const Signature& of_f, const Signature& of_node) {
    std::vector<DType> wanted = of_f.inputs;
    wanted.insert(wanted.end(), of_f.outputs.begin(), of_f.outputs.end());
    const auto is_same = [](DType a, DType b) { return BaseType(a) == BaseType(b); };
    const bool fits = std::equal(wanted.begin(), wanted.end(), of_node.inputs.begin(), of_node.inputs.end(), is_same);
    if (fits && of_node.outputs.size() == of_f.inputs.size()) return absl::OkStatus();
    return Error(ErrorCode::kFunctionArity)
        .Text(absl::StrCat("does not take the arguments of '", PrintableName(f.name),
                           "' and then the gradients of its results, or does not give those of the arguments"))
        .Found(absl::StrCat(of_node.inputs.size(), " inputs, ", of_node.outputs.size(), " outputs"))
        .Expected(absl::StrCat(wanted.size(), " inputs of their types, ", of_f.inputs.size(), " outputs"));
  }

  Graph& graph_;
  GradientOptions options_;
  HashMap<std::string, std::string> made_;  // Gradient functions, by f and the types of the gradients.
  std::vector<NodeId> from_, to_;
};

bool HasSymbolicGradients(const Graph& graph) {
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (graph.Contains(NodeId(i)) && graph.Is(NodeId(i), kOp)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<int64_t> ExpandSymbolicGradients(Graph& graph, absl::FunctionRef<bool(NodeId id)> wants,
                                                const LoadLimits& limits) {
  if (!HasSymbolicGradients(graph)) return 0;
  Expander expander(graph, limits);
  int64_t count = 0;
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, kOp) || !wants(id)) continue;
    SLUICE_RETURN_IF_ERROR(expander.Expand(id));
    ++count;
  }
  SLUICE_RETURN_IF_ERROR(expander.Finish());
  return count;
}

namespace {

// ExpandSymbolicGradients of all nodes. Those among the roots of `parts`, which may be null, are found again by name.
absl::Status ExpandAll(Graph& graph, const LoadLimits& limits, InlinedParts* parts) {
  std::vector<std::pair<size_t, std::string>> renewed;  // Roots: places and names.
  for (size_t i = 0; parts != nullptr && i < parts->roots.size(); ++i) {
    const NodeId id = parts->roots[i];
    if (graph.Contains(id) && graph.Is(id, kOp)) renewed.emplace_back(i, graph.name(id));
  }
  SLUICE_RETURN_IF_ERROR(ExpandSymbolicGradients(
                             graph, [](NodeId) { return true; }, limits)
                             .status());
  for (const auto& [place, name] : renewed) parts->roots[place] = graph.Find(name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<InlineReport> InlineCallsAndGradients(Graph& graph, const InlineOptions& options) {
  SLUICE_RETURN_IF_ERROR(ExpandAll(graph, options.limits, options.parts));
  SLUICE_ASSIGN_OR_RETURN(InlineReport report, InlineFunctionCalls(graph, options));
  // Functions do not call themselves, so this ends; the bound is for unchecked graphs.
  for (int depth = 0; HasSymbolicGradients(graph); ++depth) {
    if (depth > options.limits.max_call_depth) {
      return Error(ErrorCode::kLimitCallDepth)
          .Limit("max_call_depth", options.limits.max_call_depth)
          .Text("symbolic gradients are nested in too many functions");
    }
    SLUICE_RETURN_IF_ERROR(PollStop(options.stop, graph.id_limit()));
    SLUICE_RETURN_IF_ERROR(ExpandAll(graph, options.limits, options.parts));
    SLUICE_ASSIGN_OR_RETURN(const InlineReport more, InlineFunctionCalls(graph, options));
    report.calls += more.calls;
    report.calls_left = more.calls_left;  // Counts those from before again.
    report.conditionals += more.conditionals;
    report.loops += more.loops;
    report.nodes_added += more.nodes_added;
  }
  return report;
}

}  // namespace sluice

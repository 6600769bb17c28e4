#include "graph/functions/graph_to_function.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/functions/function_def_builder.h"

namespace sluice {
namespace {

// Names arguments and results, each set of names without repetition.
class ArgNames {
 public:
  // Keeps `name` from being given.
  void Reserve(absl::string_view name) { taken_.insert(std::string(name)); }

  std::string Take(absl::string_view wanted) {
    std::string base;
    for (char c : wanted) base += absl::ascii_isalnum(c) ? absl::ascii_tolower(c) : '_';
    if (base.empty() || !absl::ascii_isalpha(base[0])) base.insert(0, "a");
    std::string name = base;
    for (int64_t i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(base, "_", i);
    return name;
  }

 private:
  HashSet<std::string> taken_;
};

// Lives for one GraphToFunction.
class FunctionWriter {
 public:
  FunctionWriter(const Graph& graph, const FunctionSpec& spec) : graph_(graph), spec_(spec) {}

  absl::StatusOr<std::shared_ptr<const FunctionDefinition>> Run() {
    OpSchema signature;
    signature.name = spec_.name;
    AddArgs(&signature);
    AddResults(&signature);
    FunctionDefBuilder builder(std::move(signature));
    for (NodeId id : graph_.Nodes()) {
      if (!IsBody(id)) continue;
      SLUICE_RETURN_IF_ERROR(AddNode(id, &builder));
    }
    for (size_t i = 0; i < spec_.results.size(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(const std::string value, ValueName(spec_.results[i]));
      builder.AddRet(result_names_[i], value);
    }
    for (NodeId id : spec_.control_results) builder.AddControlRet(graph_.name(id), graph_.name(id));
    return builder.Build();
  }

 private:
  bool IsBody(NodeId id) const { return !arg_nodes_.contains(id) && !graph_.Is(id, "_Retval"); }

  ArgSpec TypedArg(std::string name, const Output& value) const {
    ArgSpec arg;
    arg.name = std::move(name);
    arg.dtype = BaseType(graph_.output_type(value.node, value.index));
    return arg;
  }

  void AddArgs(OpSchema* signature) {
    for (const Output& arg : spec_.args) arg_nodes_.insert(arg.node);
    ArgNames names;
    for (NodeId id : graph_.Nodes()) {
      if (IsBody(id)) names.Reserve(graph_.name(id));
      signature->is_stateful = signature->is_stateful || (IsBody(id) && graph_.op(id).is_stateful);
    }
    for (size_t i = 0; i < spec_.args.size(); ++i) {
      const Output& arg = spec_.args[i];
      std::string name = names.Take(i < spec_.arg_names.size() ? spec_.arg_names[i] : graph_.name(arg.node));
      arg_names_[arg] = name;
      signature->inputs.push_back(TypedArg(std::move(name), arg));
    }
  }

  void AddResults(OpSchema* signature) {
    ArgNames names;
    for (size_t i = 0; i < spec_.results.size(); ++i) {
      const Output& result = spec_.results[i];
      result_names_.push_back(
          names.Take(i < spec_.result_names.size() ? spec_.result_names[i] : graph_.name(result.node)));
      signature->outputs.push_back(TypedArg(result_names_.back(), result));
    }
  }

  // The text for `value` in a body: "arg" or "node:out:0".
  absl::StatusOr<std::string> ValueName(const Output& value) const {
    const auto arg = arg_names_.find(value);
    if (arg != arg_names_.end()) return arg->second;
    if (!IsBody(value.node)) {
      return graph_.Locate(value.node, Error(ErrorCode::kFunctionBody)
                                           .Text(absl::StrCat("is outside of function '", PrintableName(spec_.name),
                                                              "', but its output ", value.index, " is used there")));
    }
    const std::vector<int32_t>& starts = graph_.signature(value.node).output_starts;
    const auto next = std::upper_bound(starts.begin(), starts.end(), value.index);
    const size_t output = static_cast<size_t>(next - starts.begin()) - 1;
    return absl::StrCat(graph_.name(value.node), ":", graph_.op(value.node).outputs[output].name, ":",
                        value.index - starts[output]);
  }

  absl::Status AddNode(NodeId id, FunctionDefBuilder* builder) const {
    std::vector<std::string> inputs;
    for (const Output& input : graph_.inputs(id)) {
      SLUICE_ASSIGN_OR_RETURN(std::string value, ValueName(input));
      inputs.push_back(std::move(value));
    }
    for (const Output& control : graph_.controls(id)) {
      const auto arg = arg_names_.find(Output{control.node, 0});
      inputs.push_back(
          absl::StrCat("^", arg != arg_names_.end() ? arg->second : std::string(graph_.name(control.node))));
    }
    FunctionDefBuilder::Attrs attrs;
    for (const NamedAttr& attr : graph_.attrs(id)) {
      attrs.emplace_back(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
    }
    builder->AddNode(graph_.name(id), graph_.op_name(id), inputs, attrs, graph_.device(id));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const FunctionSpec& spec_;
  HashSet<NodeId> arg_nodes_;
  HashMap<Output, std::string> arg_names_;
  std::vector<std::string> result_names_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> GraphToFunction(const Graph& graph,
                                                                          const FunctionSpec& spec) {
  return FunctionWriter(graph, spec).Run();
}

absl::StatusOr<std::shared_ptr<const FunctionDefinition>> GraphToFunction(const FunctionGraph& function,
                                                                          absl::string_view name) {
  FunctionSpec spec;
  spec.name = std::string(name);
  for (NodeId id : function.args) spec.args.push_back(Output{id, 0});
  for (NodeId id : function.results) {
    spec.results.push_back(function.graph.inputs(id)[0]);
    absl::string_view result = function.graph.name(id);
    absl::ConsumeSuffix(&result, "_RetVal");
    spec.result_names.emplace_back(result);
  }
  spec.control_results = function.control_results;
  return GraphToFunction(function.graph, spec);
}

}  // namespace sluice

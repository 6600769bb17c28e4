#include "graph/functions/instantiate.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/function_body.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

// The functions that the body of `function` calls directly.
absl::Status AddCallees(const FunctionLibrary& library, const BoundFunction& function, FunctionLibrary& to) {
  for (const NodeDefView& node : function.definition->nodes) {
    std::shared_ptr<const FunctionDefinition> callee = library.Find(node.op);
    if (callee != nullptr) SLUICE_RETURN_IF_ERROR(to.Add(std::move(callee)));
  }
  return absl::OkStatus();
}

// Calls `fn(flat index, name)` for each tensor of `args`, named as TensorFlow does.
template <typename Fn>
absl::Status ForEachTensor(const std::vector<ArgSpec>& args, const std::vector<int32_t>& starts,
                           absl::string_view suffix, const Fn& fn) {
  for (size_t i = 0; i < args.size(); ++i) {
    const int32_t count = starts[i + 1] - starts[i];
    for (int32_t k = 0; k < count; ++k) {
      std::string name = absl::StrCat(args[i].name, suffix);
      if (count > 1) absl::StrAppend(&name, "_", k);
      SLUICE_RETURN_IF_ERROR(fn(starts[i] + k, name));
    }
  }
  return absl::OkStatus();
}

absl::Status AddArgs(const BoundFunction& function, FunctionGraph* made, std::vector<Output>* outputs) {
  const Signature& signature = function.signature;
  const auto add = [&](int32_t index, const std::string& name) -> absl::Status {
    NodeSpec spec;
    const std::string unique = made->graph.UniqueName(name);
    spec.name = unique;
    spec.op = "_Arg";
    spec.attrs = {{"T", BaseType(signature.inputs[static_cast<size_t>(index)])}, {"index", index}};
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, made->graph.AddNode(spec));
    made->args.push_back(id);
    outputs->push_back(Output{id, 0});
    return absl::OkStatus();
  };
  return ForEachTensor(function.definition->schema.inputs, signature.input_starts, "", add);
}

absl::Status AddResults(const BoundFunction& function, const std::vector<Output>& results, FunctionGraph* made) {
  const Signature& signature = function.signature;
  const auto add = [&](int32_t index, const std::string& name) -> absl::Status {
    NodeSpec spec;
    const std::string unique = made->graph.UniqueName(name);
    spec.name = unique;
    spec.op = "_Retval";
    spec.inputs = {results[static_cast<size_t>(index)]};
    spec.attrs = {{"T", BaseType(signature.outputs[static_cast<size_t>(index)])}, {"index", index}};
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, made->graph.AddNode(spec));
    made->results.push_back(id);
    return absl::OkStatus();
  };
  return ForEachTensor(function.definition->schema.outputs, signature.output_starts, "_RetVal", add);
}

// Fills `made`, whose graph is empty but for its library.
absl::Status Fill(const BoundFunction& function, const InstantiateOptions& options, FunctionGraph* made) {
  BodyOptions body_options;
  body_options.prune = options.prune;
  body_options.keep_effects = options.keep_effects;
  SLUICE_RETURN_IF_ERROR(AddArgs(function, made, &body_options.args));
  SLUICE_ASSIGN_OR_RETURN(BodyNodes body, AddFunctionBody(made->graph, function, body_options));
  SLUICE_RETURN_IF_ERROR(AddResults(function, body.results, made));
  made->control_results = std::move(body.control_results);
  return CheckAcyclic(made->graph);
}

}  // namespace

absl::StatusOr<FunctionGraph> InstantiateFunction(const FunctionLibrary& library, std::shared_ptr<const OpRegistry> ops,
                                                  const BoundFunction& function, const InstantiateOptions& options) {
  FunctionGraph made{Graph(std::move(ops)), {}, {}, {}, function.signature};
  made.graph.versions() = options.versions;
  if (function.definition->file != nullptr) made.graph.AddSourceFiles({function.definition->file});
  if (options.with_library) {
    made.graph.library() = library;
  } else {
    SLUICE_RETURN_IF_ERROR(AddCallees(library, function, made.graph.library()));
  }
  const absl::Status status = Fill(function, options, &made);
  if (!status.ok()) return WithFunction(status, function.name());
  return made;
}

absl::StatusOr<FunctionGraph> InstantiateFunction(const Graph& graph, absl::string_view name,
                                                  absl::Span<const NamedAttr> attrs, bool prune) {
  SLUICE_ASSIGN_OR_RETURN(const BoundFunction function, BindFunction(graph.library(), name, attrs));
  InstantiateOptions options;
  options.prune = prune;
  options.versions = graph.versions();
  return InstantiateFunction(graph.library(), graph.ops(), function, options);
}

}  // namespace sluice

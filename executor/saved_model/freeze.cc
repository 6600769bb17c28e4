#include "executor/saved_model/freeze.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/variable_folder.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/format.h"
#include "graph/passes/prune.h"

namespace sluice {
namespace {

// By node whose outputs `fetches` name ("call:1"): how many leading outputs cover these. Leaves out nodes fetched as
// such ("call"), which keep all outputs.
std::map<absl::string_view, int32_t> OutputsFetched(const std::vector<std::string>& fetches) {
  std::map<absl::string_view, int32_t> outputs;
  for (const std::string& fetch : fetches) {
    const TensorId id = ParseTensorId(fetch);
    int32_t& count = outputs.emplace(id.node, 0).first->second;
    const bool is_node = id.node == fetch || id.is_control();
    count = is_node ? std::numeric_limits<int32_t>::max() : std::max(count, id.index + 1);
  }
  return outputs;
}

// Keeps the first `count` outputs of `id`, an IdentityN in the place of a call, and the call's control results; the
// values of the other outputs are then not needed.
absl::Status KeepFirstOutputs(Graph& graph, NodeId id, size_t count) {
  const std::vector<Output> all(graph.inputs(id).begin(), graph.inputs(id).end());
  NodeSpec spec;
  spec.inputs.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
  const auto reads = [](absl::Span<const Output> inputs, NodeId node) {
    return std::any_of(inputs.begin(), inputs.end(), [node](const Output& input) { return input.node == node; });
  };
  // One NoOp collects all control results.
  for (const Output& control : graph.all_inputs(id).subspan(all.size())) {
    const bool is_group = graph.Is(control.node, "NoOp");
    for (const Output& done : is_group ? graph.all_inputs(control.node) : absl::Span<const Output>(&control, 1)) {
      if (!reads(all, done.node)) spec.controls.push_back(done.node);
    }
  }
  std::vector<DType> types;
  for (const Output& input : spec.inputs) types.push_back(BaseType(graph.output_type(input.node, input.index)));
  const std::string name(graph.name(id)), device(graph.device(id));
  spec.name = name;
  spec.op = "IdentityN";
  spec.attrs = {{"T", types}};
  spec.device = device;
  graph.RemoveNode(id);
  return graph.AddNode(spec).status();
}

// Whether `id` always gives the handle of a variable, and at once: a VarHandleOp, or a node that passes it on.
bool GivesHandle(const Graph& graph, NodeId id) {
  while (graph.Is(id, "Identity") && graph.all_inputs(id).size() == 1) id = graph.inputs(id)[0].node;
  return graph.Is(id, "VarHandleOp");
}

// Removes control edges from handles. A body waits for all arguments of its call: a variable that it does not read
// would stay, with its value.
absl::Status DropWaitsForHandles(Graph& graph) {
  for (const NodeId id : graph.Nodes()) {
    const absl::Span<const Output> all = graph.all_inputs(id);
    const std::vector<Output> inputs(graph.inputs(id).begin(), graph.inputs(id).end());
    std::vector<NodeId> controls;
    for (const Output& control : all.subspan(inputs.size())) {
      if (!GivesHandle(graph, control.node)) controls.push_back(control.node);
    }
    if (inputs.size() + controls.size() < all.size()) SLUICE_RETURN_IF_ERROR(graph.SetInputs(id, inputs, controls));
  }
  return absl::OkStatus();
}

// Returns the graph that `fetches` need, with all calls of functions inlined.
absl::StatusOr<Graph> InlinedGraph(const Graph& graph, const std::vector<std::string>& fetches,
                                   const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(Graph pruned, PruneToNames(graph, fetches));
  InlineOptions options;
  options.limits = limits;
  options.ignore_marks = true;
  options.lower_unmarked = true;
  for (const std::string& fetch : fetches) options.keep.push_back(pruned.Find(ParseTensorId(fetch).node));
  SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(pruned, options).status());
  for (const auto& [name, count] : OutputsFetched(fetches)) {
    const NodeId id = pruned.Find(name);
    if (!pruned.Is(id, "IdentityN") || graph.Is(graph.Find(name), "IdentityN")) continue;
    if (count < pruned.num_outputs(id)) {
      SLUICE_RETURN_IF_ERROR(KeepFirstOutputs(pruned, id, static_cast<size_t>(count)));
    }
  }
  SLUICE_RETURN_IF_ERROR(DropWaitsForHandles(pruned));
  return PruneToNames(pruned, fetches);
}

// Returns the values of these variables in the initialised model.
absl::StatusOr<std::vector<Tensor>> ValuesOf(const LoadedGraph& model, const std::vector<std::string>& variables,
                                             const SessionOptions& options, const std::string& restore) {
  Graph graph = model.graph;
  std::vector<std::string> reads;
  for (const std::string& variable : variables) {
    const NodeId id = graph.Find(variable);
    if (!graph.Contains(id)) {
      return Error(ErrorCode::kCannotRun)
          .Text(absl::StrCat("the variable '", PrintableName(variable), "' is made in a function"));
    }
    SLUICE_ASSIGN_OR_RETURN(const DType dtype, graph.GetType(id, "dtype"));
    const bool is_handle = graph.Is(id, "VarHandleOp");
    reads.push_back(graph.UniqueName(absl::StrCat(variable, "/frozen")));
    NodeSpec read;
    read.name = reads.back();
    read.op = is_handle ? "ReadVariableOp" : "Identity";
    read.inputs = {{id, 0}};
    read.attrs = {{is_handle ? "dtype" : "T", dtype}};
    SLUICE_RETURN_IF_ERROR(graph.AddNode(read).status());
  }
  SessionOptions own = options;
  own.files.Read(ModelDirectory(model));
  if (!restore.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const std::string prefix, CheckpointPrefix(restore));
    const std::filesystem::path directory = std::filesystem::path(prefix).parent_path();
    own.files.Read(directory.empty() ? "." : directory.string());
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(own, std::move(graph)));
  if (restore.empty()) {
    SLUICE_RETURN_IF_ERROR(InitialiseModel(*session, model));
  } else {
    SLUICE_RETURN_IF_ERROR(RestoreVariables(*session, model, restore, {}));
    SLUICE_RETURN_IF_ERROR(RunModelInit(*session, model, {}));
  }
  absl::StatusOr<std::vector<Tensor>> values = session->Run({}, reads, {});
  const std::optional<ErrorInfo> info = ErrorInfoOf(values.status());
  const bool has_none = info.has_value() && info->code == ErrorCode::kUninitialized;
  if (has_none && IsSavedModel(model.format) && TrainedValuesPrefix(model).empty()) {
    return Error(ErrorCode::kUninitialized)
        .Text(absl::StrCat("there is no checkpoint in '", PrintableName(ModelDirectory(model)),
                           "/variables': the trained values are missing"));
  }
  return values;
}

}  // namespace

absl::StatusOr<FrozenGraph> FreezeModel(const LoadedGraph& model, const std::vector<std::string>& fetches,
                                        const SessionOptions& options, const std::string& restore) {
  FrozenGraph frozen;
  SLUICE_ASSIGN_OR_RETURN(Graph graph, InlinedGraph(model.graph, fetches, options.limits));
  std::vector<std::string> names;
  for (const NodeId id : graph.Nodes()) {
    if (graph.op(id).traits.makes_variable) names.emplace_back(graph.name(id));
  }
  if (!names.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, ValuesOf(model, names, options, restore));
    for (const Tensor& value : values) frozen.bytes += static_cast<int64_t>(value.total_bytes());
    if (frozen.bytes > std::numeric_limits<int32_t>::max()) {
      return Error(ErrorCode::kLimitFileSize)
          .Text("the values of the variables do not fit in a GraphDef")
          .Found(absl::StrCat(frozen.bytes, " bytes"))
          .Expected("less than 2 GiB");
    }
    VariableFolder folder(graph);
    for (size_t i = 0; i < names.size(); ++i) SLUICE_RETURN_IF_ERROR(folder.Fold(graph.Find(names[i]), values[i]));
  }
  frozen.variables = static_cast<int64_t>(names.size());
  SLUICE_ASSIGN_OR_RETURN(frozen.graph, PruneToNames(graph, fetches));
  return frozen;
}

}  // namespace sluice

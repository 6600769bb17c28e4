#include "executor/saved_model/freeze.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/variable_folder.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/inliner.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/format.h"
#include "graph/passes/prune.h"

namespace sluice {
namespace {

// What `fetches` need, without calls of functions.
absl::StatusOr<Graph> InlinedGraph(const Graph& graph, const std::vector<std::string>& fetches) {
  SLUICE_ASSIGN_OR_RETURN(Graph pruned, PruneToNames(graph, fetches));
  InlineOptions options;
  options.ignore_marks = true;
  options.lower_unmarked = true;
  for (const std::string& fetch : fetches) options.keep.push_back(pruned.Find(ParseTensorId(fetch).node));
  SLUICE_RETURN_IF_ERROR(InlineFunctionCalls(pruned, options).status());
  return PruneToNames(pruned, fetches);
}

// The values that the variables of these names have in a model that is ready.
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
  SLUICE_ASSIGN_OR_RETURN(Graph graph, InlinedGraph(model.graph, fetches));
  std::vector<std::string> names;
  for (const NodeId id : graph.Nodes()) {
    if (IsVariableOp(graph.op_name(id))) names.emplace_back(graph.name(id));
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

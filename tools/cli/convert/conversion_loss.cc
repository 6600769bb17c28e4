#include "tools/cli/convert/conversion_loss.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

bool IsVariable(absl::string_view op) {
  return op == "VarHandleOp" || op == "VariableV2" || op == "Variable" || op == "AutoReloadVariable";
}

// Whether files beside the SavedModel hold the values of its variables.
bool HasVariableFiles(const LoadedGraph& model) {
  if (!IsSavedModel(model.format)) return false;
  std::error_code ignored;
  std::filesystem::path directory(model.source);
  if (!std::filesystem::is_directory(directory, ignored)) directory = directory.parent_path();
  return std::filesystem::exists(directory / "variables" / "variables.index", ignored);
}

std::vector<std::string> Variables(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.Nodes()) {
    if (IsVariable(graph.op_name(id))) names.emplace_back(graph.name(id));
  }
  return names;
}

// "features = x:0, mask = m:0", the first few.
std::string TensorList(const std::vector<SignatureTensor>& tensors) {
  constexpr size_t kMaxTensors = 6;
  std::vector<std::string> parts;
  for (const SignatureTensor& tensor : tensors) {
    if (parts.size() == kMaxTensors) {
      parts.push_back(absl::StrCat("… ", tensors.size() - kMaxTensors, " more"));
      break;
    }
    parts.push_back(absl::StrCat(PrintableName(tensor.key), " = ", PrintableName(tensor.name)));
  }
  return parts.empty() ? "nothing" : absl::StrJoin(parts, ", ");
}

}  // namespace

std::vector<std::string> ConversionLosses(const LoadedGraph& model) {
  std::vector<std::string> losses;
  const size_t num_variables = Variables(model.graph).size();
  if (num_variables > 0 && HasVariableFiles(model)) {
    losses.push_back(absl::StrCat("the values of ", CountOf(static_cast<int64_t>(num_variables), "variable")));
  }
  for (const ModelSignature& signature : model.meta.signatures) {
    if (absl::StartsWith(signature.key, "__saved_model_")) continue;
    losses.push_back(absl::StrCat("signature '", PrintableName(signature.key), "': inputs ",
                                  TensorList(signature.inputs), "; outputs ", TensorList(signature.outputs)));
  }
  if (!model.meta.init_ops.empty()) {
    losses.push_back(absl::StrCat("which node initialises it: '", PrintableName(model.meta.init_ops[0]), "'"));
  }
  if (!model.meta.assets.empty()) losses.push_back(CountOf(static_cast<int64_t>(model.meta.assets.size()), "asset"));
  if (!model.meta.collections.empty()) {
    losses.push_back(CountOf(static_cast<int64_t>(model.meta.collections.size()), "collection"));
  }
  return losses;
}

absl::Status CheckRunsWithoutVariables(const LoadedGraph& model) {
  const std::vector<std::string> variables = Variables(model.graph);
  if (variables.empty() || !HasVariableFiles(model)) return absl::OkStatus();
  return Error(ErrorCode::kSavedModelKind)
      .Text(absl::StrCat("the result could not run: it needs the values of ",
                         CountOf(static_cast<int64_t>(variables.size()), "variable"), " ('",
                         PrintableName(variables[0]), "'", variables.size() > 1 ? ", …" : "",
                         "), which are in variables/ and have no place in a GraphDef"))
      .Help(
          "add --freeze to put them into the graph as constants; --drop-variables writes the graph without the values");
}

}  // namespace sluice

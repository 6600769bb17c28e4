#include "tools/cli/convert/conversion_loss.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/ir/tensor_id.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

// Whether files beside the SavedModel hold the values of its variables.
bool HasVariableFiles(const LoadedGraph& model) {
  if (!IsSavedModel(model.format)) return false;
  std::error_code ignored;
  std::filesystem::path directory(model.source);
  if (!std::filesystem::is_directory(directory, ignored)) directory = directory.parent_path();
  return std::filesystem::exists(directory / "variables" / "variables.index", ignored);
}

// Whether the op makes a table that the model's init must fill: until then lookups fail.
bool IsFilledByInit(const OpSchema& op) { return op.name == "HashTableV2" || op.name == "HashTable"; }

bool IsVariable(const OpSchema& op) { return op.traits.makes_variable; }

// Whether the graph has all nodes that initialise the model.
bool HasInit(const LoadedGraph& model) {
  const std::vector<std::string>& names = model.meta.init_ops;
  return std::all_of(names.begin(), names.end(), [&model](const std::string& name) {
    return model.graph.Contains(model.graph.Find(ParseTensorId(name).node));
  });
}

template <typename Wanted>
std::vector<std::string> NamesOf(const Graph& graph, const Wanted& is_wanted) {
  std::vector<std::string> names;
  for (const NodeId id : graph.Nodes()) {
    if (is_wanted(graph.op(id))) names.emplace_back(graph.name(id));
  }
  return names;
}

std::string VariablesText(const MissingState& missing) {
  return absl::StrCat("the values of ", CountOf(static_cast<int64_t>(missing.variables.size()), "variable"));
}
std::string TablesText(const MissingState& missing) {
  return absl::StrCat("the contents of ", CountOf(static_cast<int64_t>(missing.tables.size()), "lookup table"));
}
// " ('a', …)"
std::string FirstOf(const std::vector<std::string>& names) {
  return absl::StrCat(" ('", PrintableName(names[0]), "'", names.size() > 1 ? ", …" : "", ")");
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

MissingState FindMissingState(const LoadedGraph& model) {
  MissingState missing;
  if (HasVariableFiles(model)) missing.variables = NamesOf(model.graph, IsVariable);
  if (IsSavedModel(model.format) && !HasInit(model)) missing.tables = NamesOf(model.graph, IsFilledByInit);
  return missing;
}

std::vector<std::string> StateLosses(const MissingState& missing) {
  std::vector<std::string> losses;
  if (!missing.variables.empty()) losses.push_back(VariablesText(missing));
  if (!missing.tables.empty()) losses.push_back(TablesText(missing));
  return losses;
}

absl::Status CheckRunsWithout(const MissingState& missing) {
  if (!missing.variables.empty()) {
    return Error(ErrorCode::kSavedModelKind)
        .Text(absl::StrCat("the result could not run: it needs ", VariablesText(missing), FirstOf(missing.variables),
                           ", which are in variables/ and have no place in a GraphDef"))
        .Help(
            "add --freeze to put them into the graph as constants; --drop-variables writes the graph without the "
            "values");
  }
  if (missing.tables.empty()) return absl::OkStatus();
  return Error(ErrorCode::kSavedModelKind)
      .Text(absl::StrCat("the result could not run: it needs ", TablesText(missing), FirstOf(missing.tables),
                         ", which the model's init fills and which have no place in a GraphDef"))
      .Help("--drop-variables writes the graph without them; `sluice run` can run the model as it is");
}

}  // namespace sluice

#include "tools/cli/train/train_export.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "executor/saved_model/model_state.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/meta_graph_export.h"
#include "tools/cli/run/model_names.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kInitSignature = "__saved_model_init_op", kDefaultSignature = "serving_default";

// The signatures of the model by whose keys users may name tensors: the chosen one first, then the default one.
std::vector<const ModelSignature*> SignaturesInOrder(const LoadedGraph& model, const ModelNames& names) {
  std::vector<const ModelSignature*> signatures;
  const auto add = [&](const ModelSignature* signature) {
    const bool is_new = std::find(signatures.begin(), signatures.end(), signature) == signatures.end();
    if (signature != nullptr && is_new) signatures.push_back(signature);
  };
  add(names.signature());
  add(model.meta.FindSignature(kDefaultSignature));
  for (const ModelSignature& signature : model.meta.signatures) add(&signature);
  return signatures;
}

// The nodes that `roots` need, in the order of ids.
std::vector<NodeId> NodesNeededBy(const Graph& graph, const std::vector<NodeId>& roots) {
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> needed;
  const auto add = [&](NodeId id) {
    if (!graph.Contains(id) || seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const NodeId id : roots) add(id);
  for (size_t next = 0; next < needed.size(); ++next) {
    for (const Output& input : graph.all_inputs(needed[next])) add(input.node);
  }
  std::sort(needed.begin(), needed.end());
  return needed;
}

// The placeholders that `outputs` need, by what callers call them: keys of signatures, unless one means two of them.
std::vector<std::pair<std::string, Output>> InputsOf(const Graph& graph,
                                                     const std::vector<const ModelSignature*>& signatures,
                                                     const std::vector<std::pair<std::string, Output>>& outputs) {
  std::vector<NodeId> roots;
  for (const auto& [key, output] : outputs) roots.push_back(output.node);
  std::vector<std::pair<std::string, Output>> inputs;
  std::set<std::string> used;
  for (const NodeId id : NodesNeededBy(graph, roots)) {
    if (!graph.Is(id, "Placeholder") && !graph.Is(id, "PlaceholderV2")) continue;
    const std::string node(graph.name(id));
    std::string name = node;
    for (const ModelSignature* const signature : signatures) {
      for (const SignatureTensor& tensor : signature->inputs) {
        const bool is_it = tensor.name == node || tensor.name == absl::StrCat(node, ":0");
        if (is_it && name == node) name = tensor.key;
      }
    }
    if (!used.insert(name).second) name = node;
    inputs.emplace_back(name, Output{id, 0});
  }
  return inputs;
}

// Finds the output that `name` means for the exported model: a tensor or a node, or a result of some signature.
absl::StatusOr<Output> FindExported(const LoadedGraph& model, const ModelNames& names,
                                    const std::vector<const ModelSignature*>& signatures, const std::string& name) {
  const Graph& graph = model.graph;
  std::string endpoint = names.OutputEndpoint(name);
  for (size_t i = 0; i < signatures.size() && !graph.Contains(graph.Find(ParseTensorId(endpoint).node)); ++i) {
    for (const SignatureTensor& tensor : signatures[i]->outputs) {
      if (tensor.key == name && !tensor.name.empty()) endpoint = tensor.name;
    }
  }
  const NodeId id = graph.Find(ParseTensorId(endpoint).node);
  if (!graph.Contains(id)) return names.Unknown(ErrorCode::kFetchUnknown, "output", name);
  const absl::StatusOr<Output> output = graph.FindOutput(endpoint);
  if (output.ok() && (output->is_control() || output->index >= graph.num_outputs(output->node))) {
    return Error(ErrorCode::kFetchNoOutput)
        .Node(graph.name(id), graph.op_name(id))
        .Text("cannot be an output of the exported model: it has no value");
  }
  return output;
}

// Returns the signatures that the exported model keeps, without wrong ones.
std::vector<ModelSignature> KeptSignatures(const LoadedGraph& model, const std::string& replaced) {
  std::vector<ModelSignature> kept;
  for (const ModelSignature& signature : model.meta.signatures) {
    const bool is_init = signature.key == kInitSignature || signature.outputs.empty();
    if (is_init || signature.key == replaced || !CheckSignature(model.graph, signature).ok()) continue;
    kept.push_back(signature);
  }
  return kept;
}

// The init op of the model, which fills its tables, and the files that it reads.
absl::Status AddInit(const LoadedGraph& model, ModelExport* what) {
  if (model.meta.init_ops.size() != 1) return absl::OkStatus();
  what->init_op = model.meta.init_ops[0].substr(0, model.meta.init_ops[0].find(':'));
  for (const ModelAsset& asset : model.meta.assets) {
    SLUICE_ASSIGN_OR_RETURN(std::string path, AssetPath(model, asset));
    what->assets.push_back(asset);
    what->asset_paths.push_back(std::move(path));
  }
  return absl::OkStatus();
}

// Files and directories of a SavedModel.
constexpr const char* kModelParts[] = {"saved_model.pb", "saved_model.pbtxt", "saved_model.cpb", "variables",
                                       "assets",         "assets.extra",      "debug",           "keras_metadata.pb",
                                       "fingerprint.pb"};

}  // namespace

absl::Status CheckExportPlace(const TrainRequest& request) {
  std::error_code ignored;
  const fs::directory_iterator first(request.export_to, ignored);
  if (request.force || first == fs::directory_iterator()) return absl::OkStatus();
  const bool is_model = fs::exists(fs::path(request.export_to) / "saved_model.pb", ignored);
  return Error(ErrorCode::kCannotRun)
      .Help(is_model ? "name another --export directory, or add --force: it is replaced then"
                     : "name another --export directory, or add --force: these files stay, beside the model")
      .Text(absl::StrCat("--export '", PrintableName(request.export_to, 1000), "': there is ",
                         is_model ? "a SavedModel in it" : "something in this directory: '",
                         is_model ? "" : PrintableName(first->path().filename().string()), is_model ? "" : "'"));
}

absl::Status ExportTrained(const TrainRequest& request, const LoadedGraph& model, const ModelExport& what,
                           const NamedTensors& values) {
  SLUICE_RETURN_IF_ERROR(CheckExportPlace(request));  // Checked again: files may have appeared since.
  std::error_code failed;
  for (const char* const part : kModelParts) {
    if (request.force) fs::remove_all(fs::path(request.export_to) / part, failed);
  }
  return WriteSavedModel(request.export_to, model.graph, what, values);
}

absl::StatusOr<ModelExport> PlanExport(const LoadedGraph& model, const TrainPlan& plan, const TrainRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, request.signature));
  const std::vector<const ModelSignature*> signatures = SignaturesInOrder(model, names);
  ModelExport what;
  what.signatures = KeptSignatures(model, request.outputs.empty() ? "" : what.signature);
  if (request.outputs.empty() && what.signatures.empty()) {
    return Error(ErrorCode::kValueSyntax)
        .Help("add --output NAME,... ; `sluice show` lists the outputs of the model")
        .Text("--export needs outputs: this model has no signature that names them");
  }
  ErrorCollector errors;
  for (const std::string& name : request.outputs) {
    const absl::StatusOr<Output> output = FindExported(model, names, signatures, name);
    output.ok() ? what.outputs.emplace_back(name, *output) : what.outputs.emplace_back();
    errors.Add(output.status());
  }
  SLUICE_RETURN_IF_ERROR(errors.Finish());
  what.inputs = InputsOf(model.graph, signatures, what.outputs);
  for (const std::string& name : plan.trained) what.trainable.push_back(model.graph.Find(name));
  SLUICE_RETURN_IF_ERROR(AddInit(model, &what));
  return what;
}

absl::StatusOr<std::string> TrainingMetaGraph(LoadedGraph& model, const TrainPlan& plan) {
  MetaGraphInfo info = model.meta;
  if (info.tags.empty()) info.tags = {"train"};
  if (info.tensorflow_version.empty()) info.tensorflow_version = ModelExport().tensorflow_version;
  info.assets.clear();  // Their files stay where the model is.
  if (!plan.saver.variables.empty()) info.saver = plan.saver.saver;
  if (info.FindCollection("variables") == nullptr) {
    std::vector<NodeId> variables, assigns, trained;
    for (const std::string& name : plan.saver.variables) variables.push_back(model.graph.Find(name));
    for (const std::string& name : plan.saver.assigns) assigns.push_back(model.graph.Find(name));
    for (const std::string& name : plan.trained) trained.push_back(model.graph.Find(name));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<ModelCollection> collections,
                            VariableCollections(model.graph, variables, assigns, trained));
    info.collections.insert(info.collections.end(), collections.begin(), collections.end());
  }
  return ExportMetaGraph(model.graph, info);
}

}  // namespace sluice

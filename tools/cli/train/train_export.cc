#include "tools/cli/train/train_export.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/meta_graph_export.h"
#include "tools/cli/run/model_names.h"

namespace sluice {
namespace {

// The placeholders that `outputs` need, by what callers call them.
std::vector<std::pair<std::string, Output>> InputsOf(const Graph& graph, const ModelNames& names,
                                                     const std::vector<std::pair<std::string, Output>>& outputs) {
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> needed;
  const auto add = [&](NodeId id) {
    if (seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const auto& [key, output] : outputs) add(output.node);
  for (size_t next = 0; next < needed.size(); ++next) {
    for (const Output& input : graph.all_inputs(needed[next])) add(input.node);
  }
  std::sort(needed.begin(), needed.end());
  std::vector<std::pair<std::string, Output>> inputs;
  for (const NodeId id : needed) {
    if (!graph.Is(id, "Placeholder") && !graph.Is(id, "PlaceholderV2")) continue;
    inputs.emplace_back(names.InputName(std::string(graph.name(id))), Output{id, 0});
  }
  return inputs;
}

// What is exported has no init op: a table that one fills would stay empty.
absl::Status CheckTables(const LoadedGraph& model, const ModelExport& what) {
  if (model.meta.init_ops.empty()) return absl::OkStatus();
  std::vector<bool> seen(static_cast<size_t>(model.graph.id_limit()));
  std::vector<NodeId> needed;
  const auto add = [&](NodeId id) {
    if (seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const auto& [key, output] : what.outputs) add(output.node);
  for (size_t next = 0; next < needed.size(); ++next) {
    const absl::string_view op = model.graph.op_name(needed[next]);
    if (absl::StrContains(op, "HashTable")) {
      return model.graph.Locate(
          needed[next],
          Error(ErrorCode::kUnsupported)
              .Help("train without --export: the checkpoints hold what was learnt, `--restore` reads them")
              .Text("is a table that the init op of the model fills: --export does not write such models"));
    }
    for (const Output& input : model.graph.all_inputs(needed[next])) add(input.node);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelExport> PlanExport(const LoadedGraph& model, const TrainPlan& plan, const TrainRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, request.signature));
  std::vector<std::string> wanted = request.outputs;
  if (wanted.empty() && names.signature() != nullptr) {
    for (const SignatureTensor& tensor : names.signature()->outputs) wanted.push_back(tensor.key);
  }
  if (wanted.empty()) {
    return Error(ErrorCode::kValueSyntax)
        .Help("add --output NAME,... ; `sluice show` lists the outputs of the model")
        .Text("--export needs to know what the exported model answers: this one has no signature that says so");
  }
  ModelExport what;
  ErrorCollector errors;
  for (const std::string& name : wanted) {
    const std::string endpoint = names.OutputEndpoint(name);
    const NodeId id = model.graph.Find(ParseTensorId(endpoint).node);
    if (!model.graph.Contains(id)) {
      errors.Add(names.Unknown(ErrorCode::kFetchUnknown, "output", name));
      continue;
    }
    absl::StatusOr<Output> output = model.graph.FindOutput(endpoint);
    if (output.ok() && (output->is_control() || output->index >= model.graph.num_outputs(output->node))) {
      output = Error(ErrorCode::kFetchNoOutput)
                   .Node(model.graph.name(id), model.graph.op_name(id))
                   .Text("is to be an output of the exported model and has no value");
    }
    output.ok() ? what.outputs.emplace_back(name, *output) : what.outputs.emplace_back();
    errors.Add(output.status());
  }
  SLUICE_RETURN_IF_ERROR(errors.Finish());
  SLUICE_RETURN_IF_ERROR(CheckTables(model, what));
  if (!request.signature.empty()) what.signature = request.signature;
  what.inputs = InputsOf(model.graph, names, what.outputs);
  for (const std::string& name : plan.trained) what.trainable.push_back(model.graph.Find(name));
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

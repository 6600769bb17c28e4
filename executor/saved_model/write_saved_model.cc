#include "executor/saved_model/write_saved_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/saver_nodes.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/consumers.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/meta_graph_export.h"
#include "graph/passes/prune.h"
#include "graph/placement/reachable_functions.h"
#include "graph/shapes/inference.h"
#include "graph/training/variable_node.h"
#include "kernels/checkpoint/bundle_writer.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPredict = "tensorflow/serving/predict";

bool IsFirstAssign(const Graph& graph, const VariableNode& variable, const Use& use) {
  const bool is_assign = graph.Is(use.node, variable.is_resource() ? "AssignVariableOp" : "Assign");
  return is_assign && use.input == 0 && graph.name(use.node) == absl::StrCat(graph.name(variable.id()), "/Assign");
}

// The first read of a variable among its uses, or an unset output.
Output ReadAmong(const Graph& graph, const VariableNode& variable, absl::Span<const Use> uses) {
  for (const Use& use : uses) {
    const bool is_read = graph.Is(use.node, variable.is_resource() ? "ReadVariableOp" : "Identity");
    if (is_read && graph.controls(use.node).empty()) return {use.node, 0};
  }
  return Output{NodeId(), 0};
}

std::string TensorName(const Graph& graph, const Output& output) {
  return absl::StrCat(graph.name(output.node), ":", output.index);
}

// Returns the roots of the written graph: outputs, inputs, and the initialisers of the variables that they need.
absl::StatusOr<std::vector<NodeId>> KeptRoots(const Graph& graph, const ModelExport& what) {
  std::vector<NodeId> roots;
  for (const auto* ends : {&what.outputs, &what.inputs}) {
    for (const auto& [key, output] : *ends) {
      if (!graph.Contains(output.node) || output.index < 0 || output.index >= graph.num_outputs(output.node)) {
        return Error(ErrorCode::kFetchUnknown)
            .Text(absl::StrCat("'", PrintableName(key), "' of the signature is not a tensor of the graph"));
      }
      roots.push_back(output.node);
    }
  }
  if (what.outputs.empty() && what.signatures.empty()) {
    return Error(ErrorCode::kFetchUnknown).Text("a SavedModel without outputs is of no use");
  }
  const auto add_named = [&](absl::string_view tensor) {
    const NodeId id = graph.Find(ParseTensorId(tensor).node);
    if (graph.Contains(id)) roots.push_back(id);
  };
  for (const ModelSignature& signature : what.signatures) {
    for (const auto* ends : {&signature.inputs, &signature.outputs}) {
      for (const SignatureTensor& tensor : *ends) {
        add_named(tensor.name);
        for (const std::string& component : tensor.components) add_named(component);
      }
    }
  }
  if (!what.init_op.empty()) add_named(what.init_op);
  for (const ModelAsset& asset : what.assets) add_named(asset.tensor);
  const Consumers consumers(graph);
  for (const NodeId id : VariablesNeededBy(graph, roots)) {
    SLUICE_ASSIGN_OR_RETURN(const VariableNode variable, VariableNode::Find(graph, id));
    for (const Use& use : consumers.of(id)) {
      if (IsFirstAssign(graph, variable, use)) roots.push_back(use.node);
    }
  }
  return roots;
}

// Makes the file's entry for the node that loaders run once. Not the signature "__saved_model_init_op": if a model has
// no objects, TensorFlow takes that for a signature of users, and refuses it if it reads the file of a table.
ModelCollection InitCollection(const std::string& init_op) {
  ModelCollection collection;
  collection.key = "saved_model_main_op";
  collection.kind = ModelCollection::Kind::kNodes;
  collection.items = {init_op};
  return collection;
}

absl::Status CopyAssets(const fs::path& directory, const ModelExport& what) {
  for (size_t i = 0; i < what.assets.size(); ++i) {
    const fs::path to = directory / "assets" / what.assets[i].filename;
    std::error_code failed;
    fs::create_directories(to.parent_path(), failed);
    if (!failed) fs::copy_file(what.asset_paths[i], to, fs::copy_options::overwrite_existing, failed);
    if (!failed) continue;
    return Error(ErrorCode::kFileWrite)
        .Text(absl::StrCat("cannot copy the asset '", PrintableName(what.asset_paths[i], 1000), "' to '",
                           PrintableName(to.string(), 1000), "': ", failed.message()));
  }
  return absl::OkStatus();
}

// The tensors of one side of the signature, in the graph that is written.
absl::StatusOr<std::vector<SignatureTensor>> TensorsOf(const Graph& graph, const ShapeMap& shapes,
                                                       const std::vector<std::pair<std::string, Output>>& ends,
                                                       const std::vector<NodeId>& new_ids) {
  std::vector<SignatureTensor> tensors;
  for (const auto& [key, output] : ends) {
    const Output now = {new_ids[static_cast<size_t>(output.node.value())], output.index};
    SignatureTensor tensor;
    tensor.key = key;
    tensor.name = TensorName(graph, now);
    tensor.dtype = BaseType(graph.output_type(now.node, now.index));
    tensor.shape = shapes.shape(now).WithoutIds();
    tensors.push_back(std::move(tensor));
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return tensors;
}

absl::Status WriteVariables(const std::string& prefix, const std::vector<std::string>& names,
                            const NamedTensors& values) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (const std::string& name : names) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
    if (found == values.end()) {
      return Error(ErrorCode::kUninitialized)
          .Text(absl::StrCat("the variable '", PrintableName(name), "' has no value to be saved"));
    }
    SLUICE_RETURN_IF_ERROR(writer->Add(name, found->second));
  }
  return writer->Finish();
}

}  // namespace

absl::StatusOr<std::vector<ModelCollection>> VariableCollections(Graph& graph, absl::Span<const NodeId> variables,
                                                                 absl::Span<const NodeId> assigns,
                                                                 absl::Span<const NodeId> trainable) {
  ModelCollection all, trained;
  all.key = "variables";
  trained.key = "trainable_variables";
  all.kind = trained.kind = ModelCollection::Kind::kBytes;
  const Consumers consumers(graph);
  GraphEditor edit(graph);
  for (size_t i = 0; i < variables.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const VariableNode variable, VariableNode::Find(graph, variables[i]));
    NodeId initializer = assigns[i];
    for (const Use& use : consumers.of(variable.id())) {
      if (IsFirstAssign(graph, variable, use)) initializer = use.node;
    }
    Output read = ReadAmong(graph, variable, consumers.of(variable.id()));
    const GraphEditor::Scope scope = edit.InName(graph.name(variable.id()));
    if (!read.is_set()) read = variable.Read(edit);
    SLUICE_RETURN_IF_ERROR(edit.status());
    VariableFacts facts;
    facts.variable = TensorName(graph, variable.output());
    facts.initializer = std::string(graph.name(initializer));
    facts.initial_value = TensorName(graph, graph.inputs(initializer)[1]);
    facts.snapshot = TensorName(graph, read);
    facts.is_resource = variable.is_resource();
    facts.is_trainable = std::find(trainable.begin(), trainable.end(), variables[i]) != trainable.end();
    all.items.push_back(EncodeVariableFacts(facts));
    if (facts.is_trainable) trained.items.push_back(all.items.back());
  }
  std::vector<ModelCollection> collections;
  if (!trained.items.empty()) collections.push_back(std::move(trained));
  if (!all.items.empty()) collections.push_back(std::move(all));
  return collections;
}

absl::Status WriteSavedModel(const std::string& directory, const Graph& graph, const ModelExport& what,
                             const NamedTensors& values) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> roots, KeptRoots(graph, what));
  std::vector<NodeId> new_ids;
  Graph kept = PruneTo(graph, roots, &new_ids);
  KeepReachableFunctions(kept);
  std::vector<NodeId> kept_roots, trainable, assigns;
  for (const NodeId root : roots) kept_roots.push_back(new_ids[static_cast<size_t>(root.value())]);
  for (const NodeId id : what.trainable) trainable.push_back(new_ids[static_cast<size_t>(id.value())]);
  const std::vector<NodeId> variables = VariablesNeededBy(kept, kept_roots);
  SLUICE_ASSIGN_OR_RETURN(const SaverNodes saver, AddSaver(kept, variables));
  for (const std::string& assign : saver.assigns) assigns.push_back(kept.Find(assign));
  MetaGraphInfo info;
  info.tags = {"serve"};
  info.tensorflow_version = what.tensorflow_version;
  SLUICE_ASSIGN_OR_RETURN(info.collections, VariableCollections(kept, variables, assigns, trainable));
  if (!variables.empty()) info.saver = saver.saver;
  SLUICE_ASSIGN_OR_RETURN(const ShapeMap shapes, InferShapes(kept, {}));
  info.signatures = what.signatures;
  info.assets = what.assets;
  if (!what.init_op.empty()) info.collections.insert(info.collections.begin(), InitCollection(what.init_op));
  if (!what.outputs.empty()) {
    ModelSignature signature;
    signature.key = what.signature;
    signature.method_name = std::string(kPredict);
    SLUICE_ASSIGN_OR_RETURN(signature.inputs, TensorsOf(kept, shapes, what.inputs, new_ids));
    SLUICE_ASSIGN_OR_RETURN(signature.outputs, TensorsOf(kept, shapes, what.outputs, new_ids));
    info.signatures.push_back(std::move(signature));
  }
  std::sort(info.signatures.begin(), info.signatures.end(), [](const auto& a, const auto& b) { return a.key < b.key; });

  std::error_code failed;
  const fs::path folder = fs::path(directory) / "variables";
  fs::create_directories(variables.empty() ? fs::path(directory) : folder, failed);
  if (failed) {
    return Error(ErrorCode::kFileWrite)
        .Text(absl::StrCat("cannot make the directory '", PrintableName(directory, 1000), "': ", failed.message()));
  }
  if (!variables.empty()) {
    SLUICE_RETURN_IF_ERROR(WriteVariables((folder / "variables").string(), saver.variables, values));
  }
  SLUICE_RETURN_IF_ERROR(CopyAssets(directory, what));
  return WriteFile((fs::path(directory) / "saved_model.pb").string(), ExportSavedModel(ExportMetaGraph(kept, info)));
}

}  // namespace sluice

#include "tools/cli/report/report_json.h"

#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/cli/console/error_json.h"
#include "tools/cli/console/json_document.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

template <typename List, typename Convert>
Json ArrayOf(const List& list, Convert convert) {
  Json out = Json::array();
  for (const auto& item : list) out.push_back(convert(item));
  return out;
}

Json ShapeJson(const PartialShape& shape) {
  if (!shape.has_rank()) return nullptr;
  return ArrayOf(shape.dims(), [](int64_t dim) { return dim < 0 ? Json(nullptr) : Json(dim); });
}

Json CountsJson(const std::vector<NamedCount>& counts) {
  Json out = Json::object();
  for (const NamedCount& entry : counts) out[entry.name] = entry.count;
  return out;
}

Json TensorJson(const TensorFact& tensor) {
  return {
      {"name", tensor.name}, {"op", tensor.op}, {"dtype", DTypeText(tensor.dtype)}, {"shape", ShapeJson(tensor.shape)}};
}

Json SignatureJson(const ModelSignature& signature) {
  const auto tensors = [](const std::vector<SignatureTensor>& list) {
    Json out = Json::object();
    for (const SignatureTensor& tensor : list) {
      Json entry = {{"name", tensor.name}, {"dtype", DTypeText(tensor.dtype)}, {"shape", ShapeJson(tensor.shape)}};
      if (!tensor.components.empty()) entry["components"] = tensor.components;
      out[tensor.key] = std::move(entry);
    }
    return out;
  };
  return {{"method_name", signature.method_name},
          {"inputs", tensors(signature.inputs)},
          {"outputs", tensors(signature.outputs)}};
}

Json FunctionJson(const FunctionFact& function) {
  const auto args = [](const std::vector<std::pair<std::string, std::string>>& list) {
    return ArrayOf(list, [](const auto& arg) { return Json{{"name", arg.first}, {"type", arg.second}}; });
  };
  Json out = {{"name", function.name},
              {"args", args(function.args)},
              {"results", args(function.results)},
              {"nodes", function.num_nodes},
              {"ops", CountsJson(function.ops)}};
  if (!function.gradient.empty()) out["gradient"] = function.gradient;
  return out;
}

Json FrameJson(const FrameFact& frame) {
  return {{"name", frame.name},
          {"parent", frame.parent.empty() ? Json(nullptr) : Json(frame.parent)},
          {"nodes", frame.num_nodes},
          {"loop_variables", frame.num_loop_variables},
          {"constants", frame.num_constants},
          {"parallel_iterations", frame.parallel_iterations}};
}

Json VariableJson(const VariableFact& variable) {
  return {{"name", variable.name},
          {"kind", variable.is_resource ? "resource" : "ref"},
          {"dtype", DTypeText(variable.dtype)},
          {"shape", ShapeJson(variable.shape)},
          {"bytes", variable.bytes < 0 ? Json(nullptr) : Json(variable.bytes)},
          {"read_by_signature", variable.is_read},
          {"aliases", variable.aliases}};
}

Json ConstantJson(const ConstantFact& constant) {
  return {{"name", constant.name},
          {"dtype", DTypeText(constant.dtype)},
          {"shape", ShapeJson(constant.shape)},
          {"bytes", constant.bytes}};
}

Json ScopeJson(const NameScope& scope) {
  return {{"name", scope.path}, {"nodes", scope.num_nodes}, {"constant_bytes", scope.constant_bytes}};
}

void AddMetaGraph(const ModelReport& report, Json* out) {
  (*out)["tags"] = report.tags;
  (*out)["tag_sets"] = report.tag_sets;
  Json signatures = Json::object();
  for (const ModelSignature& signature : report.signatures) signatures[signature.key] = SignatureJson(signature);
  (*out)["signatures"] = std::move(signatures);
  (*out)["init_ops"] = report.init_ops;
  (*out)["assets"] = ArrayOf(report.assets, [](const ModelAsset& asset) {
    return Json{{"filename", asset.filename}, {"tensor", asset.tensor}};
  });
  Json collections = Json::object();
  for (const ModelCollection& collection : report.collections) collections[collection.key] = collection.count;
  (*out)["collections"] = std::move(collections);
}

}  // namespace

std::string RenderReportJson(const ModelReport& report) {
  Json out = {{"model", report.source},
              {"format", report.format},
              {"bytes", report.source_bytes},
              {"memory_bytes", report.graph_memory_bytes},
              {"versions",
               {{"producer", report.versions.producer},
                {"min_consumer", report.versions.min_consumer},
                {"bad_consumers", report.versions.bad_consumers}}},
              {"tensorflow_version", report.tensorflow_version},
              {"nodes", report.num_nodes},
              {"data_edges", report.num_data_edges},
              {"control_edges", report.num_control_edges},
              {"op_types", CountsJson(report.ops)},
              {"function_op_types", CountsJson(report.function_ops)},
              {"inputs", ArrayOf(report.inputs, TensorJson)},
              {"outputs", ArrayOf(report.outputs, TensorJson)},
              {"targets", ArrayOf(report.targets, [](const NamedCount& target) { return Json(target.name); })}};
  AddMetaGraph(report, &out);
  out["functions"] = ArrayOf(report.functions, FunctionJson);
  out["frames"] = ArrayOf(report.frames, FrameJson);
  out["variables"] = ArrayOf(report.variables, VariableJson);
  out["training"] = ArrayOf(report.training, [](const TrainingFact& fact) {
    return Json{{"role", fact.role}, {"name", fact.name}};
  });
  out["resources"] = CountsJson(report.resources);
  out["constants"] = {{"count", report.num_constants},
                      {"bytes", report.constant_bytes},
                      {"largest", ArrayOf(report.largest_constants, ConstantJson)}};
  out["scopes"] = ArrayOf(report.scopes, ScopeJson);
  out["devices"] = CountsJson(report.devices);
  out["warnings"] = report.warnings;
  out["num_errors"] = report.num_errors;
  out["errors"] = ErrorsJson(report.errors);
  return JsonDocument(out);
}

}  // namespace sluice

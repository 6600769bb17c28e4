#include "tools/cli/report/model_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "tools/cli/report/endpoint_guess.h"
#include "tools/cli/report/variable_aliases.h"

namespace sluice {
namespace {

constexpr size_t kLargestConstants = 10;

using Counts = absl::flat_hash_map<absl::string_view, int64_t>;

// Most frequent first, then by name.
std::vector<NamedCount> Ranked(const Counts& counts) {
  std::vector<NamedCount> ranked;
  for (const auto& [name, count] : counts) ranked.push_back({std::string(name), count});
  std::sort(ranked.begin(), ranked.end(), [](const NamedCount& a, const NamedCount& b) {
    return a.count != b.count ? a.count > b.count : a.name < b.name;
  });
  return ranked;
}

// Ops that own state other than variables.
bool IsResourceOp(absl::string_view op) {
  constexpr absl::string_view kEndings[] = {
      "Queue", "QueueV2", "Table",         "TableV2", "Iterator",    "IteratorV2", "Barrier",  "Reader",     "ReaderV2",
      "Stack", "StackV2", "SummaryWriter", "MutexV2", "Accumulator", "Stage",      "MapStage", "LookupTable"};
  if (absl::StartsWith(op, "TensorList") || absl::StartsWith(op, "TensorArray")) return false;
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [op](absl::string_view ending) { return absl::EndsWith(op, ending); });
}

std::string TypeText(const ArgSpec& arg) {
  if (!arg.type_list_attr.empty()) return arg.type_list_attr;
  const std::string type = arg.dtype != DType::kInvalid ? DTypeName(arg.dtype) : arg.type_attr;
  return arg.number_attr.empty() ? type : absl::StrCat(arg.number_attr, "*", type);
}

FunctionFact ReportFunction(const FunctionDefinition& function, absl::string_view gradient, Counts* all_ops) {
  FunctionFact fact;
  fact.name = function.name();
  fact.gradient = std::string(gradient);
  for (const ArgSpec& arg : function.schema.inputs) fact.args.emplace_back(arg.name, TypeText(arg));
  for (const ArgSpec& arg : function.schema.outputs) fact.results.emplace_back(arg.name, TypeText(arg));
  fact.num_nodes = static_cast<int64_t>(function.nodes.size());
  Counts ops;
  for (const NodeDefView& node : function.nodes) {
    ++ops[node.op];
    ++(*all_ops)[node.op];
  }
  fact.ops = Ranked(ops);
  return fact;
}

FrameFact ReportFrame(const Graph& graph, const ControlFlowInfo& info, const StaticFrame& frame) {
  FrameFact fact;
  fact.name = frame.name;
  if (frame.parent >= 0) fact.parent = info.frames[static_cast<size_t>(frame.parent)].name;
  fact.num_nodes = frame.num_nodes;
  fact.parallel_iterations = frame.parallel_iterations;
  for (const NodeId enter : frame.enters) {
    const absl::StatusOr<bool> is_constant = graph.GetBool(enter, "is_constant");
    ++(is_constant.ok() && *is_constant ? fact.num_constants : fact.num_loop_variables);
  }
  return fact;
}

VariableFact ReportVariable(const Graph& graph, NodeId id) {
  VariableFact fact;
  fact.name = std::string(graph.name(id));
  fact.is_resource = graph.Is(id, "VarHandleOp");
  const absl::StatusOr<DType> dtype = graph.GetType(id, "dtype");
  if (dtype.ok()) fact.dtype = *dtype;
  absl::StatusOr<PartialShape> shape = graph.GetShape(id, "shape");
  if (shape.ok()) fact.shape = *std::move(shape);
  int64_t bytes = fact.shape.num_elements();
  if (bytes >= 0 && IsTrivial(fact.dtype) && CheckedMul(bytes, static_cast<int64_t>(DTypeSize(fact.dtype)), &bytes)) {
    fact.bytes = bytes;
  }
  return fact;
}

// One walk over the nodes.
void ReportNodes(const LoadedGraph& model, ModelReport* report) {
  const Graph& graph = model.graph;
  Counts ops, devices, resources;
  const VariableAliases aliases = FindVariableAliases(model);
  absl::flat_hash_map<NodeId, std::vector<std::string>> aliases_of;
  absl::flat_hash_map<NodeId, size_t> index_of;  // In the list of variables.
  for (const NodeId id : graph.Nodes()) {
    const absl::string_view op = graph.op_name(id);
    ++ops[op];
    ++devices[graph.device(id)];
    report->num_data_edges += static_cast<int64_t>(graph.inputs(id).size());
    report->num_control_edges += static_cast<int64_t>(graph.controls(id).size());
    const bool is_variable = graph.op(id).traits.makes_variable;
    if (is_variable && aliases.meant.contains(id)) {
      aliases_of[aliases.meant.at(id)].emplace_back(graph.name(id));
    } else if (is_variable) {
      index_of[id] = report->variables.size();
      report->variables.push_back(ReportVariable(graph, id));
      report->variable_bytes += std::max<int64_t>(0, report->variables.back().bytes);
    } else if (IsResourceOp(op)) {
      ++resources[op];
    } else if (op == "Const") {
      ++report->num_constants;
      report->largest_constants.push_back({std::string(graph.name(id)), graph.output_type(id, 0),
                                           OutputShape(model, {id, 0}), ConstantBytes(graph, id)});
      report->constant_bytes += report->largest_constants.back().bytes;
    }
    // Sorting now and then keeps the list short.
    if (report->largest_constants.size() >= 1000) {
      std::stable_sort(report->largest_constants.begin(), report->largest_constants.end(),
                       [](const ConstantFact& a, const ConstantFact& b) { return a.bytes > b.bytes; });
      report->largest_constants.resize(kLargestConstants);
    }
  }
  std::stable_sort(report->largest_constants.begin(), report->largest_constants.end(),
                   [](const ConstantFact& a, const ConstantFact& b) { return a.bytes > b.bytes; });
  if (report->largest_constants.size() > kLargestConstants) report->largest_constants.resize(kLargestConstants);
  report->num_nodes = static_cast<int64_t>(graph.num_nodes());
  report->ops = Ranked(ops);
  report->devices = Ranked(devices);
  report->resources = Ranked(resources);
  for (auto& [id, names] : aliases_of) report->variables[index_of.at(id)].aliases = std::move(names);
  for (const NodeId id : aliases.read) report->variables[index_of.at(id)].is_read = true;
  std::sort(report->variables.begin(), report->variables.end(), [](const VariableFact& a, const VariableFact& b) {
    return a.is_read != b.is_read ? a.is_read : a.name < b.name;
  });
}

TensorFact ReportTensor(const LoadedGraph& model, const Output& output) {
  const DType dtype = model.graph.output_type(output.node, output.index);
  return {model.graph.OutputName(output), std::string(model.graph.op_name(output.node)), BaseType(dtype),
          OutputShape(model, output)};
}

// Reports what a MetaGraphDef's collections and ops say about training.
void ReportTraining(const LoadedGraph& model, ModelReport* report) {
  for (const auto& [key, role] : {std::pair<absl::string_view, absl::string_view>{"train_op", "train op"},
                                  std::pair<absl::string_view, absl::string_view>{"losses", "loss"}}) {
    for (const ModelCollection& collection : model.meta.collections) {
      if (collection.key != key || collection.kind != ModelCollection::Kind::kNodes) continue;
      for (const std::string& item : collection.items) report->training.push_back({std::string(role), item});
    }
  }
  for (const NodeId id : model.graph.Nodes()) {
    if (model.graph.Is(id, "MergeSummary")) report->training.push_back({"summary", std::string(model.graph.name(id))});
  }
}

}  // namespace

std::string DTypeText(DType dtype) { return dtype == DType::kInvalid ? "?" : DTypeName(dtype); }

PartialShape OutputShape(const LoadedGraph& model, const Output& output) {
  if (model.shapes.has_value()) return model.shapes->shape(output);
  const absl::StatusOr<PartialShape> shape = model.graph.GetShape(output.node, "shape");
  return shape.ok() && output.index == 0 ? *shape : PartialShape();
}

ModelReport ReportModel(const LoadedGraph& model) {
  ModelReport report;
  report.source = model.source;
  report.format = std::string(GraphFormatName(model.format));
  report.tensorflow_version = model.meta.tensorflow_version;
  report.source_bytes = model.source_bytes;
  report.graph_memory_bytes = static_cast<int64_t>(model.graph.MemoryBytes());
  report.versions = model.graph.versions();
  report.tags = model.meta.tags;
  report.tag_sets = model.tag_sets;
  report.warnings = model.warnings;
  for (const absl::Status& errors : {model.unsound, model.deferred}) {
    for (absl::Status& error : AllErrors(errors)) {
      if (!error.ok()) report.errors.push_back(std::move(error));
    }
    report.num_errors += CountErrors(errors);
  }
  ReportNodes(model, &report);
  const GraphEndpoints endpoints = GuessEndpoints(model.graph, model.control_flow);
  for (const Output& output : endpoints.inputs) report.inputs.push_back(ReportTensor(model, output));
  for (const Output& output : endpoints.outputs) report.outputs.push_back(ReportTensor(model, output));
  for (const NodeId id : endpoints.targets) {
    report.targets.push_back(
        {std::string(model.graph.name(id)), static_cast<int64_t>(model.graph.all_inputs(id).size())});
  }
  report.signatures = model.meta.signatures;
  const FunctionLibrary& library = model.graph.library();
  Counts function_ops;
  for (const std::string& name : library.Names()) {
    report.functions.push_back(ReportFunction(*library.Find(name), library.FindGradient(name), &function_ops));
  }
  report.function_ops = Ranked(function_ops);
  for (size_t i = 1; i < model.control_flow.frames.size(); ++i) {
    report.frames.push_back(ReportFrame(model.graph, model.control_flow, model.control_flow.frames[i]));
  }
  ReportTraining(model, &report);
  report.scopes = BuildScopeTree(model.graph);
  report.init_ops = model.meta.init_ops;
  report.assets = model.meta.assets;
  report.collections = model.meta.collections;
  return report;
}

}  // namespace sluice

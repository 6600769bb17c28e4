#include "tests/testing/session_program.h"

#include <map>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "tests/testing/random_program.h"

namespace sluice {

absl::Status ArgumentsToPlaceholders(Graph* graph) {
  GraphBuilder b(*graph);
  std::map<NodeId, NodeId> placeholders;
  for (const NodeId id : graph->Nodes()) {
    if (!graph->Is(id, "_Arg")) continue;
    const std::string name = absl::StrCat("x", *graph->GetInt(id, "index"));
    placeholders[id] = b.Placeholder(name, graph->output_type(id, 0)).node;
  }
  for (const NodeId id : graph->Nodes()) {
    std::vector<Output> inputs(graph->inputs(id).begin(), graph->inputs(id).end());
    std::vector<NodeId> controls;
    for (Output& input : inputs) {
      if (placeholders.count(input.node) > 0) input.node = placeholders[input.node];
    }
    for (const Output& control : graph->controls(id)) {
      const auto found = placeholders.find(control.node);
      controls.push_back(found != placeholders.end() ? found->second : control.node);
    }
    SLUICE_RETURN_IF_ERROR(b.graph().SetInputs(id, inputs, controls));
  }
  for (const auto& [argument, placeholder] : placeholders) b.graph().RemoveNode(argument);
  SLUICE_ASSIGN_OR_RETURN(*graph, b.Build());
  return absl::OkStatus();
}

std::vector<std::pair<std::string, Tensor>> PlaceholderValues(const Graph& graph, uint32_t seed) {
  std::vector<std::pair<std::string, Tensor>> values;
  for (Tensor& value : RandomArguments(seed)) {
    const std::string name = absl::StrCat("x", values.size());
    if (!graph.Find(name).valid()) break;
    values.emplace_back(name, std::move(value));
  }
  return values;
}

std::vector<std::string> ResultsOf(const Graph& graph) {
  std::vector<std::string> results;
  for (const NodeId id : graph.Nodes()) {
    if (graph.Is(id, "_Retval")) results.push_back(graph.OutputName(graph.inputs(id)[0]));
  }
  return results;
}

void SpreadOverDevices(uint32_t seed, int count, Graph* graph) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back(absl::StrCat("/device:CPU:", i));
  SpreadOverDevices(seed, devices, graph);
}

void SpreadOverDevices(uint32_t seed, const std::vector<std::string>& devices, Graph* graph) {
  std::mt19937 random(seed);
  for (const NodeId id : graph->Nodes()) {
    bool has_state = false;
    for (const Output& input : graph->inputs(id)) {
      const DType type = graph->output_type(input.node, input.index);
      has_state = has_state || IsRef(type) || type == DType::kResource;
    }
    for (const DType type : graph->signature(id).outputs) {
      has_state = has_state || IsRef(type) || type == DType::kResource;
    }
    if (!has_state) graph->SetDevice(id, devices[random() % devices.size()]);
  }
}

std::vector<Answer> AnswersOf(const Graph& graph, uint32_t seed, const SessionOptions& options) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
  SLUICE_CHECK(session.ok());
  std::vector<Answer> answers;
  for (uint32_t run = 0; run < 2; ++run) {
    const NamedTensors feeds = PlaceholderValues(graph, seed + run);
    for (const std::string& result : ResultsOf(graph)) {
      answers.emplace_back((*session)->Run(feeds, {result}, {}));
    }
  }
  return answers;
}

}  // namespace sluice

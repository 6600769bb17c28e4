#include "graph/passes/output_replacer.h"

#include <vector>

#include "graph/base/status_macros.h"

namespace sluice {

Output OutputReplacer::Resolve(Output output) const {
  for (auto found = replaced_.find(output); found != replaced_.end(); found = replaced_.find(output)) {
    output = found->second;
  }
  return output;
}

absl::Status OutputReplacer::Apply(GraphEditor& edit) const {
  if (empty()) return absl::OkStatus();
  const Graph& graph = edit.graph();
  std::vector<Output> inputs;
  std::vector<NodeId> controls;
  for (NodeId id : graph.Nodes()) {
    bool changed = false;
    inputs.clear();
    controls.clear();
    for (const Output& input : graph.inputs(id)) {
      inputs.push_back(Resolve(input));
      changed |= inputs.back() != input;
    }
    for (const Output& control : graph.controls(id)) {
      controls.push_back(Resolve(control).node);
      changed |= controls.back() != control.node;
    }
    if (changed) SLUICE_RETURN_IF_ERROR(edit.SetInputs(id, inputs, controls));
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "tests/testing/reference_evaluator.h"

#include <algorithm>
#include <cmath>

#include "graph/base/check.h"

namespace sluice {

ReferenceEvaluator::ReferenceEvaluator(const Graph& graph, std::map<std::string, std::vector<float>> constants)
    : graph_(graph), constants_(std::move(constants)) {
  absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(graph, LoadLimits());
  SLUICE_CHECK_OK(info);
  frames_ = *std::move(info);
}

ReferenceValue ReferenceEvaluator::At(Output output, const Place& place) {
  const auto key = std::make_pair(std::make_pair(output.node.value(), output.index), place);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  ReferenceValue value = Compute(output, place);
  known_[key] = value;
  return value;
}

bool ReferenceEvaluator::IsControlDead(NodeId id, const Place& place) {
  for (const Output& control : graph_.controls(id)) {
    if (!At(control, place).has_value()) return true;
  }
  return false;
}

// `place` is where the value is: of an Exit, the parent's. A control output is an empty value, or dead.
ReferenceValue ReferenceEvaluator::Compute(Output output, const Place& place) {
  const NodeId id = output.node;
  const std::string op = OpOf(id);
  if (op == "GradSum") return ComputeGradSum(id, place);
  if (op == "Merge") return ComputeMerge(id, output.index, place);
  if (op == "Enter") return ComputeEnter(id, place);
  if (op == "Exit") return ComputeExit(id, place);
  if (op == "ControlTrigger") return std::vector<float>();
  if (IsControlDead(id, place)) return std::nullopt;
  std::vector<std::vector<float>> inputs;
  for (const Output& input : graph_.inputs(id)) {
    const ReferenceValue value = At(input, place);
    if (!value.has_value()) return std::nullopt;
    inputs.push_back(*value);
  }
  if (output.is_control()) return std::vector<float>();
  if (op == "Switch") return (inputs[1][0] != 0) == (output.index == 1) ? ReferenceValue(inputs[0]) : std::nullopt;
  if (op == "Const") return constants_.at(std::string(graph_.name(id)));
  return Apply(op, inputs);
}

std::string ReferenceEvaluator::OpOf(NodeId id) const {
  const std::string op(graph_.op_name(id));
  return op.compare(0, 3, "Ref") == 0 ? op.substr(3) : op;
}

ReferenceValue ReferenceEvaluator::ComputeGradSum(NodeId id, const Place& place) {
  ReferenceValue sum;
  for (const Output& input : graph_.inputs(id)) {
    const ReferenceValue value = At(input, place);
    if (value.has_value()) sum = sum.has_value() ? Apply("AddV2", {*sum, *value}) : *value;
  }
  return sum;
}

std::vector<float> ReferenceEvaluator::Apply(const std::string& op, const std::vector<std::vector<float>>& inputs) {
  if (op == "VariableV2") return {};
  if (op == "Assign") return inputs[1];
  if (op == "Less") return {inputs[0][0] < inputs[1][0] ? 1.0f : 0.0f};
  std::vector<float> out = inputs[0];
  if (inputs.size() == 2) out.resize(std::max(inputs[0].size(), inputs[1].size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const float a = inputs[0][inputs[0].size() == 1 ? 0 : i];
    const float b = inputs.size() < 2 ? 0 : inputs[1][inputs[1].size() == 1 ? 0 : i];
    if (op == "AddV2" || op == "AssignAdd") out[i] = a + b;
    if (op == "Sub" || op == "AssignSub") out[i] = a - b;
    if (op == "Neg") out[i] = -a;
    if (op == "Square") out[i] = a * a;
    if (op == "Abs") out[i] = std::fabs(a);
    if (op == "Identity" || op == "LoopCond") out[i] = a;
  }
  return out;
}

ReferenceValue ReferenceEvaluator::ComputeMerge(NodeId id, int32_t output, const Place& place) {
  const absl::Span<const Output> inputs = graph_.inputs(id);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Place from = place;
    if (OpOf(inputs[i].node) == "NextIteration") {
      if (--from.back() < 0) continue;  // Nothing comes around before the first iteration.
      const Output source = graph_.inputs(inputs[i].node)[0];
      const ReferenceValue value = At(source, from);
      if (value.has_value()) return value;
      continue;
    }
    // An Enter that is not constant feeds the first iteration only.
    if (OpOf(inputs[i].node) == "Enter" && place.back() > 0) continue;
    const ReferenceValue value = At(inputs[i], from);
    if (value.has_value()) {
      if (output == 1) return std::vector<float>{static_cast<float>(i)};
      return value;
    }
  }
  return std::nullopt;
}

ReferenceValue ReferenceEvaluator::ComputeEnter(NodeId id, const Place& place) {
  const Place parent(place.begin(), place.end() - 1);
  if (IsControlDead(id, parent)) return std::nullopt;
  return At(graph_.inputs(id)[0], parent);
}

bool ReferenceEvaluator::HasNext(int32_t frame, const Place& place) {
  const NodeId cond = frames_.frames[static_cast<size_t>(frame)].loop_cond;
  const ReferenceValue value = At(Output{cond, 0}, place);
  return value.has_value() && (*value)[0] != 0;
}

ReferenceValue ReferenceEvaluator::ComputeExit(NodeId id, const Place& place) {
  Place inside = place;
  inside.push_back(0);
  while (HasNext(frames_.frame(id), inside)) ++inside.back();
  if (IsControlDead(id, inside)) return std::nullopt;
  return At(graph_.inputs(id)[0], inside);
}

}  // namespace sluice

#ifndef SLUICE_TESTS_TESTING_REFERENCE_EVALUATOR_H_
#define SLUICE_TESTS_TESTING_REFERENCE_EVALUATOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// A value of float elements, or dead.
using ReferenceValue = std::optional<std::vector<float>>;

// What a graph of the ops below computes, found by asking backwards from what is wanted: no queue, no counter, nothing
// in common with the propagators. Slow, recursive, for graphs that test makers write.
//
// Ops: Const (given by name), AddV2, Sub (of equal sizes or with a single element), Less (1 or 0, of first elements),
// Neg, Square, Abs, Identity, LoopCond, NoOp, ControlTrigger, Switch, Merge, Enter, Exit, NextIteration, GradSum, and
// VariableV2, Assign, AssignAdd, AssignSub, RefIdentity, RefSwitch, RefMerge, RefEnter, RefExit, RefNextIteration. A
// reference stands for the value at that place: graphs tell by control edges that reads come before the next write.
class ReferenceEvaluator {
 public:
  // `constants` by node name.
  ReferenceEvaluator(const Graph& graph, std::map<std::string, std::vector<float>> constants);

  // What `output` (outside of loops) is.
  ReferenceValue Evaluate(Output output) { return At(output, {}); }

 private:
  // The iteration of each frame around, outermost first.
  using Place = std::vector<int>;

  ReferenceValue At(Output output, const Place& place);
  ReferenceValue Compute(Output output, const Place& place);
  ReferenceValue ComputeMerge(NodeId id, int32_t output, const Place& place);
  ReferenceValue ComputeEnter(NodeId id, const Place& place);
  ReferenceValue ComputeExit(NodeId id, const Place& place);
  // Whether iteration `place` of the frame is followed by another.
  bool HasNext(int32_t frame, const Place& place);
  bool IsControlDead(NodeId id, const Place& place);
  ReferenceValue ComputeGradSum(NodeId id, const Place& place);
  // The op of `id`; for control flow of references that of values.
  std::string OpOf(NodeId id) const;
  static std::vector<float> Apply(const std::string& op, const std::vector<std::vector<float>>& inputs);

  const Graph& graph_;
  const std::map<std::string, std::vector<float>> constants_;
  ControlFlowInfo frames_;
  std::map<std::pair<std::pair<int32_t, int32_t>, Place>, ReferenceValue> known_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_REFERENCE_EVALUATOR_H_

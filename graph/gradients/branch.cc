// Gradients of ops that choose: Switch and Merge of conditionals.

#include <algorithm>
#include <vector>

#include "graph/gradients/conditions.h"
#include "graph/gradients/families.h"
#include "graph/gradients/gradient_emitter.h"

namespace sluice {
namespace {

// What only one branch reads has the gradient of that branch: where the other is taken it is dead, and the sweep puts
// zeros in its place.
absl::Status Switch(GradientContext& c) {
  if (c.HasDy(0) && c.HasDy(1)) {
    c.SetInput(0, AddOp("Merge", {c.dy(0), c.dy(1)}));
  } else {
    c.SetInput(0, c.DyAsIs(c.HasDy(0) ? 0 : 1));
  }
  return absl::OkStatus();
}

// The same for a Case, whose branches are all there.
absl::Status SwitchN(GradientContext& c) {
  Exprs dys;
  for (int i = 0; i < c.num_outputs(); ++i) dys.push_back(c.dy(i));
  c.SetInput(0, AddOp("Merge", dys));
  return absl::OkStatus();
}

// The number by which a Case chooses among the inputs of its Merge, and of each input the port; an unset predicate for
// other Merges.
Conditions::Condition PortIn(Conditions& conditions, const Graph& graph, const sluice::Output& input,
                             const Conditions::List& of_all) {
  const Conditions::List& own = conditions.Of(input);
  const auto found = std::find_if(own.begin(), own.end(), [&](const Conditions::Condition& condition) {
    return graph.output_type(condition.predicate.node, condition.predicate.index) == DType::kInt32 &&
           !std::binary_search(of_all.begin(), of_all.end(), condition);
  });
  return found == own.end() ? Conditions::Condition{kNoOutput, 0} : *found;
}

// Gives each input of a Case's Merge the gradient where its branch is taken. Whether it is one.
bool MergeOfCase(GradientContext& c, const Expr& dy) {
  Conditions* const conditions = c.emitter().conditions();
  if (conditions == nullptr) return false;
  std::vector<Conditions::Condition> ports;
  const Conditions::List of_all = conditions->Of({c.node(), 0});
  for (const sluice::Output& input : c.graph().inputs(c.node())) {
    const Conditions::Condition port = PortIn(*conditions, c.graph(), input, of_all);
    if (!port.predicate.is_set()) return false;
    if (!(port.predicate == (ports.empty() ? port : ports[0]).predicate)) return false;
    ports.push_back(port);
  }
  const AttrValue count(static_cast<int64_t>(ports.size()));
  const Expr gate = AddOp("_SwitchN", {dy, c.emitter().Forward(ports[0].predicate)}, {{"num_outs", count}});
  for (int i = 0; i < c.num_inputs(); ++i) c.SetInput(i, gate.out(ports[static_cast<size_t>(i)].port));
  return true;
}

// The condition that tells input 0 of a Merge from input 1, or an unset predicate.
Conditions::Condition TellingCondition(GradientContext& c) {
  Conditions* const conditions = c.emitter().conditions();
  if (conditions == nullptr || c.num_inputs() != 2) return {kNoOutput, 0};
  const absl::Span<const sluice::Output> inputs = c.graph().inputs(c.node());
  const Conditions::List of_other = conditions->Of(inputs[1]);
  const Conditions::List own = conditions->Beyond(inputs[0], of_other);
  for (const Conditions::Condition& condition : own) {
    const Conditions::Condition opposite{condition.predicate, 1 - condition.port};
    if (std::binary_search(of_other.begin(), of_other.end(), opposite)) return condition;
  }
  return {kNoOutput, 0};
}

absl::Status Merge(GradientContext& c) {
  if (!c.HasDy(0)) return absl::OkStatus();
  const Expr dy = c.dy(0);
  const Conditions::Condition telling = TellingCondition(c);
  if (telling.predicate.is_set()) {
    const Expr gate = AddOp("Switch", {dy, c.emitter().Forward(telling.predicate)});
    c.SetInput(0, gate.out(telling.port));
    c.SetInput(1, gate.out(1 - telling.port));
    return absl::OkStatus();
  }
  if (MergeOfCase(c, dy)) return absl::OkStatus();
  // Nothing tells them apart before the run: the op says which input it took.
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.Wants(i)) continue;
    c.SetInput(i, AddOp("Switch", {dy, Equal(c.Output(1), c.Int32(i))}).out(1));
  }
  return absl::OkStatus();
}

absl::Status GradSum(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.SetInput(i, c.DyAsIs());
  return absl::OkStatus();
}

constexpr GradientRow::Kind kControlFlow = GradientRow::Kind::kControlFlow;
constexpr GradientRow kRows[] = {
    {"Enter", kControlFlow},    {"Exit", kControlFlow},
    {"GradSum", &GradSum},      {"LoopCond", kNoGradient},
    {"Merge", &Merge},          {"NextIteration", kControlFlow},
    {"RefEnter", kControlFlow}, {"RefExit", kControlFlow},
    {"RefMerge", &Merge},       {"RefNextIteration", kControlFlow},
    {"RefSwitch", &Switch},     {"Switch", &Switch},
    {"_SwitchN", &SwitchN},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> BranchGradients() { return kRows; }

}  // namespace sluice

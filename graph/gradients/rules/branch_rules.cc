// Gradients of ops that choose: Switch and Merge of conditionals.

#include <algorithm>
#include <vector>

#include "graph/gradients/conditions.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/rules/families.h"

namespace sluice {
namespace {

// A value that only one branch reads gets that branch's gradient, which is dead if another is taken: the sweep then
// uses zeros. Else merge the branches' gradients, one of which is live whenever the value is.
absl::Status Gate(GradientContext& c) {
  Exprs dys;
  int only = -1;
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.HasDy(i)) continue;
    only = i;
    dys.push_back(c.dy(i));
  }
  if (dys.size() == 1) {
    c.SetInput(0, c.DyAsIs(only));
    return absl::OkStatus();
  }
  const DType type = dys[0].type();  // For a handle, the type of its variable.
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.HasDy(i)) dys.push_back(c.emitter().Zeros(c.Output(i), type));
  }
  c.SetInput(0, AddOp("Merge", dys));
  return absl::OkStatus();
}

using Condition = Conditions::Condition;

// Returns for each input of a Merge the condition that distinguishes it: ports of gates with one predicate. Empty if
// nothing distinguishes them before the run.
std::vector<Condition> TellingConditions(GradientContext& c) {
  Conditions* const conditions = c.emitter().conditions();
  if (conditions == nullptr) return {};
  const absl::Span<const sluice::Output> inputs = c.graph().inputs(c.node());
  const Conditions::List of_all = conditions->Of({c.node(), 0});
  for (const Condition& of_first : conditions->Beyond(inputs[0], of_all)) {
    std::vector<Condition> telling = {of_first};
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Conditions::List& own = conditions->Of(inputs[i]);
      const auto tells = std::find_if(own.begin(), own.end(), [&](const Condition& condition) {
        return condition.predicate == of_first.predicate && condition.num_ports == of_first.num_ports &&
               std::none_of(telling.begin(), telling.end(),
                            [&](const Condition& other) { return other.port == condition.port; });
      });
      if (tells == own.end()) break;
      telling.push_back(*tells);
    }
    if (telling.size() == inputs.size()) return telling;
  }
  return {};
}

absl::Status Merge(GradientContext& c) {
  if (!c.HasDy(0)) return absl::OkStatus();
  if (c.num_inputs() == 1) {
    c.SetInput(0, c.DyAsIs());
    return absl::OkStatus();
  }
  const Expr dy = c.dy(0);
  const std::vector<Condition> telling = TellingConditions(c);
  if (!telling.empty()) {
    const Expr gate = c.emitter().Gate(dy, c.emitter().Forward(telling[0].predicate), telling[0].num_ports);
    for (int i = 0; i < c.num_inputs(); ++i) c.SetInput(i, gate.out(telling[static_cast<size_t>(i)].port));
    return absl::OkStatus();
  }
  // Use the op's output that says which input it took. In a loop that cannot be matched with the conditions of the
  // input, so the sweep would not add zeros when these do not hold: add them here.
  GradientFrame* const frame = c.emitter().frame();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.Wants(i)) continue;
    const Expr taken = c.emitter().Gate(dy, Equal(c.Output(1), c.Int32(i))).out(1);
    c.SetInput(i, frame == nullptr ? taken : frame->Beside(c.Input(i).output(), taken));
  }
  return absl::OkStatus();
}

absl::Status GradSum(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.SetInput(i, c.DyAsIs());
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"GradSum", &GradSum}, {"Merge", &Merge}, {"RefMerge", &Merge},
    {"RefSwitch", &Gate},  {"Switch", &Gate}, {"_SwitchN", &Gate},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> BranchGradients() { return kRows; }

}  // namespace sluice

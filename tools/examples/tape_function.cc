// A function with a gradient of its own, and a hook: rounding, which has no useful derivative, passes gradients
// straight through; a hook keeps them small. A tree of calls, another at each step, needs no graph in advance.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

using sluice::FunctionContext;
using sluice::Var;
using Vars = std::vector<Var>;

// Rounds forward; backward it does as if it had not.
class StraightThroughRound final : public sluice::CustomFunction {
 public:
  std::string name() const override { return "StraightThroughRound"; }
  absl::StatusOr<Vars> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return Vars{Round(inputs[0])};
  }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override { return Vars{grads[0]}; }
};

// A binary tree over `leaves`: ((a b) (c ...)).
Var Combine(absl::Span<const Var> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const size_t half = leaves.size() / 2;
  return Tanh(Combine(leaves.first(half)) + 0.5 * Combine(leaves.subspan(half)));
}

absl::Status Run() {
  sluice::Tape tape;
  const auto round = std::make_shared<StraightThroughRound>();
  Var w = tape.Leaf<float>({0.4f, 1.6f, -2.3f});
  int seen = 0;
  const auto clip = [&](const Var& grad) {
    ++seen;
    return Clip(grad, -0.1, 0.1);
  };
  SLUICE_ASSIGN_OR_RETURN(sluice::HookHandle hook, w.AddHook(clip));
  for (size_t size = 1; size <= 5; ++size) {
    Vars leaves;
    for (size_t i = 0; i < size; ++i) leaves.push_back(tape.Apply(round, {w})[0] * static_cast<double>(i + 1));
    SLUICE_RETURN_IF_ERROR(Sum(Combine(leaves)).Backward());
    std::printf("%zu leaves: gradient %s\n", size, w.grad().value().ToString().c_str());
    SLUICE_ASSIGN_OR_RETURN(const float largest, Max(Abs(w.grad())).Item<float>());
    if (largest > 0.1f) return absl::InternalError("the gradient was not clipped");
    w.ClearGrad();
  }
  hook.Remove();
  SLUICE_RETURN_IF_ERROR(Sum(w).Backward());
  return seen == 5 ? absl::OkStatus() : absl::InternalError("the hook was not called once for each pass");
}

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str());
  return status.ok() ? 0 : 1;
}

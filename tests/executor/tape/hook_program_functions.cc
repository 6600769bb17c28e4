#include "tests/executor/tape/hook_program_functions.h"

#include <utility>

#include "executor/tape/ops.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

using Vars = std::vector<Var>;

// One function, as two lambdas.
class Function final : public CustomFunction {
 public:
  using Forward_ = std::function<absl::StatusOr<Vars>(FunctionContext&, absl::Span<const Var>)>;
  using Backward_ = std::function<absl::StatusOr<Vars>(FunctionContext&, absl::Span<const Var>)>;

  Function(std::string name, Forward_ forward, Backward_ backward, bool is_once = false)
      : name_(std::move(name)), forward_(std::move(forward)), backward_(std::move(backward)), is_once_(is_once) {}
  std::string name() const override { return name_; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> in) override { return forward_(c, in); }
  absl::StatusOr<Vars> Backward(FunctionContext& c, absl::Span<const Var> grads) override {
    return backward_(c, grads);
  }
  bool is_once_differentiable() const override { return is_once_; }

 private:
  const std::string name_;
  const Forward_ forward_;
  const Backward_ backward_;
  const bool is_once_;
};

absl::Status UsersFailure() { return absl::AbortedError("a user's failure"); }

// --- In place --------------------------------------------------------------------------------------------------------

absl::StatusOr<Vars> Doubles(FunctionContext& c, absl::Span<const Var> in) {
  Var a = in[0];
  SLUICE_RETURN_IF_ERROR(a.AssignMul(2.0));
  c.MarkDirty(a);
  return Vars{a};
}

absl::StatusOr<Vars> MulInPlace(FunctionContext& c, absl::Span<const Var> in) {
  Var a = in[0];
  const Var before = a * 1.0;
  SLUICE_RETURN_IF_ERROR(a.AssignMul(in[1]));
  c.MarkDirty(a);
  c.SaveForBackward({before, in[1]});
  return Vars{a};
}

absl::StatusOr<Vars> Swaps(FunctionContext& c, absl::Span<const Var> in) {
  Var a = in[0], b = in[1];
  SLUICE_RETURN_IF_ERROR(a.AssignAdd(1.0));
  SLUICE_RETURN_IF_ERROR(b.AssignMul(3.0));
  c.MarkDirty(a);
  c.MarkDirty(b);
  return Vars{b, a};
}

absl::StatusOr<Vars> DoublesAndTanh(FunctionContext& c, absl::Span<const Var> in) {
  Var a = in[0];
  SLUICE_RETURN_IF_ERROR(a.AssignMul(2.0));
  const Var t = Tanh(a);
  c.MarkDirty(a);
  c.SaveForBackward({t});
  return Vars{a, t};
}

absl::StatusOr<Vars> KeepsDirty(FunctionContext& c, absl::Span<const Var> in) {
  Var a = in[0];
  SLUICE_RETURN_IF_ERROR(a.AssignMul(2.0));
  c.MarkDirty(a);
  return Vars{a * 1.0};
}

// --- Others ----------------------------------------------------------------------------------------------------------

absl::StatusOr<Vars> Identity(FunctionContext&, absl::Span<const Var> in) { return Vars{in[0] * 1.0}; }

absl::StatusOr<Vars> Marks(FunctionContext& c, absl::Span<const Var> in) {
  const Var marked = in[0] * 2.0;
  c.MarkNonDifferentiable(marked);
  return Vars{marked, in[0] * 3.0};
}

absl::StatusOr<Vars> Undefined(FunctionContext& c, absl::Span<const Var> in) {
  c.SetMaterializeGrads(false);
  return Vars{in[0] * 2.0, in[0] * 3.0};
}

absl::StatusOr<Vars> GradOfUndefined(absl::Span<const Var> grads) {
  if (!grads[0].defined()) return Vars{grads[1].defined() ? grads[1] * 3.0 : Var()};
  return Vars{grads[1].defined() ? grads[0] * 2.0 + grads[1] * 3.0 : grads[0] * 2.0};
}

absl::StatusOr<Vars> GradOfCheckpoint(Tape& tape, const Var& x, const Var& grad) {
  const Var inner = tape.Leaf(x.value());
  {
    const GradModeScope records(true);
    SLUICE_RETURN_IF_ERROR(Sum(Tanh(inner) * inner).Backward());
  }
  return Vars{inner.grad() * grad};
}

// Saves the output `y` of one input.
absl::StatusOr<Vars> SavesOutput(FunctionContext& c, const Var& y) {
  c.SaveForBackward({y});
  return Vars{y};
}

using In = absl::Span<const Var>;
using Context = FunctionContext;
using Gradient = std::function<absl::StatusOr<Vars>(In saved, In grads)>;

// Forward and gradient of a function; no forward: there is none of this name.
struct Parts {
  Function::Forward_ forward;
  Gradient gradient;
};

Parts PartsInPlace(const std::string& name) {
  if (name == "Doubles") return {Doubles, [](In, In g) { return Vars{g[0] * 2.0}; }};
  if (name == "MulInPlace") return {MulInPlace, [](In s, In g) { return Vars{g[0] * s[1], g[0] * s[0]}; }};
  if (name == "Swaps") return {Swaps, [](In, In g) { return Vars{g[1] * 1.0, g[0] * 3.0}; }};
  if (name == "DoublesAndTanh") {
    return {DoublesAndTanh, [](In s, In g) { return Vars{(g[0] + g[1] * (1.0 - s[0] * s[0])) * 2.0}; }};
  }
  if (name == "KeepsDirty") return {KeepsDirty, [](In, In g) { return Vars{g[0]}; }};
  return {};
}

Parts PartsThatSave(const std::string& name, Tape& tape) {
  if (name == "Checkpoint") {
    const auto forward = [](Context& c, In in) -> absl::StatusOr<Vars> {
      c.SaveForBackward({in[0]});
      return Vars{Tanh(in[0]) * in[0]};
    };
    return {forward, [&tape](In s, In g) { return GradOfCheckpoint(tape, s[0], g[0]); }};
  }
  if (name == "Once") {
    return {[](Context& c, In in) { return SavesOutput(c, Exp(in[0] * 0.5)); },
            [](In s, In g) { return Vars{g[0] * s[0] * 0.5}; }};
  }
  if (name == "SavesOutput") {
    return {[](Context& c, In in) { return SavesOutput(c, Tanh(in[0])); },
            [](In s, In g) { return Vars{g[0] * (1.0 - s[0] * s[0])}; }};
  }
  if (name == "Product") {
    const auto forward = [](Context& c, In in) -> absl::StatusOr<Vars> {
      c.SaveForBackward({in[0], in[1]});
      return Vars{in[0] * in[1]};
    };
    return {forward, [](In s, In g) { return Vars{g[0] * s[1], g[0] * s[0]}; }};
  }
  return {};
}

Parts PartsOf(const std::string& name, Tape& tape) {
  if (name == "Marks") return {Marks, [](In, In g) { return Vars{g[1] * 3.0 + g[0]}; }};
  if (name == "Undefined") return {Undefined, [](In, In g) { return GradOfUndefined(g); }};
  if (name == "Nothing") return {Identity, [](In, In) { return Vars{Var()}; }};
  if (name == "GivesTwo") return {Identity, [](In, In g) { return Vars{g[0], g[0]}; }};
  if (name == "FailsBackward") return {Identity, [](In, In) { return absl::StatusOr<Vars>(UsersFailure()); }};
  if (name == "FailsForward") {
    return {[](Context&, In) { return absl::StatusOr<Vars>(UsersFailure()); }, [](In, In) { return Vars(); }};
  }
  if (name == "Same") {
    return {[](Context&, In in) { return Vars{in[0]}; }, [](In, In g) { return Vars{g[0] * 5.0}; }};
  }
  Parts parts = PartsInPlace(name);
  return parts.forward != nullptr ? parts : PartsThatSave(name, tape);
}

}  // namespace

std::shared_ptr<CustomFunction> HookProgramFunction(const std::string& name, Tape& tape, const NoteFunction& note) {
  Parts parts = PartsOf(name, tape);
  if (parts.forward == nullptr) return nullptr;
  const bool is_noted = name.substr(0, 5) != "Fails" && name != "GivesTwo" && name != "KeepsDirty";
  const auto backward = [gradient = parts.gradient, is_noted, note, name](Context& c, In g) -> absl::StatusOr<Vars> {
    SLUICE_ASSIGN_OR_RETURN(const Vars saved, c.Saved());
    if (is_noted) note(name, g);
    return gradient(saved, g);
  };
  return std::make_shared<Function>(name, std::move(parts.forward), backward, /*is_once=*/name == "Once");
}

}  // namespace sluice

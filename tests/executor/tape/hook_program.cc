#include "tests/executor/tape/hook_program.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/ops.h"
#include "executor/tape/shape_ops.h"
#include "graph/base/error_code_of.h"
#include "graph/base/status_macros.h"
#include "tests/executor/tape/hook_program_functions.h"

namespace sluice {
namespace {

using Vars = std::vector<Var>;

double Number(absl::string_view word) {
  double value = 0;
  return absl::SimpleAtod(word, &value) ? value : std::nan("");
}

Tensor Pattern(const Shape& shape, int seed) {
  std::vector<double> values;
  for (int64_t k = 0; k < shape.num_elements(); ++k) {
    values.push_back(std::sin(1.7 * seed + 0.9 * static_cast<double>(k)));
  }
  return Tensor::Of<double>(shape, values);
}

absl::StatusOr<Tensor> Pattern(const std::string& shape, const std::string& seed) {
  std::vector<int64_t> dims;
  if (shape != "s") {
    for (const absl::string_view dim : absl::StrSplit(shape, 'x')) dims.push_back(static_cast<int64_t>(Number(dim)));
  }
  SLUICE_ASSIGN_OR_RETURN(const Shape made, Shape::Make(dims));
  return Pattern(made, std::stoi(seed));
}

std::string KindOf(const absl::Status& status) {
  const std::pair<ErrorCode, const char*> kinds[] = {
      {ErrorCode::kTapeModified, "version"},    {ErrorCode::kTapeFreed, "released"},
      {ErrorCode::kTapeNeedsNoGrad, "no_grad"}, {ErrorCode::kTapeRoot, "scalar"},
      {ErrorCode::kTapeUnused, "unused"},       {ErrorCode::kTapeLeafAssigned, "leaf"},
      {ErrorCode::kTapeHook, "hook"},           {ErrorCode::kTapeFunction, "function"},
      {ErrorCode::kTapeNoDerivative, "once"},
  };
  for (const auto& [code, kind] : kinds) {
    if (ErrorCodeOf(status) == code) return kind;
  }
  return absl::IsAborted(status) ? "user" : std::string(status.message());
}

// The sum of the elements' products with cos(1), cos(2), ..., and that of their absolute values.
std::pair<double, double> SumsOf(const Var& x) {
  double dot = 0, sum = 0;
  const absl::Span<const double> g = x.value().flat<double>();
  for (size_t k = 0; k < g.size(); ++k) {
    dot += g[k] * std::cos(static_cast<double>(k) + 1);
    sum += std::abs(g[k]);
  }
  return {dot, sum};
}

std::string Digest(const Var& x) {
  if (!x.status().ok()) return absl::StrCat("failed: ", KindOf(x.status()));
  if (!x.defined()) return "none";
  const std::string shape = x.shape().rank() == 0 ? "s" : absl::StrJoin(x.shape().dims(), "x");
  const auto [dot, sum] = SumsOf(x);
  return absl::StrFormat("%s:%.11g:%.11g:%d", shape, dot, sum, x.requires_grad() ? 1 : 0);
}

Var CopyOf(const Var& x) {
  const GradModeScope records(true);
  return x * 1.0;
}

bool KeepsGrad(const Var& x) { return x.is_leaf() || x.retains_grad(); }

Var Unary(const std::string& op, const Var& x) {
  using Function = Var (*)(const Var&);
  static const auto& functions = *std::make_unique<std::map<std::string, Function>>(
                                      std::map<std::string, Function>{
                                          {"tanh", Tanh},
                                          {"exp", Exp},
                                          {"sigmoid", Sigmoid},
                                          {"square", Square},
                                          {"sin", Sin},
                                          {"cos", Cos},
                                          {"relu", Relu},
                                          {"abs", Abs},
                                          {"sqrt", Sqrt},
                                          {"softplus", Softplus},
                                          {"log", Log},
                                          {"clone", Clone},
                                          {"sum", [](const Var& a) { return Sum(a); }},
                                          {"mean", [](const Var& a) { return Mean(a); }},
                                          {"neg", [](const Var& a) { return -a; }},
                                          {"detach", [](const Var& a) { return a.Detach(); }},
                                          {"flat", [](const Var& a) { return Reshape(a, {-1}); }},
                                          {"sum0", [](const Var& a) { return Sum(a, {0}); }},
                                          {"turn", [](const Var& a) { return Transpose(a, {1, 0}); }},
                                      })
                                      .release();
  const auto found = functions.find(op);
  return found != functions.end() ? found->second(x) : Var::Failed(absl::InvalidArgumentError(op));
}

Var Binary(const std::string& op, const Var& a, const Var& b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  return op == "mm" ? MatMul(a, b) : Var::Failed(absl::InvalidArgumentError(op));
}

std::optional<bool> FlagOf(const std::string& word) {
  return word == "-" ? std::nullopt : std::optional<bool>(word == "1");
}

}  // namespace

// --- Lines -----------------------------------------------------------------------------------------------------------

std::vector<std::string> HookProgram::Run(const std::string& line) {
  const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  seen_.clear();
  const GradModeScope mode(records_);
  const absl::Status status = Do(words);
  if (!status.ok()) seen_.push_back("= " + KindOf(status));
  if (words[0] == "backward" || words[0] == "grad") seen_.push_back(SumOfGrads());
  return std::move(seen_);
}

absl::Status HookProgram::Do(const Words& words) {
  using Member = absl::Status (HookProgram::*)(const Words&, bool*);
  for (const Member member :
       {&HookProgram::DoValue, &HookProgram::DoAssignment, &HookProgram::DoGradient, &HookProgram::DoHook}) {
    bool is_known = true;
    absl::Status status = (this->*member)(words, &is_known);
    if (is_known) return status;
  }
  return absl::InvalidArgumentError("unknown: " + words[0]);
}

std::string HookProgram::SumOfGrads() {
  double sum = 0, magnitude = 0;
  for (const auto& [slot, x] : vars_) {
    const Var grad = KeepsGrad(x) ? x.grad() : Var();
    const double term = grad.defined() ? (slot + 1) * SumsOf(grad).first : 0;
    sum += term;
    magnitude += std::abs(term);
  }
  return absl::StrFormat("~ %.11g %.11g", sum, magnitude);
}

std::vector<std::string> HookProgram::Finish() {
  std::vector<std::string> lines;
  for (const auto& [slot, x] : vars_) {
    const Var grad = KeepsGrad(x) ? x.grad() : Var();
    lines.push_back(absl::StrCat("is ", slot, " ", Digest(x), " ", x.is_leaf() ? 1 : 0, x.retains_grad() ? 1 : 0, " ",
                                 Digest(grad)));
  }
  return lines;
}

void HookProgram::Note(const std::string& name, absl::Span<const Var> grads) {
  std::string line = "! " + name;
  for (const Var& grad : grads) absl::StrAppend(&line, " ", Digest(grad));
  seen_.push_back(std::move(line));
}

// --- Values ----------------------------------------------------------------------------------------------------------

absl::Status HookProgram::Bind(const std::string& slot, Var var) {
  SLUICE_RETURN_IF_ERROR(var.status());
  const int number = std::stoi(slot);
  if (!var.defined()) {
    vars_.erase(number);
  } else {
    vars_[number] = std::move(var);
  }
  return absl::OkStatus();
}

absl::Status HookProgram::DoValue(const Words& words, bool* is_known) {
  const std::string& what = words[0];
  if (what == "leaf" || what == "const") {
    SLUICE_ASSIGN_OR_RETURN(const Tensor tensor, Pattern(words[2], words[3]));
    return Bind(words[1], what == "leaf" ? tape_.Leaf(tensor) : tape_.Constant(tensor));
  }
  if (what == "un") return Bind(words[2], Unary(words[1], At(words[3])));
  if (what == "bin") return Bind(words[2], Binary(words[1], At(words[3]), At(words[4])));
  if (what == "scale") return Bind(words[1], At(words[2]) * Number(words[3]));
  if (what == "shift") return Bind(words[1], At(words[2]) + Number(words[3]));
  if (what == "cat") return Bind(words[1], Concat({At(words[2]), At(words[3])}, 0));
  if (what == "bind") return Bind(words[1], At(words[2]));
  if (what == "fun") return ApplyFunction(words);
  if (what == "parts") {
    const Vars parts = Unstack(At(words[1]), 0);
    for (size_t i = 0; i + 2 < words.size(); ++i) SLUICE_RETURN_IF_ERROR(Bind(words[i + 2], parts[i]));
    return absl::OkStatus();
  }
  *is_known = what == "drop";
  return *is_known ? Bind(words[1], Var()) : absl::OkStatus();
}

absl::Status HookProgram::ApplyFunction(const Words& words) {
  const auto note = [this](const std::string& name, absl::Span<const Var> grads) { Note(name, grads); };
  const std::shared_ptr<CustomFunction> function = HookProgramFunction(words[1], tape_, note);
  if (function == nullptr) return absl::InvalidArgumentError(words[1]);
  Vars inputs, outputs;
  size_t at = 2;
  while (words[at] != ">") inputs.push_back(At(words[at++]));
  outputs = tape_.Apply(function, inputs);
  inputs.clear();
  for (Var& output : outputs) {
    SLUICE_RETURN_IF_ERROR(output.status());
    SLUICE_RETURN_IF_ERROR(Bind(words[++at], std::move(output)));
  }
  return absl::OkStatus();
}

absl::Status HookProgram::DoAssignment(const Words& words, bool* is_known) {
  if (words[0] == "mode") {
    records_ = words[1] == "1";
    return absl::OkStatus();
  }
  *is_known = words[0] == "in" || words[0] == "number" || words[0] == "requires";
  if (!*is_known) return absl::OkStatus();
  if (words[0] == "requires") return At(words[1]).SetRequiresGrad(words[2] == "1");
  Var a = At(words[2]);
  if (words[0] == "in") {
    const Var b = At(words[3]);
    if (words[1] == "add") return a.AssignAdd(b);
    if (words[1] == "sub") return a.AssignSub(b);
    if (words[1] == "mul") return a.AssignMul(b);
    if (words[1] == "div") return a.AssignDiv(b);
    return a.Assign(b);
  }
  const double number = Number(words[3]);
  if (words[1] == "add") return a.AssignAdd(number);
  if (words[1] == "sub") return a.AssignSub(number);
  if (words[1] == "mul") return a.AssignMul(number);
  if (words[1] == "div") return a.AssignDiv(number);
  return a.Fill(number);
}

// --- Gradients -------------------------------------------------------------------------------------------------------

Vars HookProgram::ListOf(const std::string& words) {
  Vars vars;
  if (words == "-") return vars;
  for (const absl::string_view word : absl::StrSplit(words, ',')) {
    vars.push_back(word == "_" ? Var() : At(std::string(word)));
  }
  return vars;
}

Vars HookProgram::SeedsOf(const std::string& words, bool creates_graph) {
  Vars seeds = ListOf(words);
  for (Var& seed : seeds) {
    seed = creates_graph && seed.defined() ? CopyOf(seed) : seed.Detach();
  }
  return seeds;
}

absl::Status HookProgram::Backward(const Words& words) {
  BackwardOptions options;
  options.retain_graph = FlagOf(words[1]);
  options.create_graph = words[2] == "1";
  if (words[5] != "-") options.inputs = ListOf(words[5]);
  return tape_.Backward(ListOf(words[3]), SeedsOf(words[4], options.create_graph), options);
}

absl::Status HookProgram::Grad(const Words& words) {
  GradOptions options;
  options.retain_graph = FlagOf(words[1]);
  options.create_graph = words[2] == "1";
  options.allow_unused = words[3] == "1";
  const Vars seeds = SeedsOf(words[5], options.create_graph);
  SLUICE_ASSIGN_OR_RETURN(const Vars found, tape_.Grad(ListOf(words[4]), ListOf(words[6]), seeds, options));
  for (size_t i = 0; i < found.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(Bind(words[7 + i], found[i].defined() ? CopyOf(found[i]) : Var()));
  }
  return absl::OkStatus();
}

absl::Status HookProgram::DoGradient(const Words& words, bool* is_known) {
  const std::string& what = words[0];
  if (what == "backward") return Backward(words);
  if (what == "grad") return Grad(words);
  if (what == "retain") return At(words[1]).RetainGrad();
  if (what == "clear") return At(words[1]).SetGrad(Var());
  if (what == "give") return At(words[1]).SetGrad(At(words[2]).Detach());
  if (what == "take") return Bind(words[1], At(words[2]).grad());
  *is_known = what == "update";
  if (!*is_known) return absl::OkStatus();
  const NoGradScope no_grad;
  return At(words[1]).AssignSub(At(words[1]).grad().Detach() * 0.125);
}

// --- Hooks -----------------------------------------------------------------------------------------------------------

NodeRef HookProgram::NodeOf(const std::string& word) { return word[0] == 'n' ? nodes_[word] : At(word).grad_fn(); }

absl::StatusOr<HookHandle> HookProgram::AddHook(const std::string& slot, const std::string& name, Words action) {
  return At(slot).AddHook([this, name, action = std::move(action)](const Var& grad) {
    Note(name, {grad});
    return Act(name, action, grad);
  });
}

absl::Status HookProgram::DoHook(const Words& words, bool* is_known) {
  const std::string& what = words[0];
  if (what == "node") {
    nodes_[words[1]] = At(words[2]).accumulator();
    return absl::OkStatus();
  }
  if (what == "remove") {
    handles_[words[1]].Remove();
    return absl::OkStatus();
  }
  *is_known = what == "hook" || what == "after" || what == "pre" || what == "post";
  if (!*is_known) return absl::OkStatus();
  const std::string name = words[2];
  const Words action(words.begin() + 3, words.end());
  if (what == "hook") {
    SLUICE_ASSIGN_OR_RETURN(handles_[name], AddHook(words[1], name, action));
  } else if (what == "after") {
    SLUICE_ASSIGN_OR_RETURN(handles_[name], At(words[1]).AddAccumulateHook([this, name, action](const Var& leaf) {
      Note(name, {leaf.grad().Detach()});
      return Act(name, action, leaf).status();
    }));
  } else if (what == "pre") {
    SLUICE_ASSIGN_OR_RETURN(handles_[name], NodeOf(words[1]).AddPreHook([this, name, action](absl::Span<const Var> g) {
      Note(name, g);
      return ActOnAll(name, action, g);
    }));
  } else {
    const auto hook = [this, name, action](absl::Span<const Var> inputs, absl::Span<const Var> outputs) {
      Note(name, outputs);
      std::string line = absl::StrCat("! ", name, " in");
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].defined()) absl::StrAppend(&line, " ", Digest(inputs[i]));
      }
      seen_.push_back(std::move(line));
      return ActOnAll(name, action, inputs);
    };
    SLUICE_ASSIGN_OR_RETURN(handles_[name], NodeOf(words[1]).AddPostHook(hook));
  }
  return absl::OkStatus();
}

absl::StatusOr<Vars> HookProgram::ActOnAll(const std::string& name, absl::Span<const std::string> action,
                                           absl::Span<const Var> grads) {
  if (action[0] != "mul") {
    SLUICE_RETURN_IF_ERROR(Act(name, action, Var()).status());
    return Vars();
  }
  Vars scaled;
  for (const Var& grad : grads) scaled.push_back(grad.defined() ? grad * Number(action[1]) : Var());
  return scaled;
}

absl::StatusOr<Var> HookProgram::InnerPass(const Var& x) {
  const Var t = tape_.Leaf(Pattern(Shape::Of({3}), 5));
  {
    const GradModeScope records(true);
    SLUICE_RETURN_IF_ERROR(Sum(Tanh(t) * t).Backward());
  }
  return x * Sum(t.grad());
}

absl::StatusOr<Var> HookProgram::Act(const std::string& name, absl::Span<const std::string> action, Var x) {
  const std::string& what = action[0];
  if (!x.defined() && (what == "mul" || what == "sq" || what == "inner")) return Var();
  if (what == "mul") return x * Number(action[1]);
  if (what == "sq") return x * x;
  if (what == "other") return tape_.Constant(Pattern(x.shape(), std::stoi(action[1])));
  if (what == "shape") {
    std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
    dims.push_back(2);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    return tape_.Constant(Pattern(shape, 0));
  }
  if (what == "inner") return InnerPass(x);
  if (what == "fail") return absl::AbortedError("a user's failure");
  if (what == "self") handles_[name].Remove();
  if (what == "remove") handles_[action[1]].Remove();
  if (what == "forget") x.ClearGrad();
  if (what == "step") {
    if (x.grad().defined()) {
      const NoGradScope no_grad;
      SLUICE_RETURN_IF_ERROR(x.AssignSub(x.grad().Detach() * 0.125));
    }
    x.ClearGrad();
  }
  SLUICE_RETURN_IF_ERROR(ActOnSlot(action));
  return Var();
}

absl::Status HookProgram::ActOnSlot(absl::Span<const std::string> action) {
  const std::string& what = action[0];
  if (what != "pass" && what != "retain" && what != "clear" && what != "bump" && what != "add") return absl::OkStatus();
  const auto found = vars_.find(std::stoi(action[1]));
  if (found == vars_.end()) return absl::OkStatus();
  Var var = found->second;
  if (what == "clear") return var.SetGrad(Var());
  if (what == "bump") {
    const NoGradScope no_grad;
    return var.AssignAdd(0.5);
  }
  if (!var.requires_grad()) return absl::OkStatus();
  if (what == "retain") return var.RetainGrad();
  if (what == "add") {
    SLUICE_ASSIGN_OR_RETURN(handles_[action[2]], AddHook(action[1], action[2], {"mul", action[3]}));
    return absl::OkStatus();
  }
  if (depth_ == 2) return absl::OkStatus();
  ++depth_;
  const GradModeScope records(true);
  BackwardOptions options;
  options.retain_graph = true;
  const absl::Status status = tape_.Backward({Sum(var * 1.0)}, {}, options);
  --depth_;
  return status;
}

}  // namespace sluice

#include "graph/functions/lower_control_flow.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ir/made_nodes.h"

namespace sluice {
namespace {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

// Makes the helper nodes of one node that is lowered: names and device follow it.
class Lowering {
 public:
  Lowering(CallExpansion& expansion, NodeId id)
      : expansion_(expansion),
        graph_(expansion.graph()),
        id_(id),
        name_(graph_.name(id)),
        device_(graph_.device(id)),
        made_for_(MadeForOf(graph_, id)) {}

 protected:
  // The last part of a helper node's name. One that ends in a slot gives what the user knows as that output of the node
  // that is lowered: see Note [Made nodes].
  struct Part {
    Part(const char* text) : name(text) {}             // NOLINT(google-explicit-constructor)
    Part(std::string text) : name(std::move(text)) {}  // NOLINT(google-explicit-constructor)
    static Part OfOutput(absl::string_view text, size_t slot) {
      Part part(absl::StrCat(text, "_", slot));
      part.slot = static_cast<int32_t>(slot);
      return part;
    }

    std::string name;
    int32_t slot = MadeFor::kPassesOn;
  };

  absl::StatusOr<NodeId> Add(absl::string_view op, const Part& what, std::vector<Output> inputs,
                             std::vector<NodeId> controls, Attrs attrs) {
    attrs.push_back(MadeForAttr({made_for_.op, made_for_.name, what.slot}));
    return expansion_.Add(op, absl::StrCat(name_, "/", what.name), std::move(inputs), std::move(controls),
                          std::move(attrs), device_);
  }
  // Adds a node whose only attr is the type of its first input, and gives its output 0.
  absl::StatusOr<Output> AddTyped(absl::string_view op, const Part& what, std::vector<Output> inputs,
                                  std::vector<NodeId> controls = {}, Attrs attrs = {}) {
    const DType type = TypeOf(inputs[0]);
    attrs.emplace_back("T", type);
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, Add(op, what, std::move(inputs), std::move(controls), std::move(attrs)));
    if (type == DType::kResource) graph_.SetDevice(id, "");  // It goes where the resource is.
    return Output{id, 0};
  }

  // A call of `function` that the inliner will look at later.
  absl::StatusOr<NodeId> AddCall(const BoundFunction& function, const Part& what, std::vector<Output> inputs,
                                 std::vector<NodeId> controls, int depth) {
    Attrs bound(function.attrs.begin(), function.attrs.end());
    Attrs attrs = {{"Tin", function.signature.inputs},
                   {"Tout", function.signature.outputs},
                   {"f", AttrValue::Func(function.name(), bound)}};
    const bool is_stateful = function.definition->schema.is_stateful || HasEffects(function);
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, Add(is_stateful ? "StatefulPartitionedCall" : "PartitionedCall", what,
                                                 std::move(inputs), std::move(controls), std::move(attrs)));
    expansion_.Push(id, depth);
    return id;
  }

  static bool HasEffects(const BoundFunction& function) { return !function.definition->control_ret.empty(); }

  // `value` as a bool.
  absl::StatusOr<Output> AsBool(Output value, const Part& what) {
    if (TypeOf(value) == DType::kBool) return value;
    return AddTyped("ToBool", what, {value});
  }

  DType TypeOf(Output output) const { return BaseType(graph_.output_type(output.node, output.index)); }

  CallExpansion& expansion_;
  Graph& graph_;
  const NodeId id_;
  const std::string name_;
  const std::string device_;
  const MadeFor made_for_;
};

// See Note [Lowered conditionals].
class ConditionalLowering : public Lowering {
 public:
  ConditionalLowering(CallExpansion& expansion, NodeId id, CallKind kind, absl::Span<const BoundFunction> branches)
      : Lowering(expansion, id), is_if_(kind == CallKind::kIf), branches_(branches.begin(), branches.end()) {
    if (is_if_) std::swap(branches_[0], branches_[1]);  // Output 0 of a Switch is the one for false.
  }

  absl::Status Run(int depth) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> inputs, expansion_.Inputs(id_));
    SLUICE_RETURN_IF_ERROR(AddPivots(inputs[0]));
    SLUICE_RETURN_IF_ERROR(AddCalls(absl::MakeConstSpan(inputs).subspan(1), depth));
    std::vector<CallExpansion::Replacement> outputs;
    for (size_t i = 0; i < graph_.signature(id_).outputs.size(); ++i) {
      std::vector<Output> values;
      for (NodeId call : calls_) values.push_back(Output{call, static_cast<int32_t>(i)});
      SLUICE_ASSIGN_OR_RETURN(const Output merged, Merge(Part::OfOutput("merge", i), std::move(values), {}));
      outputs.push_back({merged, NodeId()});
    }
    SLUICE_ASSIGN_OR_RETURN(const Output executed, Merge("branch_executed", pivots_, calls_));
    return expansion_.Replace(id_, std::move(outputs), {executed.node});
  }

 private:
  absl::string_view BranchName(size_t k) const { return is_if_ ? (k == 0 ? "else" : "then") : "branch"; }

  std::string Numbered(absl::string_view what, size_t k) const {
    return is_if_ ? std::string(what) : absl::StrCat(what, "_", k);
  }

  absl::StatusOr<Output> Merge(const Part& what, std::vector<Output> values, std::vector<NodeId> controls) {
    const int64_t count = static_cast<int64_t>(values.size());
    return AddTyped("Merge", what, std::move(values), std::move(controls), {{"N", count}});
  }

  absl::StatusOr<Output> Switch(const Part& what, Output value, std::vector<NodeId> controls) {
    if (is_if_) return AddTyped("Switch", what, {value, selector_}, std::move(controls));
    const Attrs attrs = {{"num_outs", static_cast<int64_t>(branches_.size())}};
    return AddTyped("_SwitchN", what, {value, selector_}, std::move(controls), attrs);
  }

  absl::Status AddPivots(Output condition) {
    selector_ = condition;
    if (is_if_) {
      SLUICE_ASSIGN_OR_RETURN(selector_, AsBool(condition, "condition"));
    }
    SLUICE_ASSIGN_OR_RETURN(const Output pivot, Switch("pivot", selector_, expansion_.Controls(id_)));
    for (size_t k = 0; k < branches_.size(); ++k) {
      SLUICE_ASSIGN_OR_RETURN(const Output side,
                              AddTyped("Identity", Numbered(absl::StrCat("pivot_", BranchName(k)), k),
                                       {Output{pivot.node, static_cast<int32_t>(k)}}));
      pivots_.push_back(side);
    }
    return absl::OkStatus();
  }

  absl::Status AddCalls(absl::Span<const Output> inputs, int depth) {
    std::vector<Output> switched;
    for (size_t i = 0; i < inputs.size(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(const Output split, Switch(absl::StrCat("switch_", i), inputs[i], {}));
      switched.push_back(split);
    }
    for (size_t k = 0; k < branches_.size(); ++k) {
      std::vector<Output> args;
      for (const Output& split : switched) args.push_back(Output{split.node, static_cast<int32_t>(k)});
      SLUICE_ASSIGN_OR_RETURN(const NodeId call, AddCall(branches_[k], Numbered(BranchName(k), k), std::move(args),
                                                         {pivots_[k].node}, depth));
      calls_.push_back(call);
    }
    return absl::OkStatus();
  }

  const bool is_if_;
  std::vector<BoundFunction> branches_;  // In order of the outputs of the Switches.
  Output selector_;
  std::vector<Output> pivots_;
  std::vector<NodeId> calls_;
};

// For each variable whether the body hands it on as it came, seen from `ret` alone.
std::vector<bool> FindConstants(const BoundFunction& body, size_t num_variables) {
  const FunctionDefinition& definition = *body.definition;
  std::vector<bool> constants(num_variables, false);
  const OpSchema& schema = definition.schema;
  if (schema.inputs.size() != num_variables || schema.outputs.size() != num_variables) return constants;
  for (size_t i = 0; i < num_variables; ++i) {
    if (schema.inputs[i].is_list() || schema.outputs[i].is_list()) continue;
    // In order of the names.
    const auto ret = std::lower_bound(definition.ret.begin(), definition.ret.end(), schema.outputs[i].name,
                                      [](const auto& entry, absl::string_view name) { return entry.first < name; });
    constants[i] =
        ret != definition.ret.end() && ret->first == schema.outputs[i].name && ret->second == schema.inputs[i].name;
  }
  // A loop needs something that goes round.
  if (std::find(constants.begin(), constants.end(), false) == constants.end()) constants[0] = false;
  return constants;
}

// See Note [Lowered loops].
class LoopLowering : public Lowering {
 public:
  LoopLowering(CallExpansion& expansion, NodeId id, const BoundFunction& cond, const BoundFunction& body)
      : Lowering(expansion, id), cond_(cond), body_(body), constants_(FindConstants(body, graph_.inputs(id).size())) {}

  absl::Status Run(int depth) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> inputs, expansion_.Inputs(id_));
    SLUICE_RETURN_IF_ERROR(AddEnters(inputs));
    SLUICE_RETURN_IF_ERROR(AddCondition(depth));
    SLUICE_RETURN_IF_ERROR(AddBody(depth));
    std::vector<CallExpansion::Replacement> outputs;
    std::vector<NodeId> done;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (constants_[i]) continue;
      SLUICE_ASSIGN_OR_RETURN(const Output exit,
                              AddTyped("Exit", Part::OfOutput("exit", i), {Output{switches_[i].node, 0}}));
      done.push_back(exit.node);
    }
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      outputs.push_back(constants_[i] ? CallExpansion::Replacement{inputs[i], done[0]}
                                      : CallExpansion::Replacement{Output{done[next++], 0}, NodeId()});
    }
    return expansion_.Replace(id_, std::move(outputs), std::move(done));
  }

 private:
  absl::Status AddEnters(const std::vector<Output>& inputs) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t parallel_iterations, graph_.GetInt(id_, "parallel_iterations"));
    std::vector<NodeId> controls = expansion_.Controls(id_);
    if (controls.size() > 1) {
      SLUICE_ASSIGN_OR_RETURN(const NodeId gate, Add("NoOp", "control_inputs", {}, std::move(controls), {}));
      controls = {gate};
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Attrs attrs = {{"frame_name", name_},
                           {"is_constant", static_cast<bool>(constants_[i])},
                           {"parallel_iterations", parallel_iterations}};
      SLUICE_ASSIGN_OR_RETURN(const Output enter,
                              AddTyped("Enter", Part::OfOutput("enter", i), {inputs[i]}, controls, attrs));
      values_.push_back(enter);
      if (constants_[i]) continue;
      // The second input is the back edge, which AddBody closes.
      SLUICE_ASSIGN_OR_RETURN(
          values_.back(), AddTyped("Merge", Part::OfOutput("merge", i), {enter, Output()}, {}, {{"N", int64_t{2}}}));
    }
    return absl::OkStatus();
  }

  absl::Status AddCondition(int depth) {
    SLUICE_ASSIGN_OR_RETURN(const NodeId call, AddCall(cond_, "cond", values_, {}, depth));
    SLUICE_ASSIGN_OR_RETURN(const Output value, AsBool(Output{call, 0}, "condition"));
    std::vector<NodeId> effects;
    if (HasEffects(cond_)) effects.push_back(call);
    SLUICE_ASSIGN_OR_RETURN(const NodeId loop_cond, Add("LoopCond", "loop_cond", {value}, std::move(effects), {}));
    for (size_t i = 0; i < values_.size(); ++i) {
      switches_.emplace_back();
      if (constants_[i]) continue;
      SLUICE_ASSIGN_OR_RETURN(switches_.back(),
                              AddTyped("Switch", Part::OfOutput("switch", i), {values_[i], Output{loop_cond, 0}}));
    }
    return absl::OkStatus();
  }

  absl::Status AddBody(int depth) {
    std::vector<Output> args = values_;
    Output first;
    for (size_t i = 0; i < args.size(); ++i) {
      if (constants_[i]) continue;
      args[i] = Output{switches_[i].node, 1};
      if (!first.is_set()) first = args[i];
    }
    SLUICE_ASSIGN_OR_RETURN(const Output control, AddTyped("Identity", "body_control", {first}));
    SLUICE_ASSIGN_OR_RETURN(const NodeId call, AddCall(body_, "body", std::move(args), {control.node}, depth));
    std::vector<NodeId> effects;
    if (HasEffects(body_)) effects.push_back(call);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (constants_[i]) continue;
      SLUICE_ASSIGN_OR_RETURN(const Output next, AddTyped("NextIteration", Part::OfOutput("next", i),
                                                          {Output{call, static_cast<int32_t>(i)}}, effects));
      SLUICE_RETURN_IF_ERROR(graph_.SetInput(values_[i].node, 1, next));
    }
    return absl::OkStatus();
  }

  const BoundFunction& cond_;
  const BoundFunction& body_;
  const std::vector<bool> constants_;  // By variable: enters as a loop constant.
  std::vector<Output> values_;         // By variable: its value in the frame (Merge, or the constant Enter).
  std::vector<Output> switches_;       // By variable; unset for constants.
};

}  // namespace

absl::Status LowerConditional(CallExpansion& expansion, NodeId id, CallKind kind,
                              absl::Span<const BoundFunction> branches, int depth) {
  return ConditionalLowering(expansion, id, kind, branches).Run(depth);
}

bool CanLowerLoop(const Graph& graph, NodeId id) { return !graph.inputs(id).empty(); }

absl::Status LowerLoop(CallExpansion& expansion, NodeId id, const BoundFunction& cond, const BoundFunction& body,
                       int depth) {
  return LoopLowering(expansion, id, cond, body).Run(depth);
}

}  // namespace sluice

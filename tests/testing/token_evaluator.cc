#include "tests/testing/token_evaluator.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"

namespace sluice {
namespace {

absl::Status ComputeNow(const Kernel& kernel, KernelContext& context) {
  const AsyncKernel* const async = kernel.AsAsync();
  if (async == nullptr) return kernel.Compute(context);
  absl::Status status;
  Notification done;
  async->ComputeAsync(context, [&](absl::Status result) {
    status = std::move(result);
    done.Notify();
  });
  done.WaitForNotification();
  return status;
}

// Ops that hand their input on and do nothing else.
bool HandsOn(absl::string_view op) {
  return op == "Exit" || op == "RefExit" || op == "NextIteration" || op == "RefNextIteration" || op == "Enter" ||
         op == "RefEnter" || op == "LoopCond";
}

}  // namespace

absl::Status TokenEvaluator::Run(int64_t max_nodes) {
  SLUICE_ASSIGN_OR_RETURN(info_, BuildControlFlowInfo(graph_, LoadLimits()));
  FindEdges();
  frames_.emplace_back();
  frames_.back().iterations.emplace_back();
  for (const NodeId id : graph_.Nodes()) {
    if (graph_.all_inputs(id).empty()) ready_.push_back({&frames_.front(), 0, id});
  }
  do {
    while (!ready_.empty()) {
      if (++nodes_seen_ > max_nodes) return absl::ResourceExhaustedError("too many nodes");
      const Item item = ready_.front();
      ready_.pop_front();
      SLUICE_RETURN_IF_ERROR(RunItem(item));
    }
  } while (FinishAFrame());
  for (const Frame& frame : frames_) is_stuck_ = is_stuck_ || (frame.parent != nullptr && !frame.is_finished);
  return absl::OkStatus();
}

void TokenEvaluator::FindEdges() {
  for (const NodeId id : graph_.Nodes()) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      edges_[inputs[i].node].push_back({id, static_cast<int32_t>(i), inputs[i].index});
    }
    for (const Output& control : graph_.controls(id)) edges_[control.node].push_back({id, -1, -1});
  }
}

TokenEvaluator::Frame* TokenEvaluator::ChildFrame(NodeId enter, Frame* parent, size_t iteration) {
  const int32_t index = info_.frame(enter);
  for (Frame& frame : frames_) {
    if (frame.index == index && frame.parent == parent && frame.parent_iteration == iteration) return &frame;
  }
  frames_.emplace_back();
  Frame& frame = frames_.back();
  frame.index = index;
  frame.parent = parent;
  frame.parent_iteration = iteration;
  frame.pending_enters = info_.frames[static_cast<size_t>(index)].enters.size();
  frame.iterations.emplace_back();
  return &frame;
}

void TokenEvaluator::AddIteration(Frame* frame) {
  frame->iterations.emplace_back();
  frame->dead_exits.clear();
  for (const auto& [enter, token] : frame->invariants) {
    DeliverAll(frame, frame->iterations.size() - 1, enter, {token}, token.is_dead());
  }
}

bool TokenEvaluator::IsReady(NodeId id, const Place& place) const {
  if (place.controls < static_cast<int32_t>(graph_.controls(id).size())) return false;
  if (!IsMerge(id)) return place.data.size() == graph_.inputs(id).size();
  const bool any_value = place.num_dead_data < static_cast<int32_t>(place.data.size());
  return any_value || IsDead(id, place);
}

bool TokenEvaluator::IsDead(NodeId id, const Place& place) const {
  if (graph_.Is(id, "ControlTrigger")) return false;
  if (!IsMerge(id)) return place.any_dead;
  if (place.num_dead_data < static_cast<int32_t>(place.data.size())) return false;
  return place.dead_enter || place.data.size() == graph_.inputs(id).size();
}

void TokenEvaluator::Deliver(Frame* frame, size_t iteration, const Edge& edge, const Token& token) {
  Place& place = frame->iterations[iteration][edge.to];
  // A second token on one edge: some Exit was live in two iterations.
  const bool is_second = edge.input < 0 ? place.controls == static_cast<int32_t>(graph_.controls(edge.to).size())
                                        : place.seen.count(edge.input) > 0;
  is_ambiguous_ = is_ambiguous_ || is_second;
  if (edge.input < 0) {
    ++place.controls;
  } else {
    place.seen.insert(edge.input);
    place.data[edge.input] = token;
    place.num_dead_data += token.is_dead() ? 1 : 0;
    const NodeId from = graph_.inputs(edge.to)[static_cast<size_t>(edge.input)].node;
    place.dead_enter = place.dead_enter || (token.is_dead() && IsEnter(from));
    const int32_t num_values = static_cast<int32_t>(place.data.size()) - place.num_dead_data;
    is_ambiguous_ = is_ambiguous_ || (IsMerge(edge.to) && num_values > 1);
  }
  place.any_dead = place.any_dead || token.is_dead();
  if (place.is_started || !IsReady(edge.to, place)) return;
  place.is_started = true;
  ready_.push_back({frame, iteration, edge.to});
}

void TokenEvaluator::DeliverAll(Frame* frame, size_t iteration, NodeId id, const std::vector<Token>& outputs,
                                bool is_dead) {
  Token ran;
  ran.value = Tensor::Scalar(true);
  for (const Edge& edge : edges_[id]) {
    const Token control = is_dead ? Token() : ran;
    Deliver(frame, iteration, edge, edge.output < 0 ? control : outputs[static_cast<size_t>(edge.output)]);
  }
}

absl::Status TokenEvaluator::RunItem(const Item& item) {
  Place& place = item.frame->iterations[item.iteration][item.node];
  place.is_started = true;
  std::vector<Token> outputs(static_cast<size_t>(graph_.num_outputs(item.node)));
  const bool is_dead = IsDead(item.node, place);
  if (!is_dead) {
    const absl::Status status = RunNode(item.node, place, &outputs);
    if (!status.ok()) return WithNode(status, graph_.name(item.node), graph_.op_name(item.node));
  }
  place.data.clear();
  SendOn(item, outputs, is_dead);
  return absl::OkStatus();
}

void TokenEvaluator::SendOn(const Item& item, const std::vector<Token>& outputs, bool is_dead) {
  const absl::string_view op = graph_.op_name(item.node);
  if (IsEnter(item.node)) {
    Frame* const child = ChildFrame(item.node, item.frame, item.iteration);
    --child->pending_enters;
    if (!graph_.GetBool(item.node, "is_constant").value_or(false))
      return DeliverAll(child, 0, item.node, outputs, is_dead);
    child->invariants.emplace_back(item.node, outputs[0]);
    for (size_t i = 0; i < child->iterations.size(); ++i) DeliverAll(child, i, item.node, outputs, is_dead);
  } else if (absl::EndsWith(op, "NextIteration")) {
    if (is_dead) return;
    if (item.iteration + 1 == item.frame->iterations.size()) AddIteration(item.frame);
    DeliverAll(item.frame, item.iteration + 1, item.node, outputs, false);
  } else if (op == "Exit" || op == "RefExit") {
    if (!is_dead) {
      item.frame->live_exits.insert(item.node);
      return DeliverAll(item.frame->parent, item.frame->parent_iteration, item.node, outputs, false);
    }
    if (item.iteration + 1 == item.frame->iterations.size()) item.frame->dead_exits.push_back(item.node);
  } else {
    DeliverAll(item.frame, item.iteration, item.node, outputs, is_dead);
  }
}

bool TokenEvaluator::FinishAFrame() {
  for (Frame& frame : frames_) {
    if (frame.parent == nullptr || frame.is_finished || frame.pending_enters > 0) continue;
    bool has_child = false;
    for (const Frame& other : frames_) has_child = has_child || (other.parent == &frame && !other.is_finished);
    if (has_child) continue;
    frame.is_finished = true;
    for (const NodeId id : graph_.Nodes()) {
      const bool is_exit = absl::EndsWith(graph_.op_name(id), "Exit") && info_.frame(id) == frame.index;
      const bool is_told = frame.live_exits.count(id) > 0 ||
                           std::find(frame.dead_exits.begin(), frame.dead_exits.end(), id) != frame.dead_exits.end();
      is_ambiguous_ = is_ambiguous_ || (is_exit && !is_told);
    }
    for (const NodeId exit : frame.dead_exits) {
      DeliverAll(frame.parent, frame.parent_iteration, exit, std::vector<Token>(1), true);
    }
    return true;
  }
  return false;
}

absl::StatusOr<TokenEvaluator::Token> TokenEvaluator::Input(NodeId id, Place& place, int32_t i) const {
  Token token = place.data[i];
  if (token.ref == nullptr || IsRef(graph_.input_type(id, i))) return token;
  token.value = token.ref->Read();
  token.ref = nullptr;
  if (!token.value.has_value() && !graph_.op(id).allows_uninitialized_input) {
    return Error(ErrorCode::kUninitialized).Text("reads a variable that has no value yet");
  }
  return token;
}

absl::Status TokenEvaluator::RunNode(NodeId id, Place& place, std::vector<Token>* outputs) {
  const absl::string_view op = graph_.op_name(id);
  if (IsMerge(id)) return RunMerge(id, place, outputs);
  if (op == "Switch" || op == "RefSwitch" || op == "_SwitchN") return RunSwitch(id, place, outputs);
  if (HandsOn(op)) {
    SLUICE_ASSIGN_OR_RETURN((*outputs)[0], Input(id, place, 0));
    return absl::OkStatus();
  }
  if (op == "NoOp" || op == "ControlTrigger") return absl::OkStatus();
  if (op == "_Arg" || op == "_Retval") {
    const size_t index = static_cast<size_t>(graph_.GetInt(id, "index").value_or(0));
    if (op == "_Arg") {
      (*outputs)[0].value = args_[index];
      return absl::OkStatus();
    }
    if (results_.size() <= index) results_.resize(index + 1);
    SLUICE_ASSIGN_OR_RETURN(const Token token, Input(id, place, 0));
    results_[index] = token.value;
    return absl::OkStatus();
  }
  return RunKernel(id, place, outputs);
}

absl::Status TokenEvaluator::RunMerge(NodeId id, Place& place, std::vector<Token>* outputs) {
  for (const auto& [i, token] : place.data) {
    if (token.is_dead()) continue;
    SLUICE_ASSIGN_OR_RETURN((*outputs)[0], Input(id, place, i));
    (*outputs)[1].value = Tensor::Scalar<int32_t>(i);
    return absl::OkStatus();
  }
  return absl::InternalError("a live Merge without a value");
}

absl::Status TokenEvaluator::RunSwitch(NodeId id, Place& place, std::vector<Token>* outputs) {
  SLUICE_ASSIGN_OR_RETURN(const Token data, Input(id, place, 0));
  SLUICE_ASSIGN_OR_RETURN(const Token pred, Input(id, place, 1));
  size_t port = 0;
  if (pred.value.dtype() == DType::kBool) {
    SLUICE_ASSIGN_OR_RETURN(const bool taken, pred.value.AsScalar<bool>());
    port = taken ? 1 : 0;
  } else {
    SLUICE_ASSIGN_OR_RETURN(const int32_t wanted, pred.value.AsScalar<int32_t>());
    const bool exists = wanted >= 0 && wanted < static_cast<int32_t>(outputs->size());
    port = exists ? static_cast<size_t>(wanted) : outputs->size() - 1;
  }
  (*outputs)[port] = data;
  return absl::OkStatus();
}

absl::Status TokenEvaluator::RunKernel(NodeId id, Place& place, std::vector<Token>* outputs) {
  const Signature& signature = graph_.signature(id);
  const uint32_t num_inputs = static_cast<uint32_t>(signature.inputs.size());
  const uint32_t num_outputs = static_cast<uint32_t>(signature.outputs.size());
  const auto entries = std::make_unique<Entry[]>(num_inputs + num_outputs + 1);
  std::vector<Operand> operands;
  for (uint32_t i = 0; i < num_inputs + num_outputs; ++i) operands.emplace_back(Operand::Table::kSlots, i);
  for (uint32_t i = 0; i < num_inputs; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Token token, Input(id, place, static_cast<int32_t>(i)));
    token.ref != nullptr ? entries[i].SetRef(token.ref) : entries[i].SetValue(token.value);
  }
  NodeIo io;
  io.operands = operands.data();
  io.input_types = signature.inputs.data();
  io.output_types = signature.outputs.data();
  io.num_inputs = num_inputs;
  io.num_outputs = num_outputs;
  io.id = id.value();
  EntryTables tables;
  tables.table[static_cast<size_t>(Operand::Table::kSlots)] = entries.get();
  KernelContext context(run_, tables);
  context.SetNode(io);
  ++times_run_[id];
  SLUICE_RETURN_IF_ERROR(ComputeNow(*kernels_.kernel(id), context));
  for (uint32_t i = 0; i < num_outputs; ++i) {
    const Entry& entry = entries[num_inputs + i];
    if (entry.is_ref()) (*outputs)[i].ref = entry.ref();
    if (entry.has_value()) (*outputs)[i].value = entry.value();
  }
  return absl::OkStatus();
}

}  // namespace sluice

#include "executor/serial/serial_program.h"

#include <utility>

#include "executor/serial/register_plan.h"
#include "executor/serial/serial_code.h"
#include "graph/base/hash_table.h"
#include "rendezvous/frame_hash.h"

namespace sluice {

// Turns steps over values into instructions over registers. Lives for one compilation.
class SerialAssembler {
 public:
  SerialAssembler(const SerialCode& code, SerialProgram* program)
      : code_(code), plan_(code), s_(code.structure()), graph_(s_.graph()), program_(*program) {}

  void Assemble() {
    program_.graph_ = &graph_;
    program_.kernels_ = &s_.kernels();
    program_.num_registers_ = plan_.num_registers();
    NumberConstants();
    FindArguments();
    for (const StaticFrame& frame : s_.frames().frames) {
      program_.frame_name_hashes_.push_back(ProtocolHash(frame.name));
    }
    // An empty program needs an address too: ChangeProgram of ProgramRunner cannot continue at null.
    program_.instructions_.reserve(1 + code_.steps().size() + plan_.clears().size());
    int32_t position = 0;
    size_t clear = 0, kept_clear = 0;
    for (const SerialStep& step : code_.steps()) {
      BeginSegments(position);
      Write(step);
      WriteClears(plan_.clears(), Operand::Table::kSlots, step.node, position, &clear);
      WriteClears(plan_.kept_clears(), kKeptTable, step.node, position, &kept_clear);
      ++position;
    }
    BeginSegments(position);
    // Operands have stopped moving.
    for (SerialInstruction& instruction : program_.instructions_) {
      const bool has_io = instruction.action == SerialAction::kCompute || instruction.action == SerialAction::kCall ||
                          instruction.action == SerialAction::kStart;
      if (!has_io) continue;
      instruction.io.operands = program_.operands_.data() + instruction.number;
    }
    if (code_.segments() == nullptr) return;
    program_.segments_ = std::make_unique<const SegmentTable>(*code_.segments(), *plan_.kept(),
                                                              std::move(segment_begins_), std::move(starts_));
  }

 private:
  SerialInstruction& Add(SerialAction action, NodeId node) {
    program_.instructions_.emplace_back();
    SerialInstruction& instruction = program_.instructions_.back();
    instruction.action = action;
    instruction.io.id = node.value();
    return instruction;
  }

  void WriteClears(const std::vector<std::pair<int32_t, int32_t>>& clears, Operand::Table table, NodeId node,
                   int32_t position, size_t* next) {
    for (; *next < clears.size() && clears[*next].first == position; ++*next) {
      Add(SerialAction::kClear, node).destination = Operand(table, static_cast<uint32_t>(clears[*next].second));
    }
  }

  // Those that begin with the step at `position`: some have no code.
  void BeginSegments(int32_t position) {
    const absl::Span<const int32_t> begins = code_.segment_begins();
    while (segment_begins_.size() < begins.size() && begins[segment_begins_.size()] == position) {
      segment_begins_.push_back(Here());
    }
  }

  // Equal constants are one kernel's, and one place in the table.
  void NumberConstants() {
    constants_.assign(code_.num_values(), 0);
    HashMap<const Tensor*, uint32_t> places;
    std::vector<const Tensor*> tensors;
    for (size_t value = 0; value < code_.num_values(); ++value) {
      const Tensor* const constant = code_.Constant(static_cast<int32_t>(value));
      if (constant == nullptr) continue;
      const auto [place, is_new] = places.try_emplace(constant, static_cast<uint32_t>(tensors.size()));
      if (is_new) tensors.push_back(constant);
      constants_[value] = place->second;
    }
    program_.constants_ = std::make_unique<Entry[]>(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) program_.constants_[i].SetValue(*tensors[i]);
  }

  void FindArguments() {
    for (const NodeId id : s_.order()) {
      const SerialRole role = s_.role(id);
      if (role != SerialRole::kArg && role != SerialRole::kReturn) continue;
      const size_t index = static_cast<size_t>(graph_.GetInt(id, "index").value_or(0));
      if (role == SerialRole::kArg) {
        if (program_.arguments_.size() <= index) {
          program_.arguments_.resize(index + 1, -1);
          program_.argument_nodes_.resize(index + 1);
        }
        if (s_.guard(id) == kNever) continue;
        const int32_t value = s_.value({id, 0}), slot = KeptSlot(value);
        program_.arguments_[index] = slot >= 0 ? -2 - slot : plan_.register_of(value);
        if (program_.arguments_[index] != -1) program_.argument_nodes_[index] = id;
      } else {
        if (program_.results_.size() <= index) program_.results_.resize(index + 1);
        program_.results_[index] = id;
      }
    }
  }

  // The next read of the steps.
  Operand Read(int32_t value) {
    const bool is_last = plan_.IsLastRead(next_read_++);
    if (code_.Constant(value) != nullptr) {
      return Operand(Operand::Table::kConstants, constants_[static_cast<size_t>(value)]);
    }
    return Place(value, is_last);
  }

  Operand Destination(int32_t value) const { return Place(value, /*is_last=*/false); }

  Operand Place(int32_t value, bool is_last) const {
    const int32_t slot = KeptSlot(value);
    if (slot >= 0) return Operand(kKeptTable, static_cast<uint32_t>(slot), is_last);
    return Operand(Operand::Table::kSlots, static_cast<uint32_t>(plan_.register_of(value)), is_last);
  }

  // -1: it is not kept.
  int32_t KeptSlot(int32_t value) const { return plan_.kept() != nullptr ? plan_.kept()->slot_of(value) : -1; }

  void Write(const SerialStep& step) {
    switch (step.op) {
      case SerialOp::kCompute: {
        const bool is_call = s_.kernels().body(step.node) != nullptr;
        WriteCall(step, is_call ? SerialAction::kCall : SerialAction::kCompute);
        return;
      }
      case SerialOp::kStart: {
        const int32_t stop = code_.segments()->stop_of(step.node);
        WriteCall(step, SerialAction::kStart).target = stop;
        starts_.resize(code_.segments()->stops().size());
        starts_[static_cast<size_t>(stop)] = Here() - 1;
        return;
      }
      case SerialOp::kMove:
        return WriteMove(step);
      case SerialOp::kIndex: {
        SerialInstruction& instruction = Add(SerialAction::kIndex, step.node);
        instruction.destination = Destination(step.a);
        instruction.number = step.b;
        return;
      }
      case SerialOp::kOpen: {
        SerialInstruction& instruction = Add(SerialAction::kBranch, step.node);
        instruction.source = Read(step.a);
        instruction.number = step.b;
        instruction.num_ports = s_.guards().num_ports(step.a);
        open_.push_back(program_.instructions_.size() - 1);
        return;
      }
      case SerialOp::kClose:
        program_.instructions_[open_.back()].target = Here();
        open_.pop_back();
        return;
      case SerialOp::kLoop:
        Add(SerialAction::kEnterLoop, step.node).number = step.a;
        loops_.push_back(Here());
        return;
      case SerialOp::kRepeat:
        Add(SerialAction::kRepeat, step.node).target = loops_.back();
        return;
      case SerialOp::kEnd:
        Add(SerialAction::kLeaveLoop, step.node);
        loops_.pop_back();
        return;
      case SerialOp::kReturn: {
        const Operand source = Read(step.b);
        SerialInstruction& instruction =
            Add(source.is_last_use() ? SerialAction::kReturnMove : SerialAction::kReturn, step.node);
        instruction.source = source;
        instruction.number = step.a;
        return;
      }
    }
  }

  int32_t Here() const { return static_cast<int32_t>(program_.instructions_.size()); }

  void WriteMove(const SerialStep& step) {
    const Operand source = Read(step.b);
    const bool reads_variable = code_.IsRef(step.b) && !code_.IsRef(step.a);
    SerialInstruction& instruction = Add(reads_variable         ? SerialAction::kDereference
                                         : source.is_last_use() ? SerialAction::kMove
                                                                : SerialAction::kCopy,
                                         step.node);
    instruction.source = source;
    instruction.destination = Destination(step.a);
    instruction.number = step.input;
  }

  SerialInstruction& WriteCall(const SerialStep& step, SerialAction action) {
    const Signature& signature = graph_.signature(step.node);
    const size_t first = program_.operands_.size();
    NodeIo unused;
    bool has_last_uses = false;
    for (int32_t i = 0; i < static_cast<int32_t>(signature.inputs.size()); ++i) {
      program_.operands_.push_back(Read(code_.InputValue(step.node, i)));
      has_last_uses = has_last_uses || program_.operands_.back().is_last_use();
      if (!IsRef(signature.inputs[static_cast<size_t>(i)]) || graph_.op(step.node).allows_uninitialized_input) continue;
      SerialInstruction& needs_value = Add(SerialAction::kNeedValue, step.node);
      needs_value.source = program_.operands_.back();
      needs_value.number = i;
    }
    for (int32_t i = 0; i < static_cast<int32_t>(signature.outputs.size()); ++i) {
      const int32_t value = s_.value({step.node, i});
      program_.operands_.push_back(Destination(value));
      program_.output_is_read_.resize(program_.operands_.size());
      program_.output_is_read_.back() = s_.values()[static_cast<size_t>(value)].is_used;
      if (!program_.output_is_read_.back()) unused.SetOutputUnused(static_cast<uint32_t>(i));
    }
    program_.output_is_read_.resize(program_.operands_.size());
    SerialInstruction& instruction = Add(action, step.node);
    instruction.has_last_uses = has_last_uses;
    instruction.kernel = s_.kernels().kernel(step.node);
    instruction.cost_hint = instruction.kernel->cost_hint();
    instruction.io.unused_outputs = unused.unused_outputs;
    instruction.io.input_types = signature.inputs.data();
    instruction.io.output_types = signature.outputs.data();
    instruction.io.num_inputs = static_cast<uint32_t>(signature.inputs.size());
    instruction.io.num_outputs = static_cast<uint32_t>(signature.outputs.size());
    instruction.number = static_cast<int32_t>(first);
    return instruction;
  }

  const SerialCode& code_;
  const RegisterPlan plan_;
  const SerialStructure& s_;
  const Graph& graph_;
  SerialProgram& program_;
  std::vector<uint32_t> constants_;  // By value.
  std::vector<size_t> open_;         // Branches of the open blocks.
  std::vector<int32_t> loops_;       // Beginnings of the open loops.
  size_t next_read_ = 0;
  std::vector<int32_t> segment_begins_;
  std::vector<int32_t> starts_;  // By stop.
};

absl::StatusOr<std::unique_ptr<const SerialProgram>> SerialProgram::Compile(const Graph& graph,
                                                                            const KernelSet& kernels,
                                                                            std::string* why_not, StopPoll* stop,
                                                                            const LoadLimits& limits,
                                                                            SerialWaits waits) {
  SLUICE_ASSIGN_OR_RETURN(const SerialStructure structure,
                          SerialStructure::Analyze(graph, kernels, stop, limits, waits));
  SerialCode code;
  std::string reason;
  if (!SerialCode::Write(structure, &code, &reason)) {
    if (why_not != nullptr) *why_not = std::move(reason);
    return nullptr;
  }
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  std::unique_ptr<SerialProgram> program(new SerialProgram());
  SerialAssembler assembler(code, program.get());  // Plans the registers.
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  assembler.Assemble();
  SLUICE_RETURN_IF_ERROR(PollStop(stop, graph.id_limit()));
  return program;
}

}  // namespace sluice

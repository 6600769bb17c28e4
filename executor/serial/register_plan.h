#ifndef SLUICE_EXECUTOR_SERIAL_REGISTER_PLAN_H_
#define SLUICE_EXECUTOR_SERIAL_REGISTER_PLAN_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "executor/serial/kept_plan.h"
#include "executor/serial/serial_code.h"

namespace sluice {

// Assigns registers to values, and finds the last reads and the places where registers must be cleared.
//
// Note [Registers]
// A value lives from its first definition to its last use in the text; a value from outside of a loop that is used in
// it lives to the loop's end. Values whose lives do not overlap share a register: a chain of a thousand nodes runs in
// two, which stay in the first cache. The last reader may take the buffer over. It is the last when no later step of
// the text that could run after it reads the value: steps under a guard that excludes its own do not count, and a
// loop variable is overwritten at the end of the iteration anyway. Where a block may be skipped, and the last reader
// with it, the register is cleared after the block.
class RegisterPlan {
 public:
  explicit RegisterPlan(const SerialCode& code);

  int32_t num_registers() const { return num_registers_; }
  // The plan of values that outlive a segment; null if the graph does not wait.
  const KeptPlan* kept() const { return kept_.has_value() ? &*kept_ : nullptr; }
  // -1 for constants, for values that are kept, and for those that nothing defines.
  int32_t register_of(int32_t value) const { return registers_[static_cast<size_t>(value)]; }
  // Reads are numbered as VisitReads meets them, all steps in order.
  bool IsLastRead(size_t read) const { return last_reads_[read]; }
  // {step, register}, ascending: clear the register after the step.
  const std::vector<std::pair<int32_t, int32_t>>& clears() const { return clears_; }
  // {step, slot}, ascending: clear the kept value after the step.
  const std::vector<std::pair<int32_t, int32_t>>& kept_clears() const { return kept_clears_; }

  // Calls `visit(value)` for each value that `step` reads, in order of the inputs.
  template <typename Visit>
  static void VisitReads(const SerialCode& code, const SerialStep& step, Visit&& visit);
  // Calls `visit(value)` for each value that `step` defines.
  template <typename Visit>
  static void VisitDefinitions(const SerialCode& code, const SerialStep& step, Visit&& visit);
  // The guard under which the values that `step` defines exist.
  static GuardId GuardOfDefinition(const SerialCode& code, const SerialStep& step);

 private:
  // Facts of one value while planning.
  struct Life {
    int32_t begin = -2;  // Step of the first definition; -1 for arguments, -2 for none.
    int32_t end = -2;
    int32_t loop = 0;         // Innermost loop around `begin`, as an index in loops_.
    GuardId guard = kAlways;  // Of the definition, for cond Merges the joined one.
    GuardId later{-1};        // Guard of the reads after the current step; -1 none yet, -2 several.
    bool is_touched = false;
    bool is_redefined = false;
    bool needs_clear = true;
  };
  struct Loop {
    int32_t parent = -1;
    int32_t frame = 0;
    int32_t begin = -1, end = -1;  // Steps.
  };

  void FindLives();
  void FindEnds();
  void Touch(Life& life, int32_t step, int32_t loop) const;
  bool IsLast(int32_t value, Life& life, const SerialStep& step, int32_t loop, bool is_repeated) const;
  bool IsKept(int32_t value) const { return kept_.has_value() && kept_->slot_of(value) >= 0; }
  void AssignRegisters();
  // Ends the life of `value` after step `after`: clears its register, unless the last reader took the value, and frees
  // it.
  void End(int32_t value, int32_t after, std::vector<int32_t>* free);
  void Define(int32_t value, int32_t step, int32_t loop, GuardId guard);

  const SerialCode& code_;
  std::optional<KeptPlan> kept_;
  std::vector<Loop> loops_;         // 0: no loop.
  std::vector<int32_t> loop_of_;    // By step, while planning.
  std::vector<Life> lives_;         // By value, while planning.
  std::vector<bool> last_reads_;    // By read.
  std::vector<int32_t> registers_;  // By value.
  std::vector<std::pair<int32_t, int32_t>> clears_, kept_clears_;
  int32_t num_registers_ = 0;
};

template <typename Visit>
void RegisterPlan::VisitReads(const SerialCode& code, const SerialStep& step, Visit&& visit) {
  switch (step.op) {
    case SerialOp::kCompute:
    case SerialOp::kStart: {
      const size_t count = code.structure().graph().inputs(step.node).size();
      for (size_t i = 0; i < count; ++i) visit(code.InputValue(step.node, static_cast<int32_t>(i)));
      return;
    }
    case SerialOp::kMove:
    case SerialOp::kReturn:
      visit(step.b);
      return;
    case SerialOp::kOpen:
      visit(step.a);
      return;
    default:
      return;
  }
}

template <typename Visit>
void RegisterPlan::VisitDefinitions(const SerialCode& code, const SerialStep& step, Visit&& visit) {
  if (step.op == SerialOp::kMove || step.op == SerialOp::kIndex) {
    visit(step.a);
  } else if (step.op == SerialOp::kCompute || step.op == SerialOp::kStart) {
    const int32_t count = code.structure().graph().num_outputs(step.node);
    for (int32_t i = 0; i < count; ++i) visit(code.structure().value({step.node, i}));
  }
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_REGISTER_PLAN_H_

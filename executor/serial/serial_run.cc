#include "executor/serial/serial_run.h"

#include <utility>

#include "executor/serial/program_runner.h"

namespace sluice {

absl::Status RunSerialProgram(const SerialProgram& program, Entry* registers, const RunContext& context,
                              absl::Span<Tensor> results) {
  const SerialInstruction* const begin = program.instructions().data();
  const SerialInstruction* const end = begin + program.instructions().size();
  const bool is_watched = context.observer != nullptr || context.deadline != absl::InfiniteFuture();
  if (is_watched) return ProgramRunner<true>(program, registers, context, results).Run(begin, end);
  return ProgramRunner<false>(program, registers, context, results).Run(begin, end);
}

std::unique_ptr<Entry[]> RegisterPool::Take() {
  {
    MutexLock lock(&mu_);
    if (!kept_.empty()) {
      std::unique_ptr<Entry[]> registers = std::move(kept_.back());
      kept_.pop_back();
      return registers;
    }
  }
  return std::make_unique<Entry[]>(num_registers_);
}

void RegisterPool::Put(std::unique_ptr<Entry[]> registers) {
  Clear(registers.get(), num_registers_);
  MutexLock lock(&mu_);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(registers));
}

void RegisterPool::Clear(Entry* registers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (registers[i].holds_buffer()) registers[i].Clear();
  }
}

}  // namespace sluice

#include "executor/serial/serial_run.h"

#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
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

absl::Status RunSerialCall(const SerialProgram& program, Entry* registers, KernelContext& call) {
  const absl::Span<const int32_t> places = program.arguments();
  for (size_t i = 0; i < places.size() && i < static_cast<size_t>(call.num_inputs()); ++i) {
    if (places[i] >= 0) registers[places[i]].SetValue(call.TakeInput(static_cast<int>(i)));
  }
  absl::InlinedVector<Tensor, 4> results(program.results().size());
  const RunContext& run = call.run();
  const bool is_watched = run.observer != nullptr || run.deadline != absl::InfiniteFuture();
  const SerialInstruction* const begin = program.instructions().data();
  const SerialInstruction* const end = begin + program.instructions().size();
  const absl::Span<Tensor> to = absl::MakeSpan(results);
  absl::Status status =
      is_watched ? ProgramRunner<true>(program, registers, run, to, nullptr, nullptr, &call).Run(begin, end)
                 : ProgramRunner<false>(program, registers, run, to, nullptr, nullptr, &call).Run(begin, end);
  for (size_t i = 0; status.ok() && i < results.size(); ++i) {
    if (results[i].has_value()) call.SetOutput(static_cast<int>(i), std::move(results[i]));
  }
  return status;
}

std::unique_ptr<Entry[]> RegisterPool::Take() {
  std::optional<std::unique_ptr<Entry[]>> kept = kept_.Take();
  return kept.has_value() ? *std::move(kept) : std::make_unique<Entry[]>(num_registers_);
}

void RegisterPool::Put(std::unique_ptr<Entry[]> registers) {
  Clear(registers.get(), num_registers_);
  try {
    kept_.Put(std::move(registers), num_registers_ * sizeof(Entry));
  } catch (...) {
    // There was no memory to keep them. The run that they are of is over, and may have answered.
  }
}

void RegisterPool::Clear(Entry* registers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (registers[i].holds_buffer()) registers[i].Clear();
  }
}

}  // namespace sluice

#include "executor/serial/program_runner.h"
#include "executor/serial/serial_run.h"

namespace sluice {

absl::Status RunSerialSegment(const SerialProgram& program, int32_t segment, Entry* registers, Entry* kept,
                              const RunContext& context, absl::Span<Tensor> results, SegmentOwner* owner) {
  const SerialInstruction* const begin = program.instructions().data() + program.segments()->begin(segment);
  const SerialInstruction* const end = program.instructions().data() + program.segments()->end(segment);
  if (context.observer != nullptr || context.deadline != absl::InfiniteFuture()) {
    return ProgramRunner<true, true>(program, registers, context, results, kept, owner).Run(begin, end);
  }
  return ProgramRunner<false, true>(program, registers, context, results, kept, owner).Run(begin, end);
}

}  // namespace sluice

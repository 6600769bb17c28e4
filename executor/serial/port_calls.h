#ifndef SLUICE_EXECUTOR_SERIAL_PORT_CALLS_H_
#define SLUICE_EXECUTOR_SERIAL_PORT_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/serial_program.h"
#include "graph/value/entry.h"
#include "graph/value/tensor.h"
#include "kernels/run_context.h"
#include "kernels/step/span_call_frame.h"

namespace sluice {

// Moves the arguments of a serial program from a call frame into its registers, and its results back. Values in arrays
// (SpanCallFrame) are moved directly; for other frames, and on errors, it calls the kernels of the graph's _Arg and
// _Retval nodes, so that the results and errors are theirs. Immutable; thread-safe. Borrows the program and the
// kernels.
class PortCalls {
 public:
  PortCalls(const SerialProgram& program, const KernelSet& kernels);

  size_t num_results() const { return program_.results().size(); }
  // Fills the registers of the arguments from `run.call_frame`. `spans` is that frame, or null if it is of another
  // type.
  absl::Status Take(const RunContext& run, SpanCallFrame* spans, Entry* registers) const {
    for (const Argument& argument : arguments_) {
      if (ABSL_PREDICT_TRUE(spans != nullptr && argument.index < spans->args().size() &&
                            spans->args()[argument.index].dtype() == argument.dtype)) {
        registers[argument.place].SetValue(std::move(spans->args()[argument.index]));
        continue;
      }
      absl::Status taken = Call(argument.node, run, registers, static_cast<uint32_t>(argument.place));
      if (!taken.ok()) return taken;
    }
    return absl::OkStatus();
  }
  // As above, for a program with segments, where some arguments go to `kept`.
  absl::Status Take(const RunContext& run, SpanCallFrame* spans, Entry* registers, Entry* kept) const;
  // Whether a program may write its results directly into the frame.
  bool FitIn(SpanCallFrame* spans) const {
    if (spans == nullptr || spans->retvals().size() < num_results()) return false;
    for (const Tensor& result : spans->retvals()) {
      if (ABSL_PREDICT_FALSE(result.has_value())) return false;
    }
    return true;
  }
  // Passes the results to `run.call_frame`; dead results have no value.
  absl::Status Give(const RunContext& run, absl::Span<Tensor> results) const;

 private:
  struct Argument {
    NodeId node;
    int32_t place;  // See SerialProgram::arguments.
    size_t index;
    DType dtype;
  };

  // Calls the kernel of `node`, whose only input or output is `entries[place]`.
  absl::Status Call(NodeId node, const RunContext& run, Entry* entries, uint32_t place) const;

  const SerialProgram& program_;
  const KernelSet& kernels_;
  std::vector<Argument> arguments_;  // Those that something reads.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_PORT_CALLS_H_

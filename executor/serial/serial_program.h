#ifndef SLUICE_EXECUTOR_SERIAL_SERIAL_PROGRAM_H_
#define SLUICE_EXECUTOR_SERIAL_SERIAL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/segment_table.h"
#include "executor/serial/structure.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/value/entry.h"
#include "kernels/kernel.h"

namespace sluice {

// The kind of an instruction. See Note [Serial programs] in serial_code.h.
enum class SerialAction : uint8_t {
  kCompute,
  kCall,         // The program of the body that is the kernel (Note [Called bodies]); otherwise like kCompute.
  kMove,         // destination := source, which is given up.
  kCopy,         // destination := source.
  kDereference,  // destination := the value of the variable that source refers to, for input `number` of the node.
  kIndex,        // destination := the int32 scalar `number`.
  kNeedValue,    // Input `number` of the node, the variable that source refers to, must have a value.
  kBranch,       // Jumps to `target` unless predicate `source` takes port `number` of `num_ports`.
  kEnterLoop,    // Iteration 0 of the loop frame `number` begins; until kLeaveLoop nodes run in it.
  kRepeat,       // Jumps to `target`, for another iteration.
  kLeaveLoop,    // Back in the iteration that the loop was entered from.
  kReturn,       // Result `number` := source.
  kReturnMove,   // The same, source is given up.
  kClear,        // destination is given up.
  kStart,        // Starts the asynchronous kernel; of a program that waits.
};

// One step of a program: plain data.
struct SerialInstruction {
  SerialAction action = SerialAction::kCompute;
  bool has_last_uses = false;  // Of kCompute and kStart: some input is read for the last time.
  CostHint cost_hint = CostHint::kCheap;
  const Kernel* kernel = nullptr;
  NodeIo io;
  Operand source, destination;
  int32_t number = 0;
  int32_t num_ports = 2;
  int32_t target = 0;  // Of kStart: the number of the stop.
};

// A graph as straight code for one thread. Immutable; any number of threads may run it at once (serial_run.h).
// Borrows the graph and the kernels, which must outlive it.
class SerialProgram {
 public:
  // Returns null if the graph cannot be written as one, and the reason in `*why_not` (may be null). `stop` is polled;
  // it may be null. Errors as of SerialStructure::Analyze. A graph with asynchronous kernels or transfers becomes a
  // program with segments where `waits` allows it.
  static absl::StatusOr<std::unique_ptr<const SerialProgram>> Compile(const Graph& graph, const KernelSet& kernels,
                                                                      std::string* why_not, StopPoll* stop = nullptr,
                                                                      const LoadLimits& limits = LoadLimits(),
                                                                      SerialWaits waits = SerialWaits::kRefused);

  absl::Span<const SerialInstruction> instructions() const { return instructions_; }
  int32_t num_registers() const { return num_registers_; }
  // Null if the program runs without a wait.
  const SegmentTable* segments() const { return segments_.get(); }
  // Registers of the arguments by index; -1 for those that nothing reads. Of a program with segments, -2 - i for those
  // that are kept, in slot i.
  absl::Span<const int32_t> arguments() const { return arguments_; }
  // The nodes of the arguments; invalid for those that nothing reads.
  absl::Span<const NodeId> argument_nodes() const { return argument_nodes_; }
  // Nodes of the results by index; invalid where the graph has no result of that index.
  absl::Span<const NodeId> results() const { return results_; }
  // Whether some node reads output `i` of the node that runs with `io`.
  bool IsRead(const NodeIo& io, uint32_t i) const {
    return output_is_read_[static_cast<size_t>(io.operands - operands_.data()) + io.num_inputs + i];
  }
  // What a kCall of this program calls.
  const CalledBody* body(const SerialInstruction& call) const { return kernels_->body(NodeId(call.io.id)); }
  // ProtocolHash of the name of static frame `frame`.
  uint64_t frame_name_hash(int32_t frame) const { return frame_name_hashes_[static_cast<size_t>(frame)]; }
  // Never written.
  Entry* constants() const { return constants_.get(); }
  const Graph& graph() const { return *graph_; }

 private:
  friend class SerialAssembler;
  SerialProgram() = default;

  const Graph* graph_ = nullptr;
  const KernelSet* kernels_ = nullptr;
  std::vector<SerialInstruction> instructions_;
  std::vector<Operand> operands_;
  std::vector<bool> output_is_read_;  // By operand; inputs count as not read.
  std::unique_ptr<Entry[]> constants_;
  std::vector<int32_t> arguments_;
  std::vector<NodeId> argument_nodes_;
  std::vector<NodeId> results_;
  std::vector<uint64_t> frame_name_hashes_;
  int32_t num_registers_ = 0;
  std::unique_ptr<const SegmentTable> segments_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_SERIAL_PROGRAM_H_

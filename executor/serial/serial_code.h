#ifndef SLUICE_EXECUTOR_SERIAL_SERIAL_CODE_H_
#define SLUICE_EXECUTOR_SERIAL_SERIAL_CODE_H_

// A graph written down as steps over values, before the values have registers.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "executor/serial/segment_plan.h"
#include "executor/serial/structure.h"
#include "graph/base/hash_table.h"

namespace sluice {

// Note [Serial programs]
// A structured graph (Note [Guards]) runs on one thread as straight code: nodes in a fixed order, blocks that are
// jumped over when their predicate says so, loops that jump back. Nothing is counted and nothing is queued; identities,
// switches, constant enters and exits are names for registers and cost nothing; a branch that is not taken costs one
// jump, whatever its size. Any order that respects the edges is one that the propagators might have chosen too.
enum class SerialOp : uint8_t {
  kCompute,  // The kernel of `node`.
  kMove,     // a := b; a reference becomes a value where a is not a reference.
  kIndex,    // a := the int32 scalar b (which input of a Merge was taken).
  kOpen,     // Begins a block: skipped unless predicate a takes port b.
  kClose,    // Ends the innermost open block.
  kLoop,     // Begins loop a.
  kRepeat,   // Jumps to the beginning of loop a.
  kEnd,      // After the end of loop a.
  kReturn,   // Result a is value b.
  kStart,    // The kernel of `node`, asynchronously.
};

struct SerialStep {
  SerialOp op = SerialOp::kCompute;
  NodeId node;  // For error messages.
  int32_t a = -1;
  int32_t b = -1;
  int32_t input = -1;       // Of a kMove: which input of `node` it makes a value of; -1 for none in particular.
  GuardId guard = kAlways;  // Of the block around it, within the loop around it.
};

// The steps of one graph. Immutable once written. Borrows the structure.
class SerialCode {
 public:
  // Returns false and sets `*why_not` if the graph turns out not to be structured.
  static bool Write(const SerialStructure& structure, SerialCode* code, std::string* why_not);

  absl::Span<const SerialStep> steps() const { return steps_; }
  // The steps of a graph that waits come segment after segment. Null if the graph does not wait.
  const SegmentPlan* segments() const { return segments_.has_value() ? &*segments_ : nullptr; }
  // Where each segment begins, and at last where the last one ends.
  absl::Span<const int32_t> segment_begins() const { return segment_begins_; }
  // The value that input `i` of `node` reads. REQUIRES: a step computes or starts the node.
  int32_t InputValue(NodeId node, int32_t i) const;
  // The number of values: those of the structure, and temporaries after them.
  size_t num_values() const { return num_values_; }
  bool IsRef(int32_t value) const {
    return static_cast<size_t>(value) < structure_->values().size() &&
           structure_->values()[static_cast<size_t>(value)].is_ref;
  }
  const Tensor* Constant(int32_t value) const {
    return static_cast<size_t>(value) < structure_->values().size()
               ? structure_->values()[static_cast<size_t>(value)].constant
               : nullptr;
  }
  const SerialStructure& structure() const { return *structure_; }

 private:
  friend class SerialCodeWriter;

  const SerialStructure* structure_ = nullptr;
  std::vector<SerialStep> steps_;
  std::optional<SegmentPlan> segments_;
  std::vector<int32_t> segment_begins_;
  size_t num_values_ = 0;
  HashMap<std::pair<int32_t, int32_t>, int32_t> dereferenced_;  // {node, input}
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_SERIAL_CODE_H_

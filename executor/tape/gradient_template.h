#ifndef SLUICE_EXECUTOR_TAPE_GRADIENT_TEMPLATE_H_
#define SLUICE_EXECUTOR_TAPE_GRADIENT_TEMPLATE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/eager_op.h"
#include "graph/value/entry.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// A set of inputs or outputs by index. Those from 63 on share a bit: all are in the set if one is.
class SlotSet {
 public:
  SlotSet() = default;
  static SlotSet All() { return SlotSet(~uint64_t{0}); }
  static uint64_t BitOf(size_t i) { return uint64_t{1} << std::min<size_t>(i, 63); }

  void Add(size_t i) { bits_ |= BitOf(i); }
  void AddAll(SlotSet other) { bits_ |= other.bits_; }
  bool Has(size_t i) const { return (bits_ & BitOf(i)) != 0; }
  bool Meets(SlotSet other) const { return (bits_ & other.bits_) != 0; }
  bool empty() const { return bits_ == 0; }
  uint64_t bits() const { return bits_; }
  friend bool operator==(SlotSet a, SlotSet b) { return a.bits_ == b.bits_; }

 private:
  explicit SlotSet(uint64_t bits) : bits_(bits) {}
  uint64_t bits_ = 0;
};

// What the gradient of one call may depend on.
struct OpCall {
  const EagerOp& op;
  absl::Span<const Tensor* const> inputs;
  absl::Span<const Tensor* const> outputs;
};

// The gradient of one op as a list of ops to call: what the op's row adds to a graph of this op alone. It serves every
// call of the op with the same answers to the row's questions (shapes, small constants), the same outputs with
// gradients, and the same inputs that want them. Immutable; thread-safe.
//
// Values are numbered: first those that the forward call saves, then the gradients of its outputs, then the steps'
// results.
class GradientTemplate {
 public:
  // A value of the forward call that some step reads.
  struct Saved {
    bool is_output = false;
    uint32_t index = 0;
  };
  // One op to call.
  struct Step {
    std::shared_ptr<const EagerOp> op;
    NodeIo io;
    SlotSet serves;  // The inputs of the forward op whose gradients need it.
  };

  // Calls the row of the op. `wants`: inputs whose gradients are needed; `dys`: outputs that have gradients. Errors:
  // kTapeNoDerivative, naming the op, if it has no gradient; those of making the steps' kernels.
  static absl::StatusOr<std::shared_ptr<const GradientTemplate>> Make(EagerOps& ops, const OpCall& call, SlotSet wants,
                                                                      SlotSet dys);
  GradientTemplate(const GradientTemplate&) = delete;
  GradientTemplate& operator=(const GradientTemplate&) = delete;

  // Whether it is the gradient of this call.
  bool Fits(const OpCall& call, SlotSet wants, SlotSet dys) const {
    return wants == wants_ && dys == dys_ &&
           std::all_of(facts_.begin(), facts_.end(), [&](const Fact& fact) { return fact.Holds(call); });
  }

  absl::Span<const Saved> saved() const { return saved_; }
  bool saves_outputs() const { return saves_outputs_; }
  absl::Span<const Step> steps() const { return steps_; }
  SlotSet wants() const { return wants_; }
  // The outputs with gradients, in the order of their values.
  absl::Span<const uint32_t> dys() const { return dy_slots_; }
  size_t num_values() const { return num_values_; }
  // The constants that steps read. Never written.
  Entry* constants() const { return constants_.get(); }
  // Whether input `i` has a gradient; dx(i) is its place, among the values or the constants.
  bool has_dx(size_t i) const { return i < dxs_.size() && dxs_[i].has_value(); }
  Operand dx(size_t i) const { return *dxs_[i]; }

  // Calls the steps that serve `wants`. `values`: num_values() entries, of which the saved values and the gradients are
  // set; each is dropped after its last use.
  absl::Status Run(const RunContext& run, Entry* values, SlotSet wants) const;

 private:
  friend class GradientMaker;
  // The answer to a question of the row. Values are inputs, then outputs.
  struct Fact {
    enum class Kind : uint8_t { kShape, kSameShape, kIntegers } kind;
    uint32_t of = 0, other = 0;
    PartialShape shape;
    bool are_same = false;
    std::optional<std::vector<int64_t>> integers;

    bool Holds(const OpCall& call) const;
  };

  GradientTemplate() = default;

  SlotSet wants_, dys_;
  std::vector<Fact> facts_;
  std::vector<Saved> saved_;
  std::vector<uint32_t> dy_slots_;
  std::vector<Step> steps_;
  std::vector<std::vector<Operand>> operands_;  // Of each step.
  std::vector<std::optional<Operand>> dxs_;
  std::unique_ptr<Entry[]> constants_;
  size_t num_values_ = 0;
  bool saves_outputs_ = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_GRADIENT_TEMPLATE_H_

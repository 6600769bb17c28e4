#ifndef SLUICE_GRAPH_VALUE_ENTRY_H_
#define SLUICE_GRAPH_VALUE_ENTRY_H_

// The values on edges while a graph runs.
//
// Note [Slots]
// A value is written once, into the slot of the output that made it, and read there by all consumers: nothing is copied
// on fan-out and nothing is gathered before a kernel runs. A slot is an Entry of one cache line. Slots live in four
// tables: those of an iteration (or the registers of a serial program), the loop invariants of a frame, the constants
// of the plan, and a node's scratch. An Operand says table and index; kernels see slots through KernelContext only.
// The last consumer frees the buffer, or takes it over and works in place. With one consumer this is known when the
// graph is compiled (Operand::is_last_use); with several, the entry counts down.
//
// Note [Dead tokens]
// An output that its node did not compute, since a Switch sent the value elsewhere, is dead: not an error, but a token
// that travels along edges like a value, so that consumers stop waiting.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "graph/base/check.h"
#include "graph/value/tensor.h"

namespace sluice {

class RefCell;

// The state of one output: nothing yet, dead, a value, or a reference to a variable's cell. One cache line.
// A reference is borrowed: the kernel or the step that handed it out keeps the cell alive for the whole run.
// Thread-safety: one writer, then, ordered by the counters, many readers; the use count is atomic.
class Entry {
 public:
  enum class State : uint8_t { kNone = 0, kDead, kValue, kRef };

  Entry() = default;
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  State state() const { return static_cast<State>(tensor_.shape_.lent_state_); }
  bool has_value() const { return state() == State::kValue; }
  bool is_ref() const { return state() == State::kRef; }
  // Whether a consumer sees this as dead: no value and no reference.
  bool is_dead() const { return state() < State::kValue; }

  // REQUIRES: has_value().
  const Tensor& value() const { return tensor_; }
  Tensor& value() { return tensor_; }
  // REQUIRES: is_ref().
  RefCell* ref() const {
    SLUICE_DCHECK(is_ref());
    RefCell* cell;
    std::memcpy(&cell, tensor_.inline_, sizeof(cell));
    return cell;
  }

  // These replace and free the old content.
  void SetValue(Tensor value) {
    tensor_ = std::move(value);
    SetState(State::kValue);
  }
  // A scalar of a plain type. Writes only a scalar's fields, each at its full width: a wide load right after narrower
  // stores would stall.
  template <typename T>
  void SetScalar(T value) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= Tensor::kInlineBytes, "plain elements only");
    Shape& shape = tensor_.shape_;
    if (ABSL_PREDICT_FALSE(holds_buffer() || shape.rank_ > Shape::kInlineRank)) tensor_ = Tensor();
    shape.num_elements_ = 1;
    shape.rank_ = 0;
    shape.lent_dtype_ = static_cast<uint8_t>(DTypeOf<T>::value);
    shape.lent_storage_ = static_cast<uint8_t>(Tensor::Storage::kInline);
    shape.lent_state_ = static_cast<uint8_t>(State::kValue);
    uint64_t words[2] = {0, 0};
    std::memcpy(words, &value, sizeof(T));
    std::memcpy(tensor_.inline_, words, sizeof(words));
  }
  void SetRef(RefCell* cell) {
    Clear();
    std::memcpy(tensor_.inline_, &cell, sizeof(cell));
    SetState(State::kRef);
  }
  void SetDead() {
    Clear();
    SetState(State::kDead);
  }
  // Frees the old content.
  void Clear() {
    if (!tensor_.IsInline()) tensor_ = Tensor();
    SetState(State::kNone);
  }
  // Marks it as not computed; keeps the old value until the next one is written.
  void MarkEmpty() { SetState(State::kNone); }
  // Whether the value holds a buffer.
  bool holds_buffer() const { return !tensor_.IsInline(); }

  // Takes over the content of `other`, and leaves it empty.
  void MoveFrom(Entry& other) {
    tensor_ = std::move(other.tensor_);
    SetState(other.state());
    other.SetState(State::kNone);
  }
  // Copies the value, reference or deadness; shares the buffer.
  void CopyFrom(const Entry& other) {
    tensor_ = other.tensor_;
    SetState(other.state());
  }

  // --- Uses left, for outputs with several consumers -------------------------------------------------------------
  // REQUIRES: no reader yet.
  void SetUses(uint32_t uses) { __atomic_store_n(&tensor_.shape_.lent_uses_, uses, __ATOMIC_RELAXED); }
  // Acquire: accesses of former readers happen before those of the last one.
  uint32_t uses() const { return __atomic_load_n(&tensor_.shape_.lent_uses_, __ATOMIC_ACQUIRE); }
  // True for the last one. Acquire-release, for the same reason.
  bool DropUse() { return __atomic_sub_fetch(&tensor_.shape_.lent_uses_, 1, __ATOMIC_ACQ_REL) == 0; }

 private:
  void SetState(State state) { tensor_.shape_.lent_state_ = static_cast<uint8_t>(state); }

  Tensor tensor_;
};

static_assert(sizeof(Entry) == 64, "an entry is one cache line");

// Where a node finds an input or leaves an output: a table and an index in it. A value type of 4 bytes.
class Operand {
 public:
  enum class Table : uint8_t { kSlots = 0, kInvariants = 1, kConstants = 2, kScratch = 3 };
  static constexpr uint32_t kMaxIndex = (1u << 29) - 1;

  Operand() = default;
  Operand(Table table, uint32_t index, bool is_last_use = false)
      : bits_((index << 3) | (is_last_use ? 4u : 0u) | static_cast<uint32_t>(table)) {
    SLUICE_DCHECK(index <= kMaxIndex);
  }

  Table table() const { return static_cast<Table>(bits_ & 3); }
  uint32_t index() const { return bits_ >> 3; }
  // Whether this node is always the last reader of the slot.
  bool is_last_use() const { return (bits_ & 4) != 0; }

 private:
  uint32_t bits_ = 0;
};

// The four tables while a node runs.
struct EntryTables {
  Entry* table[4] = {nullptr, nullptr, nullptr, nullptr};

  Entry& at(Operand operand) const { return table[static_cast<uint8_t>(operand.table())][operand.index()]; }
};

// The facts about one node that its execution needs. Immutable; owned by the plan that made it, whose graph keeps the
// name and the op alive.
struct NodeIo {
  const Operand* operands = nullptr;  // Inputs, then outputs.
  const DType* input_types = nullptr;
  const DType* output_types = nullptr;
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  int32_t id = -1;  // The node's id in its graph.
  // Bit i, for the first 32 outputs: nothing reads output i.
  uint32_t unused_outputs = 0;

  Operand input(uint32_t i) const { return operands[i]; }
  Operand output(uint32_t i) const { return operands[num_inputs + i]; }
  bool IsOutputUsed(uint32_t i) const { return i >= 32 || ((unused_outputs >> i) & 1) == 0; }
  void SetOutputUnused(uint32_t i) {
    if (i < 32) unused_outputs |= uint32_t{1} << i;
  }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_ENTRY_H_

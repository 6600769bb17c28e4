#ifndef SLUICE_EXECUTOR_SERIAL_CALL_STACK_H_
#define SLUICE_EXECUTOR_SERIAL_CALL_STACK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/serial/serial_program.h"
#include "graph/value/entry.h"
#include "graph/value/tensor.h"

namespace sluice {

// A stack of objects with stable addresses: Take pushes some, Return pops them. Objects keep their values while they
// are not taken. Not thread-safe.
template <typename T>
class ObjectStack {
 public:
  // A position of the top, for Return.
  struct Mark {
    size_t block = 0;
    size_t used = 0;
  };

  // `count` objects in a row.
  T* Take(size_t count) {
    if (ABSL_PREDICT_FALSE(blocks_.empty() || blocks_[at_.block].size - at_.used < count)) Grow(count);
    T* const taken = blocks_[at_.block].objects.get() + at_.used;
    at_.used += count;
    return taken;
  }
  Mark mark() const { return at_; }
  // Returns all objects taken since `mark`.
  void Return(Mark mark) { at_ = mark; }

 private:
  struct Block {
    std::unique_ptr<T[]> objects;
    size_t size = 0;
  };
  static constexpr size_t kFirstBlock = 32, kLargestBlock = 8192;

  // Continues in the next block; makes a new one if there is none or if it is too small.
  void Grow(size_t count) {
    while (!blocks_.empty() && at_.block + 1 < blocks_.size()) {
      at_ = {at_.block + 1, 0};
      if (blocks_[at_.block].size >= count) return;
    }
    const size_t twice = blocks_.empty() ? kFirstBlock : std::min(2 * blocks_.back().size, kLargestBlock);
    const size_t size = std::max(count, twice);
    blocks_.push_back({std::make_unique<T[]>(size), size});
    at_ = {blocks_.size() - 1, 0};
  }

  std::vector<Block> blocks_;
  Mark at_;
};

// A call under way in a program: what is needed to continue its caller.
struct SerialCall {
  const SerialProgram* caller = nullptr;
  const SerialInstruction* call = nullptr;  // Of the caller.
  Entry* registers = nullptr;               // The caller's.
  absl::Span<Tensor> results;               // Where the caller leaves its own.
  ObjectStack<Entry>::Mark registers_mark;  // The memory that the body has taken lies above these.
  ObjectStack<Tensor>::Mark results_mark;
  int64_t start_ns = 0;  // For observers.
};

// The calls under way in one run of a serial program, outermost first, with the registers of their bodies. Only memory
// limits how deep calls nest: nothing is on the thread's stack. Not thread-safe.
struct CallStack {
  std::vector<SerialCall> calls;
  ObjectStack<Entry> registers;
  ObjectStack<Tensor> results;

  // "a/b/": the names of the nodes that call, of calls [begin, end).
  std::string Path(size_t begin, size_t end) const;
  // `status` of a node of the innermost body, as an error of the graph that runs: names get the path in front.
  absl::Status AtCalls(const absl::Status& status) const noexcept;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_CALL_STACK_H_

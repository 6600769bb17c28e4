#ifndef SLUICE_EXECUTOR_SERIAL_STACK_REGISTERS_H_
#define SLUICE_EXECUTOR_SERIAL_STACK_REGISTERS_H_

#include <cstdint>
#include <new>

#include "graph/value/entry.h"

namespace sluice {

// Programs with up to this many registers keep them on the stack.
inline constexpr int32_t kStackRegisters = 8;

// `count` registers and no more: clearing the others would take as long as a small program.
class StackRegisters {
 public:
  // REQUIRES: 0 <= count <= kStackRegisters.
  explicit StackRegisters(int32_t count) : count_(count) {
    for (int32_t i = 0; i < count_; ++i) new (get() + i) Entry;
  }
  StackRegisters(const StackRegisters&) = delete;
  StackRegisters& operator=(const StackRegisters&) = delete;
  ~StackRegisters() {
    for (int32_t i = 0; i < count_; ++i) get()[i].~Entry();
  }

  Entry* get() { return std::launder(reinterpret_cast<Entry*>(bytes_)); }

 private:
  const int32_t count_;
  alignas(Entry) unsigned char bytes_[kStackRegisters * sizeof(Entry)];
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_STACK_REGISTERS_H_

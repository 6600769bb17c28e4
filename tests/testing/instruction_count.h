#ifndef SLUICE_TESTS_TESTING_INSTRUCTION_COUNT_H_
#define SLUICE_TESTS_TESTING_INSTRUCTION_COUNT_H_

// Counts machine instructions, the same number on every machine and however busy it is: a copy of the process does the
// work in single steps while the process looks on. Slow, some microseconds an instruction: for thousands of them.
// x86-64 and Linux.

#include <cstdint>
#include <functional>

namespace sluice {

struct InstructionCount {
  int64_t all = 0;
  int64_t atomic = 0;  // Those that lock the bus: a "lock" prefix, or an exchange with memory.

  friend InstructionCount operator-(const InstructionCount& a, const InstructionCount& b) {
    return {a.all - b.all, a.atomic - b.atomic};
  }
};

// What `work` takes, on its own thread, the kernel's side left out. Does nothing to this process: `work` happens in a
// copy (so no other thread of this process exists for it), which then ends without destructors. A few instructions
// around it are counted, too, always the same. Ends the process when the copy cannot be stepped or does not end well.
InstructionCount CountInstructions(const std::function<void()>& work);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_INSTRUCTION_COUNT_H_

#include "tests/testing/instruction_count.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

#include "graph/base/check.h"

namespace sluice {
namespace {

bool IsLegacyPrefix(uint8_t byte) {
  switch (byte) {
    case 0x66:  // Operand size.
    case 0x67:  // Address size.
    case 0xF2:  // Repetition.
    case 0xF3:
    case 0x26:  // Segments.
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0x64:
    case 0x65:
      return true;
    default:
      return false;
  }
}

bool IsAtomic(const uint8_t* code) {
  constexpr uint8_t kLock = 0xF0;
  while (IsLegacyPrefix(*code)) ++code;
  if (*code == kLock) return true;
  if ((*code & 0xF0) == 0x40) ++code;  // REX.
  const bool is_exchange = code[0] == 0x86 || code[0] == 0x87;
  return is_exchange && (code[1] & 0xC0) != 0xC0;  // The second byte: 11...... is a register.
}

[[noreturn]] void BeStepped(const std::function<void()>& work) {
  SLUICE_CHECK(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0);
  raise(SIGSTOP);
  work();
  raise(SIGSTOP);
  _exit(0);
}

// The signal that `child` has stopped at; 0: it has ended.
int WaitForStop(pid_t child) {
  int status = 0;
  SLUICE_CHECK(waitpid(child, &status, 0) == child);
  return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

}  // namespace

InstructionCount CountInstructions(const std::function<void()>& work) {
  const pid_t child = fork();
  SLUICE_CHECK(child >= 0);
  if (child == 0) BeStepped(work);
  SLUICE_CHECK(WaitForStop(child) == SIGSTOP);
  InstructionCount count;
  for (;;) {
    SLUICE_CHECK(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0);
    const int signal = WaitForStop(child);
    if (signal == SIGSTOP) break;
    SLUICE_CHECK(signal == SIGTRAP);
    const auto at = static_cast<uintptr_t>(
        ptrace(PTRACE_PEEKUSER, child, offsetof(user, regs) + offsetof(user_regs_struct, rip), nullptr));
    ++count.all;
    // The copy's code is where ours is.
    if (IsAtomic(reinterpret_cast<const uint8_t*>(at))) ++count.atomic;
  }
  kill(child, SIGKILL);
  WaitForStop(child);
  return count;
}

}  // namespace sluice

#ifndef SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_
#define SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_

#include <csignal>
#include <thread>

#include "graph/base/cancellation.h"

namespace sluice {

// While it lives, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP (the terminal is gone) cancels `cancellation`, so that
// runs end with an error; a second one ends the program as usual. One per process; no other thread may wait for signals
// meanwhile. Make it before other threads, which inherit that these signals are blocked.
class InterruptGuard {
 public:
  // Borrows `cancellation`.
  explicit InterruptGuard(CancellationManager& cancellation);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

 private:
  void Wait();

  CancellationManager& cancellation_;
  sigset_t signals_;
  sigset_t before_;
  std::thread waiter_;  // Waits for the signals, so that no code runs in a handler.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_

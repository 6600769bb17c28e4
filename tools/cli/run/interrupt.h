#ifndef SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_
#define SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_

#include <csignal>
#include <thread>

#include "graph/base/cancellation.h"

namespace sluice {

// While it lives, the first Ctrl-C (SIGINT), SIGTERM or SIGHUP (the terminal is gone) cancels `cancellation`, so that
// runs end by themselves and say so; a second one ends the program as it always would. One at a time in a process; no
// other threads may take signals by hand meanwhile. To be made before other threads are, which inherit that these
// signals are not for them.
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
  std::thread waiter_;  // Takes the signals: nothing has to be safe in a handler.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_RUN_INTERRUPT_H_

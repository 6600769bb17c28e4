#include "tools/cli/run/interrupt.h"

#include <pthread.h>

#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr int kEnd = SIGUSR1;  // Sent to the waiter by the destructor.

}  // namespace

InterruptGuard::InterruptGuard(CancellationManager& cancellation) : cancellation_(cancellation) {
  sigemptyset(&signals_);
  sigaddset(&signals_, kEnd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action;
    // A signal that was ignored when the program started (nohup, a shell's background jobs) stays ignored.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  waiter_ = std::thread([this] { Wait(); });
}

InterruptGuard::~InterruptGuard() {
  pthread_kill(waiter_.native_handle(), kEnd);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void InterruptGuard::Wait() {
  int signal = 0;
  if (sigwait(&signals_, &signal) != 0 || signal == kEnd) return;
  // A second signal then gets the default action on this thread.
  sigset_t next = signals_;
  sigdelset(&next, kEnd);
  pthread_sigmask(SIG_UNBLOCK, &next, nullptr);
  cancellation_.StartCancelWithStatus(Error(ErrorCode::kRunCancelled).Text("the run was interrupted"));
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, kEnd);
  sigwait(&end, &signal);
}

}  // namespace sluice

#ifndef SLUICE_EXECUTOR_THREADS_SPIN_H_
#define SLUICE_EXECUTOR_THREADS_SPIN_H_

#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace sluice {

// Of the monotonic clock.
inline int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// Waits without sleeping until `stop()` holds or `ns` have passed; returns whether it holds. Pauses grow to 16, so
// that another thread on the same core is not slowed down, and the clock is read rarely.
template <typename Stop>
bool SpinUntil(int64_t ns, const Stop& stop) {
  if (stop()) return true;
  if (ns <= 0) return false;
  const int64_t end = MonotonicNs() + ns;
  for (int pauses = 1;; pauses = std::min(pauses * 2, 16)) {
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < pauses; ++i) _mm_pause();
      if (stop()) return true;
    }
    if (MonotonicNs() >= end) return false;
  }
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_SPIN_H_

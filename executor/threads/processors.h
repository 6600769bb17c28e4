#ifndef SLUICE_EXECUTOR_THREADS_PROCESSORS_H_
#define SLUICE_EXECUTOR_THREADS_PROCESSORS_H_

#include <sched.h>

#include <algorithm>

namespace sluice {

// The processors that this process may use; at least 1.
inline int NumProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_PROCESSORS_H_

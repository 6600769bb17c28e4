#ifndef SLUICE_EXECUTOR_STEP_IDS_H_
#define SLUICE_EXECUTOR_STEP_IDS_H_

#include <atomic>
#include <cstdint>

#include "graph/base/strong_id.h"

namespace sluice {

// A number that is unique among all steps of the process, those of sessions and of passes of a tape. Thread-safe.
inline StepId NewStepId() {
  static std::atomic<int64_t> next{1};
  return StepId(next.fetch_add(1, std::memory_order_relaxed));  // Relaxed: unique only.
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_STEP_IDS_H_

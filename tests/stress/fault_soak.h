#ifndef SLUICE_TESTS_STRESS_FAULT_SOAK_H_
#define SLUICE_TESTS_STRESS_FAULT_SOAK_H_

#include <array>
#include <cstdint>

#include "executor/threads/thread_pool.h"
#include "tests/stress/fault_plan.h"

namespace sluice {

// How the steps of a soak with faults ended.
struct FaultCounts {
  int64_t graphs = 0, runs = 0, finished = 0;
  std::array<int64_t, kNumFaults> struck{};  // Steps that a fault of this kind ended.
  int64_t wrong = 0;                         // Answers that are not the reference's.
  int64_t unexplained = 0;                   // Errors that no fault explains.
  int64_t left_blocks = 0;                   // Of tensor memory.

  bool is_clean() const { return wrong == 0 && unexplained == 0 && left_blocks == 0; }
};

// The random program of `seed` in sessions under both drivers, on one device and, cut, on three, with one and several
// threads; a fault of each kind in turn befalls it somewhere, while it is prepared or run. A step that ends well must
// answer what a session without faults does; one that ends with an error must have had a fault that explains it; and
// the step after it, without a fault, must end well. Says on standard error which seed went wrong.
void SoakWithFaults(uint32_t seed, ThreadPool& pool, FaultCounts* counts);

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_FAULT_SOAK_H_

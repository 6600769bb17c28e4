#ifndef SLUICE_TESTS_STRESS_SESSION_SOAK_H_
#define SLUICE_TESTS_STRESS_SESSION_SOAK_H_

#include "executor/threads/thread_pool.h"
#include "tests/stress/soak_counts.h"

namespace sluice {

// The random program of `seed` in sessions over three CPU devices, joined and cut, some of the steps cancelled or late:
// those that end well must answer what a session on one device does.
void SoakSessions(uint32_t seed, ThreadPool& pool, std::mt19937& random, SoakCounts* counts);

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_SESSION_SOAK_H_

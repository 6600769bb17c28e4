#ifndef SLUICE_TESTS_STRESS_TRAIN_SOAK_H_
#define SLUICE_TESTS_STRESS_TRAIN_SOAK_H_

#include <random>

#include "executor/threads/thread_pool.h"
#include "tests/stress/soak_counts.h"

namespace sluice {

// A network with rows of an embedding, a loop and layers, trained by a step that `seed` chooses, in three sessions: two
// under different drivers and numbers of threads, whose losses must be equal bit by bit, and one where steps are
// cancelled and late, which must hold no more memory after many steps than after a few.
void SoakTraining(uint32_t seed, ThreadPool& pool, std::mt19937& random, SoakCounts* counts);

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_TRAIN_SOAK_H_

#ifndef SLUICE_TESTS_STRESS_TAPE_SOAK_H_
#define SLUICE_TESTS_STRESS_TAPE_SOAK_H_

#include <cstdint>

#include "executor/tape/tape.h"

namespace sluice {

// How the passes of a soak of tapes ended. One thread's.
struct TapeCounts {
  int64_t programs = 0, passes = 0, finished = 0, refused = 0, thrown = 0, cancelled = 0, wrong = 0;
};

// Two tapes: one that compiles the structures it sees, and one that calls op by op.
struct TapePair {
  TapePair() : plain(WithoutStructures()) {}
  static TapeOptions WithoutStructures() {
    TapeOptions options;
    options.max_structures = 0;
    return options;
  }

  Tape tape, plain;
};

// Random define-by-run programs of `seed` on several threads at once, all adding to one leaf: hooks that change
// gradients, begin passes of their own, fail or throw; passes that are cancelled from another thread, repeated over a
// kept record, or recorded. What ends well has the gradients of the other tape; what does not says why; and the same
// program is right afterwards.
void SoakTapes(uint32_t seed, int threads, TapePair& tapes, TapeCounts* counts);

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_TAPE_SOAK_H_

#ifndef SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_
#define SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "kernels/kernel_construction.h"
#include "kernels/random/philox.h"

namespace sluice {

// The state of a random op: which numbers it has given. Each call takes the next part of one sequence, whatever
// signature or driver runs the node (Note [Kernel store] in executor/kernel_store.h). Thread-safe.
class SeededGenerator {
 public:
  struct Seeds {
    int64_t seed = 0;
    int64_t seed2 = 0;
  };
  // Attrs seed and seed2. Where both are 0, seeds that nobody can know: from the system.
  static absl::StatusOr<Seeds> ReadSeeds(const KernelConstruction& construction);
  // Such seeds.
  static Seeds SystemSeeds();

  explicit SeededGenerator(const Seeds& seeds)
      : next_(static_cast<uint64_t>(seeds.seed), static_cast<uint64_t>(seeds.seed2)) {}

  // A generator at the next of the `blocks` blocks that are the caller's from now on.
  Philox Reserve(uint64_t blocks) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    const Philox reserved = next_;
    next_.Skip(blocks);
    return reserved;
  }

 private:
  Mutex mu_;
  Philox next_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_

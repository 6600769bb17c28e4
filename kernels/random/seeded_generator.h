#ifndef SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_
#define SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/random/philox.h"

namespace sluice {

// The state of a random op: which numbers it has given. Each call takes the next part of one sequence, whatever
// signature or driver runs the node (Note [Kernel store] in executor/plan/kernel_store.h). Thread-safe.
class SeededGenerator {
 public:
  struct Seeds {
    int64_t seed = 0;
    int64_t seed2 = 0;
  };
  // Attrs seed and seed2. If both are 0, the system provides unpredictable seeds.
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

  // Gets and sets the position, to save and restore the state of a session.
  Philox state() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return next_;
  }
  void SetState(const Philox& next) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    next_ = next;
  }

 private:
  mutable Mutex mu_;
  Philox next_ ABSL_GUARDED_BY(mu_);
};

// A kernel that keeps such a generator: found by its type among the kernels of a session.
class GeneratorKernel : public Kernel {
 public:
  SeededGenerator& generator() const { return generator_; }

 protected:
  explicit GeneratorKernel(const SeededGenerator::Seeds& seeds) : generator_(seeds) {}

  mutable SeededGenerator generator_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_SEEDED_GENERATOR_H_

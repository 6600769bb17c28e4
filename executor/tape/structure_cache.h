#ifndef SLUICE_EXECUTOR_TAPE_STRUCTURE_CACHE_H_
#define SLUICE_EXECUTOR_TAPE_STRUCTURE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "executor/tape/pass_structure.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"

namespace sluice {

class BackwardGraph;

// The structures of recent passes, and their graphs. A structure gets a graph the second time it is seen: one that
// comes once is not worth compiling. The least recently used go if there are too many or their graphs are too large.
// Thread-safe.
class StructureCache {
 public:
  using Compile = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const BackwardGraph>>()>;

  StructureCache(size_t max_structures, size_t max_bytes) : max_structures_(max_structures), max_bytes_(max_bytes) {}
  StructureCache(const StructureCache&) = delete;
  StructureCache& operator=(const StructureCache&) = delete;
  ~StructureCache();

  // Returns the graph of a structure that equals `structure`, made by `compile` the second time; null the first time,
  // and if `compile` fails. `compile` runs without a lock; of two that run at once, one graph is kept.
  std::shared_ptr<const BackwardGraph> Find(PassStructure structure, Compile compile) ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets the graph of a structure for good: its passes run node by node from now on.
  void DropGraph(const PassStructure& structure) ABSL_LOCKS_EXCLUDED(mu_);
  bool is_used() const { return max_structures_ > 0; }
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  int64_t num_compiled() const ABSL_LOCKS_EXCLUDED(mu_);
  int64_t num_hits() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Entry {
    PassStructure structure;
    bool is_compiled = false;
    std::shared_ptr<const BackwardGraph> graph;  // Null: not made yet, or it cannot be.
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  // Drops the oldest until the rest is within the bounds. The caller frees the dropped ones without the lock.
  Entries TrimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Entries::iterator FindLocked(const PassStructure& structure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t max_structures_, max_bytes_;
  mutable Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  HashMap<size_t, Entries::iterator> by_hash_ ABSL_GUARDED_BY(mu_);  // Of equal hashes, the one used last.
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_compiled_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_hits_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_STRUCTURE_CACHE_H_

#ifndef SLUICE_EXECUTOR_SESSION_SHARED_POOLS_H_
#define SLUICE_EXECUTOR_SESSION_SHARED_POOLS_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"

namespace sluice {

// The process's pools that sessions share by name. A pool lives while it is used. Thread-safe.
class SharedPools {
 public:
  // Of the process. Lives for ever.
  static SharedPools& Global();

  SharedPools() = default;
  SharedPools(const SharedPools&) = delete;
  SharedPools& operator=(const SharedPools&) = delete;

  // Returns the pool called `name`, or makes it with `num_threads` (0: as many as processors). kWrongUse if it exists
  // with another number.
  absl::StatusOr<std::shared_ptr<ThreadPool>> Find(const std::string& name, int num_threads) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Pool {
    int num_threads = 0;  // As asked for.
    std::weak_ptr<ThreadPool> pool;
  };
  Mutex mu_;
  HashMap<std::string, Pool> pools_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_SHARED_POOLS_H_

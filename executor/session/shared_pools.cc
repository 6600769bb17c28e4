#include "executor/session/shared_pools.h"

#include "absl/strings/str_cat.h"
#include "executor/threads/per_process.h"
#include "graph/base/error.h"

namespace sluice {

SharedPools& SharedPools::Global() { return PerProcess<SharedPools>::Get(); }

absl::StatusOr<std::shared_ptr<ThreadPool>> SharedPools::Find(const std::string& name, int num_threads) {
  MutexLock lock(&mu_);
  Pool& known = pools_[name];
  if (std::shared_ptr<ThreadPool> pool = known.pool.lock()) {
    if (known.num_threads == num_threads) return pool;
    return Error(ErrorCode::kWrongUse)
        .Found(absl::StrCat(num_threads, " threads"))
        .Expected(absl::StrCat(known.num_threads))
        .Text(absl::StrCat("the pool '", name, "' exists with another number of threads"));
  }
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  options.name = name;
  auto pool = std::make_shared<ThreadPool>(options);
  known = {num_threads, pool};
  return pool;
}

}  // namespace sluice

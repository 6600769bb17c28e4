#ifndef SLUICE_EXECUTOR_SESSION_PREPARED_SIGNATURES_H_
#define SLUICE_EXECUTOR_SESSION_PREPARED_SIGNATURES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "executor/session/call_options.h"
#include "graph/base/mutex.h"

namespace sluice {

class Callable;

// The signatures that a session keeps for Run, and those that are being prepared for it. Thread-safe.
//
// Note [One preparation]
// Of several threads that want one signature at once, one prepares it. The others wait for it, and share what it makes:
//   - Each waits no longer than its own deadline and cancellation allow, and not at all where its deadline allows more
//     time than that of the thread that prepares did: that may be stopped, too late for another to begin. (Calls with
//     one timeout have about the same time, so an eighth more counts as the same.) Those that come later wait for the
//     thread with more time.
//   - Where the thread that prepares is stopped by its own deadline or cancellation, one of the others takes its place.
//   - Where it fails otherwise, each of the others prepares by itself: it may have failed for want of memory, and a
//     call reports what happened to itself.
//   - None waits longer than 5 s (kPatience): then it prepares by itself, which costs work and nothing else. The thread
//     that prepares may be in a kernel's factory that waits for another thread, which waits for this signature.
//   - A thread that is preparing something (a kernel's factory may call Run) does not wait: the thread that it would
//     wait for may wait for it.
// Session::Prepare makes a Callable of its own in each call, since state may belong to it (Note [State of calls] in
// graph/functions/call_states.h).
class PreparedSignatures {
 public:
  using Result = absl::StatusOr<std::shared_ptr<const Callable>>;

  // Keeps the `max_kept` most recently used.
  explicit PreparedSignatures(size_t max_kept) : max_kept_(max_kept) {}
  PreparedSignatures(const PreparedSignatures&) = delete;
  PreparedSignatures& operator=(const PreparedSignatures&) = delete;

  // Returns the signature kept under `key`, or else the result of `prepare`, which this thread or another in the same
  // call runs without a lock. Both `prepare` and waiting obey `options`.
  Result FindOrPrepare(const std::string& key, const PrepareOptions& options, absl::FunctionRef<Result()> prepare)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets all that is kept. Preparations in progress are not kept, and later calls do not get them.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);
  // The same for preparations in progress only.
  void ForgetUnderWay() ABSL_LOCKS_EXCLUDED(mu_);
  // From now on all calls, waiting ones included, return `status`, an error.
  void Close(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  // The number of kept signatures.
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const Callable> callable;
  };
  struct Work;
  class Preparing;

  // Null: it is not kept.
  std::shared_ptr<const Callable> Find(absl::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls `prepare`, and keeps the result unless `generation` is out of date by then.
  Result PrepareAndKeep(const std::string& key, int64_t generation, absl::FunctionRef<Result()> prepare)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Gives the result to the threads that wait for `work`. `options`: of the thread that has done it.
  void End(const std::string& key, const std::shared_ptr<Work>& work, const PrepareOptions& options,
           const Result& result) ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until `work` or the patience ends, or Close was called, and returns OK; or the error of `options`.
  absl::Status Wait(const Work& work, const PrepareOptions& options) ABSL_LOCKS_EXCLUDED(mu_);

  const size_t max_kept_;
  // Not Abseil's tables, which break if growing throws: these survive that.
  mutable Mutex mu_;
  CondVar over_;                                 // Some work is over.
  absl::Status closed_ ABSL_GUARDED_BY(mu_);     // OK: open.
  int64_t generation_ ABSL_GUARDED_BY(mu_) = 0;  // Work begun in an earlier one is out of date.
  std::list<Kept> recent_ ABSL_GUARDED_BY(mu_);  // Most recently used first.
  std::map<absl::string_view, std::list<Kept>::iterator> by_key_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<Work>, std::less<>> under_way_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_PREPARED_SIGNATURES_H_

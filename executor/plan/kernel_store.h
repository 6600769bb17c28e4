#ifndef SLUICE_EXECUTOR_PLAN_KERNEL_STORE_H_
#define SLUICE_EXECUTOR_PLAN_KERNEL_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/mutex.h"
#include "kernels/kernel.h"

namespace sluice {

// The kernels of one session that have state, and those that its plans share.
//
// Note [Kernel store]
//   - A kernel with state (Print counts its calls, a random op its numbers) is made once per session
//     and node, whatever signature or driver runs it. The node is known by its name, in an inlined function the call
//     path included, and by its op, types, attrs, device and row: where a new version of the graph (Session::Extend)
//     has a different node of that name, or a host has added a row for it, a new kernel replaces the old one. Unchanged
//     nodes keep their state; Session::Replace drops that of nodes that the new graph lacks. Session::Reset and Close
//     forget all of it: callables from before keep their
//     kernels, later ones begin with new state. A plan that is being made meanwhile names the generation of the store
//     in which it began; from a later generation it may take kernels, but it adds none.
//   - State that the calls of a function share is the signature's (Note [State of calls] in
//     graph/functions/call_states.h): such kernels are in a scope of its plan, and leave the store with the plan.
//   - The value of a large constant is decoded once, as long as some plan has it: by the place of its bytes and by its
//     form, since where one plan leaves a matrix in its file another may have to read it. The packed forms of matrices
//     belong to the value itself, in all plans (SharedPackedConstant in kernels/linalg).
// Such kernels may outlive the graph that they were made from. Thread-safe.
class KernelStore {
 public:
  using Make = absl::FunctionRef<absl::StatusOr<std::shared_ptr<const Kernel>>()>;
  // A kernel with state, and what it was made for.
  struct Stateful {
    std::string properties;
    std::shared_ptr<const Kernel> kernel;
  };
  using ByNode = std::map<std::string, Stateful, std::less<>>;
  // The scope of what all plans share; each PlanScope has another number.
  static constexpr int64_t kSession = 0;
  // A kernel with state, for callers that save it.
  struct Entry {
    int64_t scope;
    std::string plan;  // The name of the scope; empty for kSession.
    std::string node;
    std::shared_ptr<const Kernel> kernel;
  };

  // How a constant is held.
  enum class ConstantForm : uint8_t {
    kInMemory,  // As all kernels read it; well-aligned bytes of a file are used where they stand.
    kInFile,    // See Note [Tensors in files] in kernels/memory/file_tensor.h.
  };

  // `allows_in_file`: whether plans may leave matrices in their files. Not where products are left to a plug-in, which
  // has an order of its own and takes no other.
  explicit KernelStore(bool allows_in_file = true) : allows_in_file_(allows_in_file) {}
  KernelStore(const KernelStore&) = delete;
  KernelStore& operator=(const KernelStore&) = delete;

  // For plans that need not be ordered by age.
  static constexpr int64_t kAnyGeneration = -1;

  // The kernel with state of `node` in the session's scope, made by `make` unless there is one with these properties.
  // `make` runs without a lock; of two that run at once for one node, one kernel is kept and both get that. Where
  // `generation` has passed, what is made is not kept.
  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMake(absl::string_view node, std::string properties, Make make,
                                                           int64_t generation = kAnyGeneration)
      ABSL_LOCKS_EXCLUDED(mu_);
  // The kernel of the constant whose encoded value lies at `bytes`, in memory that lives at least as long as the plan
  // that asks.
  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMakeConstant(absl::string_view bytes, ConstantForm form,
                                                                   Make make) ABSL_LOCKS_EXCLUDED(mu_);
  // The present generation: Clear and Forget begin the next.
  int64_t generation() const ABSL_LOCKS_EXCLUDED(mu_);
  bool allows_in_file() const { return allows_in_file_; }
  // All kernels with state, scope by scope, the session's first: without those of plans that have no name.
  std::vector<Entry> Kernels() const ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets all kernels of the session's scope.
  void Clear() ABSL_LOCKS_EXCLUDED(mu_);
  // Forgets those of nodes for which `keeps`, called with the lock held, is false. Returns them, for the caller to free
  // where it holds no lock. Where `keeps` throws, nothing is forgotten.
  [[nodiscard]] ByNode Forget(absl::FunctionRef<bool(absl::string_view node)> keeps) ABSL_LOCKS_EXCLUDED(mu_);

  // Kernels with state in the session's scope.
  size_t num_kernels() const ABSL_LOCKS_EXCLUDED(mu_);
  // Constants that some plan has.
  size_t num_constants() const ABSL_LOCKS_EXCLUDED(mu_);

  // The number of constants in the table, including those that no plan has any more.
  size_t num_places() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class PlanScope;
  using Place = std::tuple<const void*, size_t, ConstantForm>;
  struct Scope {
    std::optional<std::string> name;
    ByNode kernels;
  };
  using Scopes = std::map<int64_t, Scope>;

  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMakeIn(int64_t scope, absl::string_view node,
                                                             std::string properties, Make make, int64_t generation)
      ABSL_LOCKS_EXCLUDED(mu_);
  ByNode& KernelsOf(int64_t scope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return scopes_.find(scope)->second.kernels; }
  void DropUnusedConstants() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool allows_in_file_;
  // Not Abseil's tables, which break when there is no memory to grow: these outlive the call that fails then.
  mutable Mutex mu_;
  Scopes scopes_ ABSL_GUARDED_BY(mu_) = {{kSession, Scope()}};
  int64_t next_scope_ ABSL_GUARDED_BY(mu_) = kSession + 1;
  int64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Place, std::weak_ptr<const Kernel>> constants_ ABSL_GUARDED_BY(mu_);
  size_t constants_to_check_ ABSL_GUARDED_BY(mu_) =
      16;  // At this size, constants that no plan has any more are removed.
};

// One plan's part of a store: the destructor removes its kernels from the store. Thread-safe.
class PlanScope {
 public:
  // `store` outlives this.
  explicit PlanScope(KernelStore* store);
  PlanScope(const PlanScope&) = delete;
  PlanScope& operator=(const PlanScope&) = delete;
  ~PlanScope();

  // As KernelStore::FindOrMake, in this scope, whatever the generation.
  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMake(absl::string_view node, std::string properties,
                                                           KernelStore::Make make) const {
    return store_.FindOrMakeIn(number_, node, std::move(properties), make, KernelStore::kAnyGeneration);
  }
  // From now on, KernelStore::Kernels has those of this scope, for checkpoints.
  void SetName(std::string name) const;
  int64_t number() const { return number_; }

 private:
  KernelStore& store_;
  const int64_t number_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_KERNEL_STORE_H_

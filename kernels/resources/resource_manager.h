#ifndef SLUICE_KERNELS_RESOURCES_RESOURCE_MANAGER_H_
#define SLUICE_KERNELS_RESOURCES_RESOURCE_MANAGER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"
#include "graph/value/resource_handle.h"

namespace sluice {

inline constexpr absl::string_view kDefaultContainer = "localhost";

// State that outlives a step, by container, kind and name: variables, tables, queues, stacks. An empty container is
// the default one. Counted pointers: a resource that is deleted here lives on with its other holders.
// Thread-safe; the resources guard themselves.
class ResourceManager {
 public:
  ResourceManager() = default;
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // kResourceMissing (NOT_FOUND) when there is none of this kind and name.
  template <typename T>
  absl::StatusOr<CountedPtr<T>> Lookup(absl::string_view container, absl::string_view name) const {
    CountedPtr<Resource> found = Find(container, T::kTypeName, name);
    if (!found) return Missing(container, T::kTypeName, name);
    return CountedPtr<T>::Adopt(static_cast<T*>(found.release()));
  }
  // The resource of that name, made by `make` (absl::StatusOr<CountedPtr<T>>()) if it is not there. `make` runs under
  // the manager's lock: it only constructs.
  template <typename T>
  absl::StatusOr<CountedPtr<T>> LookupOrCreate(absl::string_view container, absl::string_view name,
                                               absl::FunctionRef<absl::StatusOr<CountedPtr<T>>()> make) {
    absl::StatusOr<CountedPtr<Resource>> found =
        FindOrMake(container, T::kTypeName, name, [&make]() -> absl::StatusOr<CountedPtr<Resource>> {
          absl::StatusOr<CountedPtr<T>> made = make();
          if (!made.ok()) return made.status();
          return CountedPtr<Resource>(*std::move(made));
        });
    if (!found.ok()) return found.status();
    return CountedPtr<T>::Adopt(static_cast<T*>(found->release()));
  }
  // kResourceExists when there is one.
  absl::Status Create(absl::string_view container, absl::string_view name, CountedPtr<Resource> resource)
      ABSL_LOCKS_EXCLUDED(mu_);
  // kResourceMissing when there is none.
  absl::Status Delete(absl::string_view container, absl::string_view type_name, absl::string_view name)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Deletes everything in `container`; nothing when it does not exist.
  void ClearContainer(absl::string_view container) ABSL_LOCKS_EXCLUDED(mu_);
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_);
  // A number that no other manager of this process ever has, nor this one after ClearContainer. For callers that
  // keep what they found: what they found under another number may be gone.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // All resources now, with container and name, in no order. For reports.
  struct Item {
    std::string container, name;
    CountedPtr<Resource> resource;
  };
  std::vector<Item> Items() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // {type, name}. Looked up by views: handles are followed on each read of a variable, which must not cost memory.
  using Key = std::pair<std::string, std::string>;
  using KeyView = std::pair<absl::string_view, absl::string_view>;
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const KeyView& key) const { return absl::HashOf(key.first, key.second); }
  };
  struct KeyEq {
    using is_transparent = void;
    bool operator()(const KeyView& a, const KeyView& b) const { return a == b; }
  };
  using Container = HashMap<Key, CountedPtr<Resource>, KeyHash, KeyEq>;

  CountedPtr<Resource> Find(absl::string_view container, absl::string_view type_name, absl::string_view name) const
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<CountedPtr<Resource>> FindOrMake(absl::string_view container, absl::string_view type_name,
                                                  absl::string_view name,
                                                  absl::FunctionRef<absl::StatusOr<CountedPtr<Resource>>()> make)
      ABSL_LOCKS_EXCLUDED(mu_);
  static absl::Status Missing(absl::string_view container, absl::string_view type_name, absl::string_view name);

  static uint64_t NextGeneration();

  mutable Mutex mu_;
  std::atomic<uint64_t> generation_{NextGeneration()};
  HashMap<std::string, Container> containers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RESOURCES_RESOURCE_MANAGER_H_

#include "executor/plan/kernel_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const Kernel>> KernelStore::FindOrMake(absl::string_view node, std::string properties,
                                                                      Make make, int64_t generation) {
  return FindOrMakeIn(kSession, node, std::move(properties), make, generation);
}

absl::StatusOr<std::shared_ptr<const Kernel>> KernelStore::FindOrMakeIn(int64_t scope, absl::string_view node,
                                                                        std::string properties, Make make,
                                                                        int64_t generation) {
  {
    MutexLock lock(&mu_);
    const ByNode& by_node = KernelsOf(scope);
    const auto found = by_node.find(node);
    if (found != by_node.end() && found->second.properties == properties) return found->second.kernel;
  }
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, make());
  std::shared_ptr<const Kernel> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  ByNode& by_node = KernelsOf(scope);
  const auto found = by_node.find(node);
  if (found != by_node.end() && found->second.properties == properties) {
    ended = std::move(kernel);
    return found->second.kernel;
  }
  if (generation != kAnyGeneration && generation != generation_) return kernel;
  Stateful& kept = by_node[std::string(node)];
  ended = std::move(kept.kernel);
  kept = {std::move(properties), kernel};
  return kernel;
}

absl::StatusOr<std::shared_ptr<const Kernel>> KernelStore::FindOrMakeConstant(absl::string_view bytes,
                                                                              ConstantForm form, Make make) {
  const Place place(bytes.data(), bytes.size(), form);
  {
    MutexLock lock(&mu_);
    const auto found = constants_.find(place);
    std::shared_ptr<const Kernel> kernel = found != constants_.end() ? found->second.lock() : nullptr;
    if (kernel != nullptr) return kernel;
  }
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> made, make());
  MutexLock lock(&mu_);
  std::weak_ptr<const Kernel>& kept = constants_[place];
  std::shared_ptr<const Kernel> kernel = kept.lock();
  if (kernel == nullptr) kept = kernel = std::move(made);
  DropUnusedConstants();
  return kernel;
}

void KernelStore::DropUnusedConstants() {
  if (constants_.size() < constants_to_check_) return;
  for (auto at = constants_.begin(); at != constants_.end();) {
    at = at->second.expired() ? constants_.erase(at) : std::next(at);
  }
  constants_to_check_ = std::max<size_t>(16, 2 * constants_.size());
}

void KernelStore::Clear() {
  ByNode ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  ++generation_;
  ended.swap(KernelsOf(kSession));
}

KernelStore::ByNode KernelStore::Forget(absl::FunctionRef<bool(absl::string_view node)> keeps) {
  ByNode ended;
  std::vector<ByNode::iterator> forgotten;
  MutexLock lock(&mu_);
  ByNode& by_node = KernelsOf(kSession);
  for (auto at = by_node.begin(); at != by_node.end(); ++at) {
    if (!keeps(at->first)) forgotten.push_back(at);
  }
  ++generation_;  // What can throw came first.
  for (const ByNode::iterator at : forgotten) ended.insert(by_node.extract(at));
  return ended;
}

int64_t KernelStore::generation() const {
  MutexLock lock(&mu_);
  return generation_;
}

std::vector<KernelStore::Entry> KernelStore::Kernels() const {
  std::vector<Entry> kernels;
  MutexLock lock(&mu_);
  for (const auto& [number, scope] : scopes_) {
    if (number != kSession && !scope.name.has_value()) continue;
    for (const auto& [node, kept] : scope.kernels) {
      kernels.push_back({number, scope.name.value_or(""), node, kept.kernel});
    }
  }
  return kernels;
}

size_t KernelStore::num_kernels() const {
  MutexLock lock(&mu_);
  return scopes_.find(kSession)->second.kernels.size();
}

size_t KernelStore::num_places() const {
  MutexLock lock(&mu_);
  return constants_.size();
}

size_t KernelStore::num_constants() const {
  MutexLock lock(&mu_);
  return static_cast<size_t>(
      std::count_if(constants_.begin(), constants_.end(), [](const auto& c) { return !c.second.expired(); }));
}

PlanScope::PlanScope(KernelStore* store)
    : store_(*store), number_([store] {
        MutexLock lock(&store->mu_);
        store->scopes_[store->next_scope_];  // May throw.
        return store->next_scope_++;
      }()) {}

PlanScope::~PlanScope() {
  KernelStore::Scopes::node_type ended;  // Freed outside of the lock.
  MutexLock lock(&store_.mu_);
  ended = store_.scopes_.extract(number_);
}

void PlanScope::SetName(std::string name) const {
  MutexLock lock(&store_.mu_);
  store_.scopes_[number_].name = std::move(name);
}

}  // namespace sluice

#include "executor/plan/kernel_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/base/status_macros.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const Kernel>> KernelStore::FindOrMake(absl::string_view node, std::string properties,
                                                                      Make make, int64_t generation) {
  {
    MutexLock lock(&mu_);
    const auto found = by_node_.find(node);
    if (found != by_node_.end() && found->second.properties == properties) return found->second.kernel;
  }
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, make());
  std::shared_ptr<const Kernel> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  const auto found = by_node_.find(node);
  if (found != by_node_.end() && found->second.properties == properties) {
    ended = std::move(kernel);
    return found->second.kernel;
  }
  if (generation != kAnyGeneration && generation != generation_) return kernel;
  Stateful& kept = by_node_[std::string(node)];
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
  ended.swap(by_node_);
}

KernelStore::ByNode KernelStore::Forget(absl::FunctionRef<bool(absl::string_view node)> keeps) {
  ByNode ended;
  std::vector<ByNode::iterator> forgotten;
  MutexLock lock(&mu_);
  for (auto at = by_node_.begin(); at != by_node_.end(); ++at) {
    if (!keeps(at->first)) forgotten.push_back(at);
  }
  ++generation_;  // What can throw came first.
  for (const ByNode::iterator at : forgotten) ended.insert(by_node_.extract(at));
  return ended;
}

int64_t KernelStore::generation() const {
  MutexLock lock(&mu_);
  return generation_;
}

std::vector<std::pair<std::string, std::shared_ptr<const Kernel>>> KernelStore::Kernels() const {
  std::vector<std::pair<std::string, std::shared_ptr<const Kernel>>> kernels;
  MutexLock lock(&mu_);
  for (const auto& [node, kept] : by_node_) kernels.emplace_back(node, kept.kernel);
  return kernels;
}

size_t KernelStore::num_kernels() const {
  MutexLock lock(&mu_);
  return by_node_.size();
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

}  // namespace sluice

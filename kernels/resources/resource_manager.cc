#include "kernels/resources/resource_manager.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

absl::string_view ContainerName(absl::string_view container) {
  return container.empty() ? kDefaultContainer : container;
}

}  // namespace

uint64_t ResourceManager::NextGeneration() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

CountedPtr<Resource> ResourceManager::Find(absl::string_view container, absl::string_view type_name,
                                           absl::string_view name) const {
  MutexLock lock(&mu_);
  const auto items = containers_.find(ContainerName(container));
  if (items == containers_.end()) return {};
  const auto item = items->second.find(KeyView(type_name, name));
  return item == items->second.end() ? CountedPtr<Resource>() : item->second;
}

absl::StatusOr<CountedPtr<Resource>> ResourceManager::FindOrMake(
    absl::string_view container, absl::string_view type_name, absl::string_view name,
    absl::FunctionRef<absl::StatusOr<CountedPtr<Resource>>()> make) {
  MutexLock lock(&mu_);
  Container& items = containers_[ContainerName(container)];
  const auto item = items.find(KeyView(type_name, name));
  if (item != items.end()) return item->second;
  absl::StatusOr<CountedPtr<Resource>> made = make();
  if (made.ok()) items.emplace(Key(type_name, name), *made);
  return made;
}

absl::Status ResourceManager::Create(absl::string_view container, absl::string_view name,
                                     CountedPtr<Resource> resource) {
  Key key{std::string(resource->type_name()), std::string(name)};
  MutexLock lock(&mu_);
  Container& items = containers_[ContainerName(container)];
  if (!items.emplace(std::move(key), std::move(resource)).second) {
    return Error(ErrorCode::kResourceExists).Found(name).Text("a resource of this name exists already");
  }
  return absl::OkStatus();
}

absl::Status ResourceManager::Delete(absl::string_view container, absl::string_view type_name, absl::string_view name) {
  CountedPtr<Resource> ended;  // Ends outside of the lock.
  {
    MutexLock lock(&mu_);
    const auto items = containers_.find(ContainerName(container));
    if (items == containers_.end()) return Missing(container, type_name, name);
    const auto item = items->second.find(KeyView(type_name, name));
    if (item == items->second.end()) return Missing(container, type_name, name);
    ended = std::move(item->second);
    items->second.erase(item);
  }
  return absl::OkStatus();
}

void ResourceManager::ClearContainer(absl::string_view container) {
  Container ended;
  MutexLock lock(&mu_);
  const auto items = containers_.find(ContainerName(container));
  if (items == containers_.end()) return;
  ended.swap(items->second);
  containers_.erase(items);
  generation_.store(NextGeneration(), std::memory_order_release);
}

size_t ResourceManager::size() const {
  MutexLock lock(&mu_);
  size_t count = 0;
  for (const auto& [name, items] : containers_) count += items.size();
  return count;
}

std::vector<ResourceManager::Item> ResourceManager::Items() const {
  std::vector<Item> all;
  MutexLock lock(&mu_);
  for (const auto& [container, items] : containers_) {
    for (const auto& [key, resource] : items) all.push_back({container, key.second, resource});
  }
  return all;
}

absl::Status ResourceManager::Missing(absl::string_view container, absl::string_view type_name,
                                      absl::string_view name) {
  return Error(ErrorCode::kResourceMissing)
      .Text(absl::StrCat("there is no ", type_name, " '", PrintableName(name), "' in container '",
                         ContainerName(container), "'"));
}

}  // namespace sluice

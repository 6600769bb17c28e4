#include "executor/kernel_set.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "executor/device_kernel.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/runnable_check.h"

namespace sluice {
namespace {

// What kernels that may be shared are told apart by: op, types, the device where it is another one, and attrs as they
// are encoded.
void MakeShareKey(const Graph& graph, NodeId id, const Device* other, std::string* key) {
  key->clear();
  const void* const facts[] = {&graph.op(id), &graph.signature(id), other};
  key->append(reinterpret_cast<const char*>(facts), sizeof(facts));
  graph.ForEachAttr(id, [key](absl::string_view name, absl::string_view bytes) {
    if (!name.empty() && name[0] == '_') return;  // Not the op's: names of classes, shapes, places.
    const size_t sizes[] = {name.size(), bytes.size()};
    key->append(reinterpret_cast<const char*>(sizes), sizeof(sizes));
    key->append(name.data(), name.size());
    key->append(bytes.data(), bytes.size());
  });
}

constexpr size_t kMaxKeyBytes = 512;  // Large constants are not compared.

// The device of a node whose kernel has to be told that it is not the graph's; null for all others.
Device* OtherDevice(const Graph& graph, NodeId id, const KernelSet::Options& options) {
  if (options.node_devices.empty()) return nullptr;
  Device* const device = options.node_devices[static_cast<size_t>(id.value())];
  if (device == nullptr || device == options.device) return nullptr;
  // Our own kernels of ops without state do not look.
  const bool is_ours = options.create == nullptr && options.registry->IsShared(graph, id, device->kind());
  return is_ours && !graph.op(id).is_stateful ? nullptr : device;
}

}  // namespace

absl::StatusOr<KernelSet> KernelSet::Create(const Graph& graph, const Options& options) {
  SLUICE_RETURN_IF_ERROR(CheckRunnable(graph));
  KernelSet set;
  set.by_node_.resize(static_cast<size_t>(graph.id_limit()));
  absl::flat_hash_map<std::string, const Kernel*> shared;
  std::string key;
  const DeviceKind device = options.device != nullptr ? options.device->kind() : DeviceKind::kCpu;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id)) continue;
    if (NeedsNoKernel(graph.op(id).op_class)) continue;
    Device* const other = OtherDevice(graph, id, options);
    MakeShareKey(graph, id, other, &key);
    const bool may_share = key.size() <= kMaxKeyBytes;
    if (may_share) {
      const auto found = shared.find(key);
      if (found != shared.end()) {
        set.by_node_[static_cast<size_t>(i)] = found->second;
        continue;
      }
    }
    const KernelConstruction construction(graph, id, other != nullptr ? other : options.device, options.edges);
    std::shared_ptr<const Kernel> kernel;
    bool is_shared = false;
    if (options.create != nullptr) {
      absl::StatusOr<std::shared_ptr<const Kernel>> made = (*options.create)(construction);
      if (!made.ok()) return graph.Locate(id, made.status());
      kernel = *std::move(made);
    } else {
      SLUICE_ASSIGN_OR_RETURN(kernel, options.registry->Create(construction, device));
      is_shared = may_share && options.registry->IsShared(graph, id, device);
    }
    if (other != nullptr) kernel = OnDevice(std::move(kernel), *other);
    if (is_shared) shared.emplace(key, kernel.get());
    set.by_node_[static_cast<size_t>(i)] = kernel.get();
    set.kernels_.push_back(std::move(kernel));
  }
  return set;
}

}  // namespace sluice

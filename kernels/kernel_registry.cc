#include "kernels/kernel_registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/runnable_check.h"
#include "kernels/missing_kernel.h"

namespace sluice {
namespace {

// Whether the type attrs of the node are among those of the row.
bool IsFor(const KernelDef& def, const NodeProperties& node) {
  for (const TypeConstraint& constraint : def.types) {
    if (constraint.attr.empty()) continue;
    AttrView value;
    if (!node.FindAttr(constraint.attr, &value)) return false;
    const absl::StatusOr<DType> type = value.AsType();
    if (!type.ok() || !constraint.types.Contains(*type)) return false;
  }
  return true;
}

bool KindOf(absl::string_view device_type, DeviceKind* kind) {
  if (device_type != "CPU" && device_type != "GPU") return false;
  *kind = device_type == "CPU" ? DeviceKind::kCpu : DeviceKind::kCuda;
  return true;
}

}  // namespace

bool NeedsNoKernel(OpClass op_class) {
  return op_class == OpClass::kNoOp || op_class == OpClass::kGradSum || IsControlFlow(op_class);
}

void KernelRegistry::AddTable(absl::Span<const KernelDef> defs) {
  MutexLock lock(&mu_);
  tables_.push_back(defs);
  index_.store(nullptr, std::memory_order_release);
}

absl::Status KernelRegistry::AddCustom(absl::string_view op, DeviceKind device, CustomKernel make) {
  MutexLock lock(&mu_);
  std::vector<std::unique_ptr<Custom>>& kernels = custom_[op];
  for (const std::unique_ptr<Custom>& kernel : kernels) {
    if (kernel->device == device) {
      return Error(ErrorCode::kHostKernel)
          .Text(absl::StrCat("kernel for '", op, "': registered twice for ", DeviceTypeName(device)));
    }
  }
  kernels.push_back(std::make_unique<Custom>(Custom{device, std::move(make)}));
  has_custom_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

const KernelRegistry::Index& KernelRegistry::MakeIndex() const {
  MutexLock lock(&mu_);
  if (const Index* const made = index_.load(std::memory_order_relaxed)) return *made;  // By another thread.
  auto index = std::make_unique<Index>();
  for (const absl::Span<const KernelDef> table : tables_) {
    for (const KernelDef& def : table) (*index)[def.op].push_back(&def);
  }
  indexes_.push_back(std::move(index));
  index_.store(indexes_.back().get(), std::memory_order_release);
  return *indexes_.back();
}

const KernelDef* KernelRegistry::FindRow(const NodeProperties& node, DeviceKind device) const {
  const Index* const made = index_.load(std::memory_order_acquire);
  const Index& index = made != nullptr ? *made : MakeIndex();
  const auto rows = index.find(node.op().name);
  if (rows == index.end()) return nullptr;
  for (const KernelDef* def : rows->second) {
    if (def->device == device && IsFor(*def, node)) return def;
  }
  return nullptr;
}

const KernelDef* KernelRegistry::FindRowInUse(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  if (!KindOf(device_type, &kind) || FindCustom(graph.op_name(id), kind) != nullptr) return nullptr;
  return FindRow(GraphNode(graph, id), kind);
}

const CustomKernel* KernelRegistry::FindCustom(absl::string_view op, DeviceKind device) const {
  if (!has_custom_.load(std::memory_order_acquire)) return nullptr;
  MutexLock lock(&mu_);
  const auto kernels = custom_.find(op);
  if (kernels == custom_.end()) return nullptr;
  for (const std::unique_ptr<Custom>& kernel : kernels->second) {
    if (kernel->device == device) return &kernel->make;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const KernelConstruction& construction,
                                                               DeviceKind device) const {
  const NodeProperties& node = construction.node();
  SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(node));
  absl::StatusOr<std::unique_ptr<Kernel>> made = nullptr;
  if (const CustomKernel* custom = FindCustom(node.op().name, device)) {
    made = (*custom)(construction);
  } else if (const KernelDef* def = FindRow(node, device)) {
    made = def->make(construction);
  } else {
    return MissingKernel(*this, node, DeviceTypeName(device));
  }
  if (!made.ok()) return node.Locate(made.status());
  return made;
}

bool KernelRegistry::IsShared(const NodeProperties& node, DeviceKind device) const {
  if (FindCustom(node.op().name, device) != nullptr) return false;
  const KernelDef* const def = FindRow(node, device);
  return def != nullptr && def->is_shared;
}

std::vector<absl::Span<const KernelDef>> KernelRegistry::Tables() const {
  MutexLock lock(&mu_);
  return tables_;
}

bool KernelRegistry::HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  if (!KindOf(device_type, &kind)) return false;
  return NeedsNoKernel(graph.op(id).op_class) || FindCustom(graph.op_name(id), kind) != nullptr ||
         FindRow(GraphNode(graph, id), kind) != nullptr;
}

// A host's kernel says nothing of memory: it takes and gives what is usual on its device.
bool KernelRegistry::TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  const KernelDef* const def = FindRowInUse(graph, id, device_type);
  return def != nullptr && i < 32 && ((def->host_inputs >> i) & 1) != 0;
}

bool KernelRegistry::GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  const KernelDef* const def = FindRowInUse(graph, id, device_type);
  return def != nullptr && i < 32 && ((def->host_outputs >> i) & 1) != 0;
}

}  // namespace sluice

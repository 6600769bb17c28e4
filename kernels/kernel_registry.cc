#include "kernels/kernel_registry.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/missing_kernel.h"

namespace sluice {
namespace {

// In ascending order.
constexpr std::array<absl::string_view, 15> kNoKernelOps = {
    "ControlTrigger", "Enter",   "Exit",     "GradSum",          "LoopCond",  "Merge",  "NextIteration", "NoOp",
    "RefEnter",       "RefExit", "RefMerge", "RefNextIteration", "RefSwitch", "Switch", "_SwitchN"};

bool Fits(const KernelDef& def, const Graph& graph, NodeId id) {
  for (const TypeConstraint& constraint : def.types) {
    if (constraint.attr.empty()) continue;
    const absl::StatusOr<DType> type = graph.GetType(id, constraint.attr);
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

bool NeedsNoKernel(absl::string_view op) { return std::binary_search(kNoKernelOps.begin(), kNoKernelOps.end(), op); }

absl::string_view DeviceTypeName(DeviceKind kind) { return kind == DeviceKind::kCpu ? "CPU" : "GPU"; }

void KernelRegistry::AddTable(absl::Span<const KernelDef> defs) {
  MutexLock lock(&mu_);
  tables_.push_back(defs);
  is_indexed_ = false;
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
  return absl::OkStatus();
}

void KernelRegistry::BuildIndex() const {
  index_.clear();
  for (const absl::Span<const KernelDef> table : tables_) {
    for (const KernelDef& def : table) index_[def.op].push_back(&def);
  }
  is_indexed_ = true;
}

const KernelDef* KernelRegistry::Find(const Graph& graph, NodeId id, DeviceKind device) const {
  MutexLock lock(&mu_);
  if (!is_indexed_) BuildIndex();
  const auto rows = index_.find(graph.op_name(id));
  if (rows == index_.end()) return nullptr;
  for (const KernelDef* def : rows->second) {
    if (def->device == device && Fits(*def, graph, id)) return def;
  }
  return nullptr;
}

const CustomKernel* KernelRegistry::FindCustom(absl::string_view op, DeviceKind device) const {
  MutexLock lock(&mu_);
  if (custom_.empty()) return nullptr;
  const auto kernels = custom_.find(op);
  if (kernels == custom_.end()) return nullptr;
  for (const std::unique_ptr<Custom>& kernel : kernels->second) {
    if (kernel->device == device) return &kernel->make;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const KernelConstruction& construction,
                                                               DeviceKind device) const {
  const Graph& graph = construction.graph();
  const NodeId id = construction.node();
  absl::StatusOr<std::unique_ptr<Kernel>> made = nullptr;
  if (const CustomKernel* custom = FindCustom(graph.op_name(id), device)) {
    made = (*custom)(construction);
  } else if (const KernelDef* def = Find(graph, id, device)) {
    made = def->make(construction);
  } else {
    return MissingKernel(*this, graph, id, DeviceTypeName(device));
  }
  if (!made.ok()) return graph.Locate(id, made.status());
  return made;
}

bool KernelRegistry::IsShared(const Graph& graph, NodeId id, DeviceKind device) const {
  if (FindCustom(graph.op_name(id), device) != nullptr) return false;
  const KernelDef* const def = Find(graph, id, device);
  return def != nullptr && def->is_shared;
}

std::vector<absl::Span<const KernelDef>> KernelRegistry::Tables() const {
  MutexLock lock(&mu_);
  return tables_;
}

bool KernelRegistry::HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  if (!KindOf(device_type, &kind)) return false;
  return NeedsNoKernel(graph.op_name(id)) || FindCustom(graph.op_name(id), kind) != nullptr ||
         Find(graph, id, kind) != nullptr;
}

bool KernelRegistry::TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  DeviceKind kind;
  const KernelDef* const def = KindOf(device_type, &kind) ? Find(graph, id, kind) : nullptr;
  return def != nullptr && i < 32 && ((def->host_inputs >> i) & 1) != 0;
}

bool KernelRegistry::GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  DeviceKind kind;
  const KernelDef* const def = KindOf(device_type, &kind) ? Find(graph, id, kind) : nullptr;
  return def != nullptr && i < 32 && ((def->host_outputs >> i) & 1) != 0;
}

}  // namespace sluice

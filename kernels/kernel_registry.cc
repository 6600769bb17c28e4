#include "kernels/kernel_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/runnable_check.h"
#include "kernels/missing_kernel.h"

namespace sluice {
namespace {

// Whether a type attr, or each type of a list, is among those of the row.
bool Satisfies(AttrView value, const TypeConstraint& constraint) {
  if (value.kind() != AttrKind::kList) {
    const absl::StatusOr<DType> type = value.AsType();
    return type.ok() && constraint.types.Contains(*type);
  }
  const absl::StatusOr<std::vector<DType>> types = value.AsTypeList();
  return types.ok() &&
         std::all_of(types->begin(), types->end(), [&](DType type) { return constraint.types.Contains(type); });
}

bool IsFor(const KernelRow& row, const NodeProperties& node) {
  for (const TypeConstraint& constraint : row.types()) {
    AttrView value;
    if (!node.FindAttr(constraint.attr, &value) || !Satisfies(value, constraint)) return false;
  }
  return true;
}

// The label that the node chooses a kernel by; empty: none.
absl::string_view LabelOf(const NodeProperties& node) {
  AttrView value;
  if (!node.FindAttr("_kernel", &value)) return {};
  return value.AsString().value_or(absl::string_view());
}

bool KindOf(absl::string_view device_type, DeviceKind* kind) {
  if (device_type != "CPU" && device_type != "GPU") return false;
  *kind = device_type == "CPU" ? DeviceKind::kCpu : DeviceKind::kCuda;
  return true;
}

// Whether flat input (output) `i` belongs to one of the arguments `names`.
bool IsAmong(int32_t i, absl::Span<const absl::string_view> names, const std::vector<ArgSpec>& args,
             const std::vector<int32_t>& starts) {
  if (names.empty() || i < 0 || i >= starts.back()) return false;
  const auto after = std::upper_bound(starts.begin(), starts.end(), i);
  const ArgSpec& arg = args[static_cast<size_t>(after - starts.begin()) - 1];
  return std::find(names.begin(), names.end(), arg.name) != names.end();
}

// Whether state that nodes of the op keep is in their kernels: it may be behind a handle or a reference that they take.
bool KeepsStateInKernels(const OpSchema& op) {
  return op.is_stateful && std::none_of(op.inputs.begin(), op.inputs.end(),
                                        [](const ArgSpec& arg) { return arg.is_ref || arg.dtype == DType::kResource; });
}

}  // namespace

bool NeedsNoKernel(OpClass op_class) {
  return op_class == OpClass::kNoOp || op_class == OpClass::kGradSum || IsControlFlow(op_class);
}

void KernelRegistry::AddTable(absl::Span<const KernelRow> rows) {
  MutexLock lock(&mu_);
  tables_.push_back(rows);
  index_.store(nullptr, std::memory_order_release);
}

absl::Status KernelRegistry::Add(OwnedKernelRow row) {
  MutexLock lock(&mu_);
  for (const std::unique_ptr<const OwnedKernelRow>& other : owned_) {
    if (!Overlap(other->row(), row.row())) continue;
    return Error(ErrorCode::kHostKernel)
        .Text(absl::StrCat("kernel for '", row.row().op(), "': registered twice for ",
                           DeviceTypeName(row.row().device())));
  }
  owned_.push_back(std::make_unique<const OwnedKernelRow>(std::move(row)));
  index_.store(nullptr, std::memory_order_release);
  return absl::OkStatus();
}

const KernelRegistry::Index& KernelRegistry::MakeIndex() const {
  MutexLock lock(&mu_);
  if (const Index* const made = index_.load(std::memory_order_relaxed)) return *made;  // By another thread.
  auto index = std::make_unique<Index>();
  for (const std::unique_ptr<const OwnedKernelRow>& owned : owned_) index->push_back({&owned->row(), true});
  for (const absl::Span<const KernelRow> table : tables_) {
    for (const KernelRow& row : table) index->push_back({&row, false});
  }
  std::stable_sort(index->begin(), index->end(), [](const Ranked& a, const Ranked& b) {
    if (a.row->op() != b.row->op()) return a.row->op() < b.row->op();
    if (a.is_of_host != b.is_of_host) return a.is_of_host;
    if (a.row->label().empty() != b.row->label().empty()) return b.row->label().empty();
    return a.row->priority() > b.row->priority();
  });
  indexes_.push_back(std::move(index));
  index_.store(indexes_.back().get(), std::memory_order_release);
  return *indexes_.back();
}

const KernelRow* KernelRegistry::FindRow(const NodeProperties& node, DeviceKind device) const {
  const Index* const made = index_.load(std::memory_order_acquire);
  const Index& index = made != nullptr ? *made : MakeIndex();
  const absl::string_view op = node.op().name;
  auto at = std::lower_bound(index.begin(), index.end(), op,
                             [](const Ranked& ranked, absl::string_view name) { return ranked.row->op() < name; });
  for (; at != index.end() && at->row->op() == op; ++at) {
    const KernelRow& row = *at->row;
    if (row.device() != device || !(row.label().empty() || row.label() == LabelOf(node))) continue;
    if (IsFor(row, node)) return &row;
  }
  return nullptr;
}

const KernelRow* KernelRegistry::FindRow(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  return KindOf(device_type, &kind) ? FindRow(GraphNode(graph, id), kind) : nullptr;
}

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const KernelConstruction& construction,
                                                               DeviceKind device) const {
  const NodeProperties& node = construction.node();
  SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(node));
  const KernelRow* const row = FindRow(node, device);
  if (row == nullptr) return MissingKernel(*this, node, DeviceTypeName(device));
  absl::StatusOr<std::unique_ptr<Kernel>> made = row->factory().Make(construction);
  if (!made.ok()) return node.Locate(made.status());
  if (*made != nullptr) (*made)->SetRowCost(row->cost());
  return made;
}

bool KernelRegistry::MayBeShared(const NodeProperties& node, DeviceKind device) const {
  const KernelRow* const row = FindRow(node, device);
  if (row == nullptr || row->sharing() == Sharing::kNone) return false;
  return row->sharing() == Sharing::kEqualNodes || !KeepsStateInKernels(node.op());
}

std::vector<absl::Span<const KernelRow>> KernelRegistry::Tables() const {
  MutexLock lock(&mu_);
  return tables_;
}

bool KernelRegistry::HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  if (!KindOf(device_type, &kind)) return false;
  return NeedsNoKernel(graph.op(id).op_class) || FindRow(GraphNode(graph, id), kind) != nullptr;
}

bool KernelRegistry::TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  const KernelRow* const row = FindRow(graph, id, device_type);
  return row != nullptr && IsAmong(i, row->host_inputs(), graph.op(id).inputs, graph.signature(id).input_starts);
}

bool KernelRegistry::GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const {
  const KernelRow* const row = FindRow(graph, id, device_type);
  return row != nullptr && IsAmong(i, row->host_outputs(), graph.op(id).outputs, graph.signature(id).output_starts);
}

}  // namespace sluice

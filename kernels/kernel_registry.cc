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

// The label that the node chooses a kernel by; empty: none.
absl::string_view LabelOf(const NodeProperties& node) {
  AttrView value;
  if (!node.FindAttr("_kernel", &value)) return {};
  return value.AsString().value_or(absl::string_view());
}

// Of a row of the node's op.
bool IsFor(const KernelRow& row, const NodeProperties& node, DeviceKind device) {
  if (row.device() != device || !(row.label().empty() || row.label() == LabelOf(node))) return false;
  for (const TypeConstraint& constraint : row.types()) {
    AttrView value;
    if (!node.FindAttr(constraint.attr, &value) || !Satisfies(value, constraint)) return false;
  }
  return true;
}

// Whether `a` is considered before `b`, a row of the same op.
bool IsBefore(const KernelRow& a, const KernelRow& b) {
  if (a.label().empty() != b.label().empty()) return b.label().empty();
  return a.priority() > b.priority();
}

absl::Status RegisteredTwice(const OwnedKernelRow& first, const OwnedKernelRow& second) {
  return Error(ErrorCode::kHostKernel)
      .Text(absl::StrCat("kernel for '", first.row().op(), "': registered twice for ",
                         DeviceTypeName(first.row().device()), ", by ", first.origin(), " and by ", second.origin()));
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

// Where the rows of `op` begin in an index.
std::vector<const KernelRow*>::const_iterator FirstRow(const std::vector<const KernelRow*>& index,
                                                       absl::string_view op) {
  return std::lower_bound(index.begin(), index.end(), op,
                          [](const KernelRow* row, absl::string_view name) { return row->op() < name; });
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

absl::Status KernelRegistry::CheckOverlap(const OwnedKernelRow& row) const {
  const auto rows = host_rows_.find(row.row().op());
  if (rows == host_rows_.end()) return absl::OkStatus();
  for (const std::unique_ptr<const OwnedKernelRow>& other : rows->second) {
    if (Overlap(other->row(), row.row())) return RegisteredTwice(*other, row);
  }
  return absl::OkStatus();
}

absl::Status KernelRegistry::CheckAdd(absl::Span<const OwnedKernelRow> rows) const {
  MutexLock lock(&mu_);
  for (size_t i = 0; i < rows.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(CheckOverlap(rows[i]));
    for (size_t k = 0; k < i; ++k) {
      if (Overlap(rows[k].row(), rows[i].row())) return RegisteredTwice(rows[k], rows[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status KernelRegistry::Add(OwnedKernelRow row) {
  auto added = std::make_unique<const OwnedKernelRow>(std::move(row));
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOverlap(*added));
  HostRows& rows = host_rows_[std::string(added->row().op())];
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), added,
                       [](const std::unique_ptr<const OwnedKernelRow>& a,
                          const std::unique_ptr<const OwnedKernelRow>& b) { return IsBefore(a->row(), b->row()); });
  rows.insert(after, std::move(added));
  has_host_rows_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

const KernelRegistry::Index& KernelRegistry::GetIndex() const {
  if (const Index* const made = index_.load(std::memory_order_acquire)) return *made;
  MutexLock lock(&mu_);
  if (const Index* const made = index_.load(std::memory_order_relaxed)) return *made;  // By another thread.
  auto index = std::make_unique<Index>();
  for (const absl::Span<const KernelRow> table : tables_) {
    for (const KernelRow& row : table) index->push_back(&row);
  }
  std::stable_sort(index->begin(), index->end(), [](const KernelRow* a, const KernelRow* b) {
    return a->op() != b->op() ? a->op() < b->op() : IsBefore(*a, *b);
  });
  indexes_.push_back(std::move(index));
  index_.store(indexes_.back().get(), std::memory_order_release);
  return *indexes_.back();
}

KernelChoice KernelRegistry::Choose(const NodeProperties& node, DeviceKind device) const {
  const absl::string_view op = node.op().name;
  if (has_host_rows_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    const auto rows = host_rows_.find(op);
    const size_t count = rows != host_rows_.end() ? rows->second.size() : 0;
    for (size_t i = 0; i < count; ++i) {
      const KernelRow& row = rows->second[i]->row();
      if (IsFor(row, node, device)) return {&row, /*is_of_host=*/true};
    }
  }
  const Index& index = GetIndex();
  for (auto at = FirstRow(index, op); at != index.end() && (*at)->op() == op; ++at) {
    if (IsFor(**at, node, device)) return {*at, /*is_of_host=*/false};
  }
  return {};
}

bool KernelRegistry::HasRows(absl::string_view op) const {
  const Index& index = GetIndex();
  const auto at = FirstRow(index, op);
  if (at != index.end() && (*at)->op() == op) return true;
  MutexLock lock(&mu_);
  const auto rows = host_rows_.find(op);
  return rows != host_rows_.end() && !rows->second.empty();
}

const KernelRow* KernelRegistry::FindRow(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  return KindOf(device_type, &kind) ? Choose(GraphNode(graph, id), kind).row : nullptr;
}

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const KernelConstruction& construction,
                                                               DeviceKind device) const {
  return Create(construction, device, Choose(construction.node_, device));
}

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const KernelConstruction& construction,
                                                               DeviceKind device, const KernelChoice& choice) const {
  const NodeProperties& node = construction.node_;
  SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(node));
  if (choice.row == nullptr) return MissingKernel(*this, node, DeviceTypeName(device));
  absl::StatusOr<std::unique_ptr<Kernel>> made = choice.row->factory().Make(construction);
  if (!made.ok()) return node.Locate(made.status());
  if (*made != nullptr) (*made)->SetRowCost(choice.row->cost());
  return made;
}

bool KernelRegistry::MayBeShared(const OpSchema& op, const KernelChoice& choice) {
  if (choice.row == nullptr || choice.row->sharing() == Sharing::kNone) return false;
  return choice.row->sharing() == Sharing::kEqualNodes || !KeepsStateInKernels(op);
}

std::vector<absl::Span<const KernelRow>> KernelRegistry::Tables() const {
  MutexLock lock(&mu_);
  return tables_;
}

int64_t KernelRegistry::version() const {
  MutexLock lock(&mu_);
  size_t added = tables_.size();
  for (const auto& [op, rows] : host_rows_) added += rows.size();
  return static_cast<int64_t>(added);
}

std::vector<const OwnedKernelRow*> KernelRegistry::HostRowsOf(absl::string_view op) const {
  std::vector<const OwnedKernelRow*> found;
  MutexLock lock(&mu_);
  const auto rows = host_rows_.find(op);
  if (rows == host_rows_.end()) return found;
  for (const std::unique_ptr<const OwnedKernelRow>& row : rows->second) found.push_back(row.get());
  return found;
}

bool KernelRegistry::HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const {
  DeviceKind kind;
  if (!KindOf(device_type, &kind)) return false;
  return NeedsNoKernel(graph.op(id).op_class) || Choose(GraphNode(graph, id), kind).row != nullptr;
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

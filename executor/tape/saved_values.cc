#include "executor/tape/saved_values.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "executor/tape/var_state.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Checks one saved value; kTapeModified if its variable has been assigned since.
absl::Status CheckVersion(const TapeNode& node, const SavedValue& saved, bool is_output, uint32_t index) {
  if (!saved.var) return absl::OkStatus();
  const uint32_t version = saved.var->version.load(std::memory_order_relaxed);
  if (version == saved.version) return absl::OkStatus();
  return Error(ErrorCode::kTapeModified)
      .Node(node.name(), node.name())
      .Text(absl::StrCat("needs ", is_output ? "output " : "input ", index, " of ", node.op->name(), ", ",
                         DTypeName(saved.value.dtype()), " ", saved.value.shape().ToString(),
                         ", which has been modified by an assignment since"))
      .Found(absl::StrCat("version ", version))
      .Expected(absl::StrCat("version ", saved.version))
      .Help(
          "assign to a variable after the pass that needs it, or to a copy; AnomalyScope tells where the op was "
          "called");
}

absl::Status Released(const TapeNode& node) {
  return Error(ErrorCode::kTapeFreed)
      .Node(node.name(), node.name())
      .Text("backward through this node a second time: its saved values were freed by the first pass")
      .Help("set retain_graph in the first one");
}

// Nodes without saved values need no lock.
bool SavesNothing(const GradientTemplate& gradient) { return gradient.saved().empty(); }

// Returns where the node has saved value `k` of `gradient`; the node saves all values, or those that `gradient` reads.
size_t PlaceOfSaved(const TapeNode& node, const GradientTemplate& gradient, size_t k) {
  const GradientTemplate::Saved& wanted = gradient.saved()[k];
  return node.gradient != nullptr ? k : wanted.index + (wanted.is_output ? node.edges.size() : 0);
}

}  // namespace

bool IsArgument(const Tensor& value) {
  constexpr int64_t kMaxElements = 256;
  return (value.dtype() == DType::kInt32 || value.dtype() == DType::kInt64) && value.num_elements() <= kMaxElements;
}

absl::StatusOr<std::shared_ptr<const GradientTemplate>> GradientOfNode(EagerOps& ops, const TapeNode& node,
                                                                       SlotSet dys) {
  if (node.gradient != nullptr) return node.gradient;
  MutexLock lock(&node.mu);
  if (node.is_released) return Released(node);
  std::vector<const Tensor*> all;
  for (const SavedValue& saved : node.saved) all.push_back(&saved.value);
  const absl::Span<const Tensor* const> values(all);
  const size_t num_inputs = node.edges.size();
  return FindGradient(ops, {*node.op, values.first(num_inputs), values.subspan(num_inputs)}, node.wants(), dys);
}

absl::Status CheckSaved(const TapeNode& node, const GradientTemplate& gradient) {
  if (SavesNothing(gradient)) return absl::OkStatus();
  MutexLock lock(&node.mu);
  if (node.is_released) return Released(node);
  for (size_t k = 0; k < gradient.saved().size(); ++k) {
    const GradientTemplate::Saved& wanted = gradient.saved()[k];
    const SavedValue& saved = node.saved[PlaceOfSaved(node, gradient, k)];
    SLUICE_RETURN_IF_ERROR(CheckVersion(node, saved, wanted.is_output, wanted.index));
  }
  return absl::OkStatus();
}

absl::Status TakeSaved(TapeNode& node, const GradientTemplate& gradient, bool keeps, std::vector<TapeValue>* values) {
  if (SavesNothing(gradient)) return absl::OkStatus();
  absl::InlinedVector<SavedValue, 2> released;  // Freed without the lock.
  MutexLock lock(&node.mu);
  if (node.is_released) return Released(node);
  bool reads_values = false;
  for (size_t k = 0; k < gradient.saved().size(); ++k) {
    const GradientTemplate::Saved& wanted = gradient.saved()[k];
    const SavedValue& saved = node.saved[PlaceOfSaved(node, gradient, k)];
    SLUICE_RETURN_IF_ERROR(CheckVersion(node, saved, wanted.is_output, wanted.index));
    reads_values = reads_values || wanted.is_output || !IsArgument(saved.value);
    TapeValue value;
    value.value = saved.value;
    value.var = saved.var;
    if (wanted.is_output) {
      value.history = {CountedPtr<TapeNode>::Share(&node), wanted.index};
    } else {
      value.history = node.edges[wanted.index];
    }
    values->push_back(std::move(value));
  }
  if (keeps || !reads_values) return absl::OkStatus();
  released.swap(node.saved);
  node.is_released = true;
  return absl::OkStatus();
}

void ForgetFrozen(absl::Span<TapeValue> values) {
  for (TapeValue& value : values) {
    TapeNode* const node = value.history.node.get();
    if (node == nullptr || node->kind != TapeNode::Kind::kAccumulate) continue;
    if (!LeafRequiresGrad(*node)) value.history = TapeEdge();
  }
}

absl::Status CheckPassedOver(const TapeNode& node) {
  if (node.gradient != nullptr) return CheckSaved(node, *node.gradient);
  // Versions are not checked: it is unknown which of the saved values a gradient would read.
  MutexLock lock(&node.mu);
  return node.is_released ? Released(node) : absl::OkStatus();
}

absl::Status PassOver(TapeNode& node, bool keeps) {
  std::vector<TapeValue> unread;
  if (node.gradient != nullptr) return TakeSaved(node, *node.gradient, keeps, &unread);
  absl::InlinedVector<SavedValue, 2> released;  // Freed without the lock.
  MutexLock lock(&node.mu);
  if (node.is_released) return Released(node);
  if (keeps) return absl::OkStatus();
  released.swap(node.saved);
  node.is_released = !released.empty();
  return absl::OkStatus();
}

}  // namespace sluice

#include "executor/tape/tape_node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/tape/custom_call.h"
#include "executor/tape/var_state.h"

namespace sluice {
namespace {

// The nodes that the outermost Unref of this thread frees.
struct FreeList {
  TapeNode* first = nullptr;
  bool is_draining = false;
};

FreeList& ThisThreadsFreeList() {
  thread_local FreeList list;
  return list;
}

}  // namespace

NodeOrigin::~NodeOrigin() {
  // Free a chain without other owners here, without recursion.
  while (parent != nullptr && parent.use_count() == 1) {
    const std::shared_ptr<NodeOrigin> ended = std::move(parent);
    parent = std::move(ended->parent);
  }
}

std::string NodeOrigin::ToString() const {
  constexpr int kMaxParents = 16;
  std::string text = place;
  const NodeOrigin* at = this;
  for (int i = 0; i < kMaxParents && at->parent != nullptr; ++i, at = at->parent.get()) {
    absl::StrAppend(&text, "\n  while ", at->parent_name, " ran, which was recorded at ", at->parent->place);
  }
  if (at->parent != nullptr) absl::StrAppend(&text, "\n  and so on");
  return text;
}

TapeNode::TapeNode(Kind node_kind, uint64_t node_sequence) : kind(node_kind), sequence(node_sequence) {}
TapeNode::~TapeNode() {
  if (hooks != nullptr && hooks->home != nullptr) hooks->home->Close();
}

void TapeNode::Unref() {
  // Acquire-release: the accesses of other holders happen before the node is freed.
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  FreeList& list = ThisThreadsFreeList();
  next_to_free_ = list.first;
  list.first = this;
  if (list.is_draining) return;
  list.is_draining = true;
  while (list.first != nullptr) {
    TapeNode* const node = list.first;
    list.first = node->next_to_free_;
    const std::unique_ptr<TapeNode> ended(node);  // Its destructor adds the nodes that only it held to the list.
  }
  list.is_draining = false;
}

std::string TapeNode::name() const {
  switch (kind) {
    case Kind::kOp:
      return absl::StrCat(op->node().name(), "Backward");
    case Kind::kAccumulate:
      return "AccumulateGrad";
    case Kind::kCustom:
      return absl::StrCat(custom->function->name(), "Backward");
  }
  return "";
}

SlotSet TapeNode::wants() const {
  SlotSet wants;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].is_set()) wants.Add(i);
  }
  return wants;
}

}  // namespace sluice

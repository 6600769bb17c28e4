#ifndef SLUICE_GRAPH_EDIT_LIVE_SHAPES_H_
#define SLUICE_GRAPH_EDIT_LIVE_SHAPES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/big_vector.h"
#include "graph/edit/live_uses.h"
#include "graph/ir/graph.h"
#include "graph/shapes/inference.h"
#include "graph/shapes/shape_inference.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// The results of InferShapes, kept up to date while the graph is changed: nodes that were added or changed are inferred
// again, and those that use what is no longer known as it was; nothing else is. GraphEditor has one.
//
// Note [Shapes that follow]
// Changed nodes wait in a queue, ordered by labels that ascend along edges, so that a node comes after all changed ones
// that it uses. A label that a new edge has made wrong is put right when the node's turn comes, and the node waits once
// more. The outputs of a loop are found in rounds, so where a change reaches the Merge that begins one, it and all that
// depends on it are inferred together, as InferShapes does; so are, after any change of an old node, loops whose
// iterations differed, which may now be alike. Labels are a matter of speed: where they were so wrong that more work
// was done than for inferring everything once, everything is, with new labels. That also ends the work on a graph that
// has a cycle for the moment. Results are those of InferShapes, but for three limits there that depend on the way to
// the result: of rounds in loops (here it may know more), of memory for contents, and of walks of bodies.
//
// Functions of ops that hosts add are looked up when their op is first met. Nothing is inferred before the first
// Update. Borrows the graph, and what the options borrow. Not thread-safe.
class LiveShapes {
 public:
  explicit LiveShapes(const Graph& graph, InferenceOptions options = {});

  // States that edges or attrs of `id` are about to change, or that it is about to be removed. Nodes that are added
  // need not be stated. A change that is stated and not made costs some time, and nothing else.
  void WillChange(NodeId id) {
    if (!is_made_) return;
    is_made_ = changed_.size() <= labels_.size() + static_cast<size_t>(kPatience);  // Else it is cheaper to infer all.
    is_made_ ? changed_.push_back(id) : changed_.clear();
  }
  // Of the graph as it is now; valid until the next change. `uses` are those of the graph. Fails (kCycle) where the
  // graph has no order, and with the status of options.stop. After an error, or where memory runs out, the next call
  // infers all.
  absl::StatusOr<const ShapeMap*> Update(const LiveUses& uses);

  // How many times a node was inferred so far; the rounds of loops count once. For tests.
  int64_t num_inferred() const { return num_inferred_; }

 private:
  // Between the labels of two nodes that follow each other at first, and of new ones: room for what comes between.
  static constexpr int64_t kGapAtFirst = int64_t{1} << 20;
  static constexpr int64_t kGap = int64_t{1} << 10;
  // Nodes visited in one Update, beside as many as the graph has, before all is inferred instead.
  static constexpr int64_t kPatience = 64;

  absl::Status InferAll();
  // False where it gives up.
  bool InferChanged(const LiveUses& uses);
  // Infers all that depends on the Merges, and the Merges. False where that has no order.
  bool InferLoops(const LiveUses& uses, const std::vector<NodeId>& merges);
  void Push(NodeId id);
  void PushUsers(const LiveUses& uses, NodeId id);
  // The least label that the node may have.
  int64_t LeastLabel(NodeId id) const;
  int64_t& LabelOf(NodeId id) { return labels_[static_cast<size_t>(id.value())]; }

  const Graph& graph_;
  const InferenceOptions options_;
  CallBudget budget_;
  std::unique_ptr<ShapeInference> inference_;
  bool is_made_ = false;  // Whether inference_ is that of the graph, but for what is changed or new.
  std::vector<NodeId> changed_;
  BigVector<int64_t> labels_;  // By node id, of those that were taken in.
  std::set<std::pair<int64_t, NodeId>> queue_;
  int64_t num_inferred_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_EDIT_LIVE_SHAPES_H_

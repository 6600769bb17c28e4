#ifndef SLUICE_EXECUTOR_TAPE_TAPE_NODE_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "executor/tape/gradient_template.h"
#include "executor/tape/tape_hooks.h"
#include "graph/base/mutex.h"
#include "graph/value/counted.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

class CustomCall;
class TapeNode;
class VarState;

// Note [The record]
// What was computed, as a graph of nodes that run backwards: one node for each op call that a gradient flows through
// (the Function of older PyTorch, its Node of today). An edge leads from a node to the one that made an input: along it
// flows the gradient of that input. Leaves have a node of their own kind, which adds to the leaf's gradient.
// Values own their history: a variable holds the node that made it, a node the nodes of its inputs, and nobody the
// other way round. So a record lives as long as some value needs it, and goes with it, however long it is, without
// recursion. A node knows variables (a leaf, an output whose gradient is retained, what was saved) by a reference that
// does not keep their content.
// Sequence numbers grow along the edges' other direction: what made an input has a smaller number. A pass that goes
// from large numbers to small ones has seen all that flows to a node when it comes to it.

// An output of a node: what made a value. Unset: nothing that gradients flow through.
struct TapeEdge {
  CountedPtr<TapeNode> node;
  uint32_t slot = 0;

  bool is_set() const { return static_cast<bool>(node); }
};

// What the gradient of an output must look like.
struct GradientMeta {
  DType dtype = DType::kInvalid;  // kInvalid: the output has no gradient.
  Shape shape;
};

// A value that the gradient reads, as it was at the call; and the variable that it was taken from, whose version tells
// whether it has been assigned since.
struct SavedValue {
  Tensor value;
  CountedPtr<VarState> var;  // Null: a value that no variable holds.
  uint32_t version = 0;
};

// Where a node was recorded: its own place, and those of the nodes whose evaluation recorded it, each with the next.
// Immutable once shared.
struct NodeOrigin {
  NodeOrigin() = default;
  NodeOrigin(const NodeOrigin&) = delete;
  NodeOrigin& operator=(const NodeOrigin&) = delete;
  ~NodeOrigin();
  // The place, then those of the first parents.
  std::string ToString() const;

  std::string place;
  std::string parent_name;
  std::shared_ptr<NodeOrigin> parent;  // Null: it was recorded outside of passes.
};

// See Note [The record]. Counted; immutable but for what the mutex guards. Thread-safe.
class TapeNode {
 public:
  enum class Kind : uint8_t { kOp, kAccumulate, kCustom };

  TapeNode(Kind node_kind, uint64_t node_sequence);
  TapeNode(const TapeNode&) = delete;
  TapeNode& operator=(const TapeNode&) = delete;
  ~TapeNode();

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: the caller holds a reference already.
  // Frees the node with the last reference, and then those that only it held; not recursive.
  void Unref();

  // "MulBackward", "AccumulateGrad", or what a custom function calls itself with "Backward" behind it.
  std::string name() const;
  SlotSet wants() const;

  const Kind kind;
  uint64_t sequence;                                 // Fixed before anyone else has the node.
  std::shared_ptr<const EagerOp> op;                 // Of kOp.
  std::shared_ptr<const GradientTemplate> gradient;  // Null: found when it is needed, all values are saved.
  absl::InlinedVector<TapeEdge, 2> edges;            // One for each input; unset: no gradient wanted.
  absl::InlinedVector<GradientMeta, 1> outputs;
  CountedPtr<VarState> leaf;           // Of kAccumulate.
  std::unique_ptr<CustomCall> custom;  // Of kCustom.
  std::shared_ptr<NodeOrigin> origin;  // Only with anomaly detection.

  mutable Mutex mu;
  absl::InlinedVector<SavedValue, 2> saved ABSL_GUARDED_BY(mu);
  bool is_released ABSL_GUARDED_BY(mu) = false;  // It has saved values, and they were given up.
  std::unique_ptr<NodeHooks> hooks ABSL_GUARDED_BY(mu);
  std::unique_ptr<LeftLeaf> left ABSL_GUARDED_BY(mu);  // Of kAccumulate; there from the start: ~Var cannot fail.
  std::atomic<bool> has_hooks{false};  // Spares passes the lock. Relaxed: hooks are added by who starts the pass.

  // Of the one discovery that goes on (Discovery in pass_plan.h).
  uint64_t seen_by_pass = 0;
  int32_t place_in_pass = 0;

 private:
  std::atomic<int32_t> refs_{1};
  TapeNode* next_to_free_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_NODE_H_

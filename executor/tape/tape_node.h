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
// The record is a graph of nodes that run backwards: one for each op call that a gradient flows through (PyTorch's
// Node). An edge leads from a node to the one that made an input: along it flows the gradient of that input. Leaves
// have a node of their own kind, which adds to the leaf's gradient.
// Values own their history: a variable holds the node that made it, and a node those of its inputs, never the other way
// round. So a record lives as long as some value needs it, and is freed with it, without recursion. A node knows
// variables (a leaf, an output whose gradient is retained, what was saved) by a reference that does not keep their
// content.
// A node has a larger sequence number than the nodes of its inputs. So a pass in descending order reaches a node after
// all nodes whose gradients flow to it.

// The output of a node that made a value. Unset: no gradient flows to the value.
struct TapeEdge {
  CountedPtr<TapeNode> node;
  uint32_t slot = 0;

  bool is_set() const { return static_cast<bool>(node); }
};

// The type and shape that the gradient of an output must have.
struct GradientMeta {
  DType dtype = DType::kInvalid;  // kInvalid: the output has no gradient.
  Shape shape;
};

// A value that the gradient reads, and the variable that it was taken from, whose version tells whether it has been
// assigned since.
struct SavedValue {
  Tensor value;
  CountedPtr<VarState> var;  // Null: a value that no variable holds.
  uint32_t version = 0;
};

// Where a node was recorded: its place, and as a chain the places of the nodes whose evaluation recorded it. Immutable
// once shared.
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
  // The last reference frees the node, then those that only it held, without recursion.
  void Unref();

  // "MulBackward", "AccumulateGrad", or a custom function's name followed by "Backward".
  std::string name() const;
  SlotSet wants() const;

  const Kind kind;
  uint64_t sequence;                                 // Fixed before anyone else has the node.
  std::shared_ptr<const EagerOp> op;                 // Of kOp.
  std::shared_ptr<const GradientTemplate> gradient;  // Null: the pass finds it; all values are saved.
  absl::InlinedVector<TapeEdge, 2> edges;            // One for each input; unset: no gradient wanted.
  absl::InlinedVector<GradientMeta, 1> outputs;
  CountedPtr<VarState> leaf;           // Of kAccumulate.
  std::unique_ptr<CustomCall> custom;  // Of kCustom.
  std::shared_ptr<NodeOrigin> origin;  // Only with anomaly detection.

  mutable Mutex mu;
  absl::InlinedVector<SavedValue, 2> saved ABSL_GUARDED_BY(mu);
  bool is_released ABSL_GUARDED_BY(mu) = false;  // It had saved values, and a pass released them.
  std::unique_ptr<NodeHooks> hooks ABSL_GUARDED_BY(mu);
  std::unique_ptr<LeftLeaf> left ABSL_GUARDED_BY(mu);  // Of kAccumulate; allocated early: ~Var must not fail.
  std::atomic<bool> has_hooks{false};                  // Spares passes the lock. Relaxed: their own thread adds hooks.

  // Marks of the pass whose Discovery runs (pass_plan.h).
  uint64_t seen_by_pass = 0;
  int32_t place_in_pass = 0;

 private:
  std::atomic<int32_t> refs_{1};
  TapeNode* next_to_free_ = nullptr;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_NODE_H_

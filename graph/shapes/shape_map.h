#ifndef SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/shapes/shape_value.h"
#include "graph/value/shape.h"

namespace sluice {

// A node that cannot compute anything from the shapes and attrs it has.
struct ShapeProblem {
  NodeId node;
  absl::Status status;  // kShapeMismatch, kShapeRank, kShapeValue, kAttrValue; names node, op and input.
  // Whether a run that needs the node is sure to fail: it is neither conditional nor are its shapes assumed. See Note
  // [Certain problems].
  bool certain = true;
};

// What InferShapes found out: a shape for every output, contents of small integer tensors, what handles refer to, and
// contradictions. Indexed by node id as the graph was; does not follow later changes of the graph.
// Thread-safety: immutable once made.
class ShapeMap {
 public:
  explicit ShapeMap(const Graph& graph);

  // REQUIRES: the endpoint exists in the graph. Of unknown rank when nothing is known.
  const PartialShape& shape(const Output& output) const;
  // The known contents of a small integer tensor, or null.
  const ShapeValue* value(const Output& output) const;
  // Shapes of what a resource or variant refers to: the variable's value, the components of a queue, the elements of
  // a list. Null when unknown.
  const std::vector<PartialShape>* handle(const Output& output) const;
  // Whether the shapes of this node rest on what a run need not keep: the declared shape of a variable, a hint.
  bool IsAssumed(NodeId id) const { return assumed_[static_cast<size_t>(id.value())]; }
  // Whether a run that needs the node may still not run it: it stands behind a Switch.
  bool IsConditional(NodeId id) const { return conditional_[static_cast<size_t>(id.value())]; }

  // In the order of the nodes.
  const std::vector<ShapeProblem>& problems() const { return problems_; }
  // The first certain problem, or OK.
  absl::Status FirstCertainProblem() const;

 private:
  friend class InferenceContext;
  friend class ShapeInference;

  // Keeps `shape`; as of unknown rank when it has many dimensions and the budget for these is spent.
  void SetShape(const Output& output, const PartialShape& shape);
  // Keeps what the output refers to, unless the budget for that is spent.
  void SetHandle(const Output& output, std::vector<PartialShape> shapes);
  // Where shapes_ keeps this output, or null for a node that got no room.
  PartialShape* Slot(const Output& output);
  // How many elements of values a graph may have; bounds memory against chains that copy long vectors.
  static int64_t ValueBudget(const Graph& graph);
  // Keeps `value` unless the budget for values is spent. Replaces an older one.
  void SetValue(const Output& output, ShapeValue value);

  std::vector<uint32_t> first_;  // By node id: where its outputs stand in shapes_; one more at the end.
  std::vector<PartialShape> shapes_;
  std::vector<bool> assumed_, conditional_;  // By node id.
  std::unordered_map<Output, ShapeValue, absl::Hash<Output>>
      values_;  // Pointers to values stay valid while others are added.
  std::unordered_map<Output, std::vector<PartialShape>, absl::Hash<Output>> handles_;
  std::vector<ShapeProblem> problems_;
  int64_t value_budget_ = 0;   // Elements that values_ may still take.
  int64_t dim_budget_ = 0;     // Dimensions that shapes of high rank may still take.
  int64_t handle_budget_ = 0;  // Shapes and dimensions that handles_ may still take.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_

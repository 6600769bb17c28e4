#ifndef SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/shapes/handle_data.h"
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
// contradictions. Indexed by node id as the graph was; does not follow later changes of the graph, but for the map that
// LiveShapes keeps. Shapes may have ids for unknown sizes (Note [Ids of sizes] in dims.h).
// Thread-safety: const methods from any thread.
class ShapeMap {
 public:
  explicit ShapeMap(const Graph& graph);

  // REQUIRES: the endpoint exists in the graph. Of unknown rank when nothing is known.
  const PartialShape& shape(const Output& output) const;
  // The known contents of a small integer tensor, or null.
  const ShapeValue* value(const Output& output) const;
  // What a resource or variant refers to: the variable's value, the components of a queue, the elements of a list. Null
  // when unknown.
  const HandleData* handle(const Output& output) const;
  // Whether dimension `axis_a` of `a` has the same size as `axis_b` of `b` in every run that makes both: of the same
  // known size, or of one id (Note [Ids of sizes] in dims.h). False when the shapes have no such dimension. As sure as
  // the shapes are: see IsAssumed.
  bool HaveSameSize(const Output& a, int axis_a, const Output& b, int axis_b) const;
  // Whether both have the same shape, as far as that is known: each dimension the same size.
  bool HaveSameShape(const Output& a, const Output& b) const;
  // Whether the shapes of this node rest on what a run need not keep: the declared shape of a variable, a hint.
  bool IsAssumed(NodeId id) const { return assumed_[static_cast<size_t>(id.value())]; }
  // Whether a run that needs the node may still not run it, because it is after a Switch.
  bool IsConditional(NodeId id) const { return conditional_[static_cast<size_t>(id.value())]; }

  // In the order of the nodes; in the map of LiveShapes, which replaces them one by one, in any order.
  const std::vector<ShapeProblem>& problems() const { return problems_; }
  // The first certain problem, or OK.
  absl::Status FirstCertainProblem() const;

 private:
  static constexpr int64_t kIdsPerOutput = 256;  // More than a shape has dimensions.
  struct KnownValue {
    ShapeValue value;
    int64_t cost = 0;  // Its cost in the budget; 0 for the elements of a constant.
  };

  friend class InferenceContext;
  friend class ShapeInference;

  // Keeps `shape`; as of unknown rank when it has many dimensions and the budget for these is spent.
  void SetShape(const Output& output, const PartialShape& shape);
  // Keeps what the output refers to, unless the budget for that is spent.
  void SetHandle(const Output& output, HandleData parts);
  // Makes room for the nodes that `graph` has got since.
  void Grow(const Graph& graph);
  // Whether the node has room for as many outputs as it has now.
  bool HasRoomFor(const Graph& graph, NodeId id) const;
  // The id of dimension `axis` of the output, counted from `base` on. 0 where the output has no room.
  int64_t DimIdOf(const Output& output, int axis, int64_t base) const;
  // How many ids DimIdOf may give.
  int64_t NumDimIds() const { return static_cast<int64_t>(shapes_.size()) * kIdsPerOutput; }
  // Forgets the facts of an output except its shape.
  void EraseValue(const Output& output);
  void EraseHandle(const Output& output);
  // The same for all outputs; problems, too.
  void ClearAllButShapes(const Graph& graph);
  void AddProblem(ShapeProblem problem);
  void EraseProblemOf(NodeId id);
  // The place of this output in shapes_, or null if its node has none.
  PartialShape* Slot(const Output& output);
  // How many elements of values a graph may have; bounds memory against chains that copy long vectors.
  static int64_t ValueBudget(const Graph& graph);
  // Keeps `value` unless the budget for values is spent. Replaces an older one.
  void SetValue(const Output& output, ShapeValue value);

  std::vector<uint32_t> first_ = {0};  // By node id: where its outputs stand in shapes_; one more at the end.
  std::vector<PartialShape> shapes_;
  std::vector<bool> assumed_, conditional_;  // By node id.
  std::unordered_map<Output, KnownValue, absl::Hash<Output>>
      values_;  // Pointers to values stay valid while others are added.
  std::unordered_map<Output, HandleData, absl::Hash<Output>> handles_;
  std::vector<ShapeProblem> problems_;
  std::unordered_map<NodeId, size_t, absl::Hash<NodeId>> problem_at_;  // Where in problems_ that of a node is.
  int64_t value_budget_ = 0;                                           // Elements that values_ may still take.
  int64_t dim_budget_ = 0;     // Dimensions that shapes of high rank may still take.
  int64_t handle_budget_ = 0;  // Shapes and dimensions that handles_ may still take.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_MAP_H_

#ifndef SLUICE_GRAPH_SHAPES_INFERENCE_CONTEXT_H_
#define SLUICE_GRAPH_SHAPES_INFERENCE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/shapes/dims.h"
#include "graph/shapes/handle_data.h"
#include "graph/shapes/shape_map.h"
#include "graph/shapes/shape_value.h"
#include "graph/value/shape.h"

namespace sluice {

// What a shape function sees of one node: shapes and known contents of the inputs, and attrs; it also receives the
// outputs. Outputs that are not set stay unknown. Inputs out of range are of unknown rank, so functions need not check
// how many there are.
// A shape function returns an error only for what every run of the node refuses (Note [Certain problems]).
// Ownership: borrows graph and map for one node. Not thread-safe.
class InferenceContext {
 public:
  InferenceContext(const Graph& graph, ShapeMap& map, NodeId node);

  const Graph& graph() const { return graph_; }
  NodeId node() const { return node_; }
  absl::string_view op() const { return graph_.op_name(node_); }

  // --- Inputs --------------------------------------------------------------------------------------------------
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const PartialShape& input(int i) const;
  DType input_type(int i) const;
  // -1 when unknown.
  int rank(int i) const { return input(i).rank(); }
  // The size of a dimension, counted from the end when `axis` is negative; kUnknownDim when there is none. An unknown
  // one may be an id (Note [Ids of sizes]): functions test for a negative size.
  int64_t dim(int i, int axis) const;
  // Contents of input `i`, an int32 or int64 scalar or vector; null when nothing is known of them.
  const ShapeValue* value(int i) const;
  // The only element of input `i`, or kUnknownValue.
  int64_t scalar(int i) const;
  // The same as the size of a dimension: known, an id, or kUnknownDim.
  int64_t scalar_size(int i) const;
  // The only element of input `i` when that is a Const of a real or integer type.
  std::optional<double> const_number(int i) const;
  // The elements of input `i`, row by row, when that is a small int32 or int64 Const of any shape; else empty.
  std::vector<int64_t> const_matrix(int i) const;
  // What input `i` refers to; null when unknown.
  const HandleData* handle(int i) const;
  // The shape of the first (often the only) thing that input `i` refers to; of unknown rank when unknown.
  PartialShape handle_shape(int i) const;
  // Checks that part `part` of what input `i` refers to may be of type `wanted`. kAttrValue, of the attr that states
  // it.
  absl::Status RequireHandleType(int i, size_t part, DType wanted, absl::string_view attr) const;
  // The shape that integer vector `i` states, such as the first input of Fill: of unknown rank, or with unknown
  // dimensions, where its elements are not known. -1 is unknown if `minus_one_is_unknown`, else an error, like
  // everything below.
  absl::Status ShapeFromValue(int i, bool minus_one_is_unknown, PartialShape* out) const;

  // --- Outputs -------------------------------------------------------------------------------------------------
  int num_outputs() const { return graph_.num_outputs(node_); }
  void Set(int i, const PartialShape& shape);
  // A shape of these sizes. Sizes that make no shape (overflow) leave all dimensions unknown.
  void Set(int i, const Dims& dims);
  void SetScalar(int i) { Set(i, PartialShape::Scalar()); }
  void SetVector(int i, int64_t size) { Set(i, Dims{size}); }
  void SetAll(const PartialShape& shape);
  // Sets the contents of output `i`. Ignored for types other than int32 and int64; elements out of the type's range
  // become unknown.
  void SetValue(int i, ShapeValue value);
  // What output `i` refers to. A copy of handle() may be handed over, not a reference to it.
  void SetHandle(int i, HandleData parts) { map_.SetHandle({node_, i}, std::move(parts)); }
  // Output `out` is input `in`: shape, contents and what it refers to.
  void Pass(int in, int out);
  const PartialShape& output(int i) const { return map_.shape({node_, i}); }
  // Marks the shapes of this node, and of all nodes that use them, as depending on assumptions that a run need not
  // meet.
  void MarkAssumed() { map_.assumed_[static_cast<size_t>(node_.value())] = true; }
  // Marks the users of this node as nodes that need not run.
  void MarkConditional() { map_.conditional_[static_cast<size_t>(node_.value())] = true; }

  // --- Attrs, with the value to take when there is none of that kind ---------------------------------------------
  int64_t Int(absl::string_view name, int64_t otherwise = 0) const;
  bool Bool(absl::string_view name, bool otherwise = false) const;
  absl::string_view String(absl::string_view name, absl::string_view otherwise = "") const;
  DType Type(absl::string_view name) const;
  PartialShape ShapeAttr(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  std::vector<PartialShape> Shapes(absl::string_view name) const;

  // --- Checks; the errors name the input -------------------------------------------------------------------------
  absl::Status RequireRank(int i, int rank) const;
  absl::Status RequireRankAtLeast(int i, int rank) const;
  absl::Status RequireRankAtMost(int i, int rank) const;
  // Checks that inputs `a` and `b` may have the same shape; *merged (may be null) is what is known of it.
  absl::Status RequireSameShape(int a, int b, PartialShape* merged) const;
  // Checks that dimension `axis_a` of input `a` and `axis_b` of `b` may be equal; *merged (may be null) is the size.
  absl::Status RequireSameDim(int a, int axis_a, int b, int axis_b, int64_t* merged) const;
  // Turns `axis` from the end into one from the start, for `rank` dimensions. kShapeValue when out of range.
  // `input` is where the axis came from, -1 for an attr.
  absl::Status NormalizeAxis(int64_t axis, int rank, int input, int* out) const;

  absl::Status RankError(int input, absl::string_view expected) const;
  // The error for two shapes that do not match.
  absl::Status MismatchError(int input, absl::string_view text, const PartialShape& found,
                             const PartialShape& expected) const;
  absl::Status ValueError(int input, absl::string_view text) const;
  absl::Status AttrError(absl::string_view attr, absl::string_view text) const;

 private:
  bool FindAttr(absl::string_view name, AttrView* value) const { return graph_.FindAttr(node_, name, value); }
  std::string InputName(int i) const;
  // Finds the attr of the Const that feeds input `i` directly. Returns false if another node does.
  bool FindConst(int i, AttrView* attr) const;

  const Graph& graph_;
  ShapeMap& map_;
  NodeId node_;
  absl::Span<const Output> inputs_;
};

// --- Shapes from shapes ------------------------------------------------------------------------------------------

// The shape that `a` and `b` broadcast to. *differ is set, and the result unknown, when they cannot.
PartialShape BroadcastShapes(const PartialShape& a, const PartialShape& b, bool* differ);
// Dimensions [begin, end) of `shape`; unknown rank when that is unknown. REQUIRES: a known rank is at least `end`.
PartialShape SubShape(const PartialShape& shape, int begin, int end);
inline PartialShape SubShape(const PartialShape& shape, int begin) { return SubShape(shape, begin, shape.rank()); }
// Dimensions of `a`, then those of `b`.
PartialShape ConcatShapes(const PartialShape& a, const PartialShape& b);
// What both shapes have in common: unknown where they differ.
PartialShape JoinShapes(const PartialShape& a, const PartialShape& b);
// A shape of `dims`; unknown dimensions when they overflow, unknown rank when there are too many.
PartialShape ShapeOf(const Dims& dims);
// The sizes of `shape`. REQUIRES: has_rank().
Dims DimsOf(const PartialShape& shape);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_INFERENCE_CONTEXT_H_

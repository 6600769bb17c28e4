#ifndef SLUICE_GRAPH_GRADIENTS_FORWARD_FACTS_H_
#define SLUICE_GRAPH_GRADIENTS_FORWARD_FACTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "graph/gradients/gradient_region.h"
#include "graph/ir/graph.h"
#include "graph/shapes/shape_map.h"
#include "graph/value/shape.h"

namespace sluice {

// Answers what rows ask about the forward graph before a run. Shapes are inferred on the first question; those that a
// run need not keep (declared shapes of variables) count as unknown. Questions are recorded: a gradient made for one
// graph serves every graph of the same nodes and edges with the same answers. Borrows the graph, and knows only the
// nodes that it had at first. Not thread-safe.
class ForwardFacts {
 public:
  struct Question {
    enum class Kind : uint8_t { kShape, kSameShape, kConstant };
    Kind kind;
    Output of, other;
  };

  ForwardFacts(const Graph& graph, const GradientRegion& region);

  const GradientRegion& region() const { return region_; }
  // Whether the output is a node that was there before the gradient.
  bool IsForward(const Output& output) const { return output.node.value() < limit_; }
  // The rank or dimensions may be unknown; dimensions are never ids of sizes.
  PartialShape Shape(const Output& output);
  bool HaveSameShape(const Output& a, const Output& b);
  // The shape of elements in the attrs of the node that made a TensorArray. Not recorded as a question: it follows from
  // nodes and edges.
  PartialShape ElementShape(const Output& array);
  // The elements of a constant scalar or vector of int32 or int64, at most 256.
  std::optional<std::vector<int64_t>> Integers(const Output& output);

  const std::vector<Question>& questions() const { return questions_; }

 private:
  const ShapeMap* Shapes();
  bool IsKnown(const Output& output);

  const Graph& graph_;
  const GradientRegion& region_;
  const int32_t limit_;
  bool is_inferred_ = false;
  std::unique_ptr<ShapeMap> shapes_;  // Null: not needed yet, or the graph has a cycle.
  std::vector<Question> questions_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_FORWARD_FACTS_H_

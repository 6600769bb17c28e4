#ifndef SLUICE_EXECUTOR_PLAN_WEIGHT_CONSTANTS_H_
#define SLUICE_EXECUTOR_PLAN_WEIGHT_CONSTANTS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// Which constants of a graph can stay in their file: see Note [Tensors in files] in kernels/memory/file_tensor.h.
// Looks at all edges of the graph once, when the first large matrix is asked for. Borrows the graph, which must not
// change meanwhile; for one thread.
class WeightConstants {
 public:
  // Whether the kernel of `node` accepts a tensor in a file as input `i`; for a node that HandsOn, whether its kernel
  // forwards input 0 without reading the elements. Called for inputs from constants and from nodes that hand on.
  using Takes = absl::FunctionRef<bool(NodeId node, int32_t i)>;

  explicit WeightConstants(const Graph& graph) : graph_(graph) {}

  // Returns the value of constant `id` in place, if it is a large matrix of floats or doubles whose bytes the graph
  // keeps alive, and all its readers, direct or through nodes that hand it on, accept it. Otherwise, or if the value is
  // damaged, returns a tensor without a value. `encoded` is the attr "value".
  Tensor Find(NodeId id, absl::string_view encoded, Takes takes);

  // Whether a node of this op gives its only input unchanged.
  static bool HandsOn(const Graph& graph, NodeId id);

 private:
  // Below this a second copy costs less than what it saves is worth: products of one row are quicker from the first.
  static constexpr size_t kMinBytes = 256 << 10;
  // A narrower one grows when it is packed, for its columns are filled up to those of a tile: a vector to 32 of it.
  static constexpr int64_t kMinSide = 64;

  void MarkRead(Takes takes);

  const Graph& graph_;
  std::vector<bool> is_read_;  // By node: whether something reads its output that cannot take it. Empty: not known yet.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_WEIGHT_CONSTANTS_H_

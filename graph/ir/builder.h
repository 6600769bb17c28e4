#ifndef SLUICE_GRAPH_IR_BUILDER_H_
#define SLUICE_GRAPH_IR_BUILDER_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace sluice {

// Builds a graph in C++; the first error sticks and comes out of Build().
//
//   GraphBuilder b(NewOpRegistry());  // graph/ops/op_table.h
//   Output x = b.Placeholder("x", DType::kFloat);
//   Output y = b.Op("MatMul", "y", {x, b.Const("w", weights)}, {{"transpose_b", true}});
//   SLUICE_ASSIGN_OR_RETURN(Graph graph, b.Build());
//
// Type attrs ("T", "N", type lists) that follow from the inputs need not be given. Not thread-safe.
class GraphBuilder {
 public:
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;

  explicit GraphBuilder(std::shared_ptr<const OpRegistry> ops);
  explicit GraphBuilder(Graph graph);  // Goes on with an existing graph.

  // Adds a node and returns its output 0 (or, for an op without outputs, its control output). After an error: an
  // unset Output. An empty name gives the op's name, made unique.
  Output Op(absl::string_view op, absl::string_view name, std::vector<Output> inputs = {}, Attrs attrs = {});
  // The same, and other outputs are reached through `Nth`.
  static Output Nth(Output output, int32_t index) { return Output{output.node, index}; }
  static Output Control(Output output) { return Output{output.node, kControlIndex}; }

  Output Const(absl::string_view name, const Tensor& value);
  Output Placeholder(absl::string_view name, DType dtype, PartialShape shape = PartialShape());
  // Back edge of a loop: data input `i` of `merge` becomes `next`.
  void SetInput(Output node, int32_t i, Output source);
  void AddControl(Output node, Output predecessor);
  void SetDevice(Output node, absl::string_view device);
  // Device for nodes added from here on.
  void WithDevice(absl::string_view device) { device_ = std::string(device); }

  Graph& graph() { return graph_; }
  const absl::Status& status() const { return status_; }
  // The graph, checked for open inputs and cycles. The builder is empty afterwards.
  absl::StatusOr<Graph> Build();

 private:
  absl::Status InferAttrs(const OpSchema& schema, absl::Span<const Output> inputs, Attrs& attrs) const;

  Graph graph_;
  std::string device_;
  absl::Status status_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_BUILDER_H_

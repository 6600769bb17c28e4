#include "executor/plan/weight_constants.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "graph/ir/op_class.h"
#include "graph/value/tensor_content.h"
#include "kernels/memory/file_tensor.h"

namespace sluice {

bool WeightConstants::HandsOn(const Graph& graph, NodeId id) {
  const OpClass op_class = graph.op(id).op_class;
  return (op_class == OpClass::kForward || op_class == OpClass::kEnter) && graph.inputs(id).size() == 1 &&
         !IsRef(graph.output_type(id, 0));
}

Tensor WeightConstants::Find(NodeId id, absl::string_view encoded, Takes takes) {
  if (encoded.size() < kMinBytes) return Tensor();
  const absl::StatusOr<absl::string_view> proto = AttrView(encoded).AsTensorBytes();
  if (!proto.ok()) return Tensor();
  const absl::StatusOr<TensorContent> content = FindTensorContent(*proto);
  if (!content.ok() || content->bytes.size() < kMinBytes || content->shape.rank() != 2) return Tensor();
  if (std::min(content->shape.dim(0), content->shape.dim(1)) < kMinSide) return Tensor();
  const bool is_float = content->dtype == DType::kFloat || content->dtype == DType::kDouble;
  if (!is_float || content->dtype != graph_.output_type(id, 0)) return Tensor();
  std::shared_ptr<const void> owner = graph_.SourceOwner(content->bytes);
  if (owner == nullptr) return Tensor();
  if (is_read_.empty()) MarkRead(takes);
  if (is_read_[static_cast<size_t>(id.value())]) return Tensor();
  absl::StatusOr<Tensor> tensor = TensorInFile(content->dtype, content->shape, content->bytes, std::move(owner));
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

void WeightConstants::MarkRead(Takes takes) {
  is_read_.assign(static_cast<size_t>(graph_.id_limit()), false);
  for (int32_t i = 0; i < graph_.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph_.Contains(id)) continue;
    const absl::Span<const Output> inputs = graph_.inputs(id);
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].is_set()) continue;
      NodeId read = inputs[k].node;
      // Nothing else gives a constant, and to ask about an input takes a search for its kernel.
      if (graph_.op(read).op_class != OpClass::kConst && !HandsOn(graph_, read)) continue;
      if (is_read_[static_cast<size_t>(read.value())] || takes(id, static_cast<int32_t>(k))) continue;
      // Readers of a node that passes its input on are readers of that input. Each node is marked once; a ring of such
      // nodes ends where it is marked already.
      while (!is_read_[static_cast<size_t>(read.value())]) {
        is_read_[static_cast<size_t>(read.value())] = true;
        if (!HandsOn(graph_, read) || !graph_.inputs(read)[0].is_set()) break;
        read = graph_.inputs(read)[0].node;
      }
    }
  }
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_
#define SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

class Device;
class EdgeTable;

// What a kernel is made from: a node of a graph, its attrs and types, and the device. Lives during the construction
// only, and so may the graph: kernels with state are kept for later plans of the session. A kernel keeps copies of what
// it needs, and one that is shared between equal nodes none of their names.
class KernelConstruction {
 public:
  KernelConstruction(const Graph& graph, NodeId node, Device* device, EdgeTable* edges)
      : graph_(graph), node_(node), device_(device), edges_(edges) {}

  const Graph& graph() const { return graph_; }
  NodeId node() const { return node_; }
  absl::string_view name() const { return graph_.name(node_); }
  absl::string_view op() const { return graph_.op_name(node_); }
  // May be null: kernels that are made for a look at a graph.
  Device* device() const { return device_; }
  EdgeTable* edges() const { return edges_; }

  // References as RefType.
  int num_inputs() const { return static_cast<int>(graph_.signature(node_).inputs.size()); }
  int num_outputs() const { return static_cast<int>(graph_.signature(node_).outputs.size()); }
  // kInvalid where there is no such input or output: lists may be empty.
  DType input_type(int i) const { return i < num_inputs() ? graph_.input_type(node_, i) : DType::kInvalid; }
  DType output_type(int i) const { return i < num_outputs() ? graph_.output_type(node_, i) : DType::kInvalid; }

  // Attrs, the op's defaults included; errors name node, op and attr.
  bool HasAttr(absl::string_view name) const { return graph_.HasAttr(node_, name); }
  absl::StatusOr<int64_t> GetInt(absl::string_view name) const { return graph_.GetInt(node_, name); }
  absl::StatusOr<bool> GetBool(absl::string_view name) const { return graph_.GetBool(node_, name); }
  absl::StatusOr<float> GetFloat(absl::string_view name) const { return graph_.GetFloat(node_, name); }
  absl::StatusOr<std::string> GetString(absl::string_view name) const;
  absl::StatusOr<DType> GetType(absl::string_view name) const { return graph_.GetType(node_, name); }
  absl::StatusOr<PartialShape> GetShape(absl::string_view name) const { return graph_.GetShape(node_, name); }
  absl::StatusOr<std::vector<int64_t>> GetInts(absl::string_view name) const;
  absl::StatusOr<std::vector<DType>> GetTypes(absl::string_view name) const;
  // Large values share the memory of the file that the graph was imported from, where their bytes are aligned there.
  absl::StatusOr<Tensor> GetTensor(absl::string_view name) const;
  absl::StatusOr<std::vector<float>> GetFloats(absl::string_view name) const;
  absl::StatusOr<std::vector<std::string>> GetStrings(absl::string_view name) const;

 private:
  const Graph& graph_;
  const NodeId node_;
  Device* const device_;
  EdgeTable* const edges_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_CONSTRUCTION_H_

#ifndef SLUICE_GRAPH_PLACEMENT_KERNEL_CATALOG_H_
#define SLUICE_GRAPH_PLACEMENT_KERNEL_CATALOG_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"

namespace sluice {

// The facts about kernels that placement, partitioning and `sluice check` need; implemented in a layer above. Answers
// are about a node as it stands in a graph, since a kernel may depend on the node's types. Thread-safety: const methods
// from any thread.
class KernelCatalog {
 public:
  virtual ~KernelCatalog() = default;

  // Whether devices of `device_type` ("CPU", "GPU") can compute node `id`. Calls of library functions, control flow,
  // _Arg, _Retval and the Send and Recv family can be computed everywhere.
  virtual bool HasKernel(const Graph& graph, NodeId id, absl::string_view device_type) const = 0;

  // Whether the kernel takes input `i` (gives output `i`) in host memory although it runs on `device_type`.
  // REQUIRES: HasKernel. Not asked for "CPU", where all memory is the host's.
  virtual bool TakesInputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const = 0;
  virtual bool GivesOutputOnHost(const Graph& graph, NodeId id, int32_t i, absl::string_view device_type) const = 0;
};

// A catalog in which every device can compute every node, and no value is in host memory. For graphs that are inspected
// or partitioned but not run.
class AllowAllCatalog : public KernelCatalog {
 public:
  bool HasKernel(const Graph&, NodeId, absl::string_view) const override { return true; }
  bool TakesInputOnHost(const Graph&, NodeId, int32_t, absl::string_view) const override { return false; }
  bool GivesOutputOnHost(const Graph&, NodeId, int32_t, absl::string_view) const override { return false; }
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_KERNEL_CATALOG_H_

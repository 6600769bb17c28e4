#ifndef SLUICE_GRAPH_PLACEMENT_EDGE_CUTTER_H_
#define SLUICE_GRAPH_PLACEMENT_EDGE_CUTTER_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/placement/control_loops.h"
#include "graph/placement/kernel_catalog.h"
#include "graph/placement/partition.h"
#include "graph/placement/partition_devices.h"

namespace sluice {

// Replaces the edges of a graph that leave a partition, or change the kind of memory, by pairs of transfer nodes in the
// partitions' graphs. See Note [Partitioning].
// Borrows everything; lives for one PartitionGraph.
class EdgeCutter {
 public:
  // `graph` is whole; `parts` hold its nodes with all inputs within a part wired and the others open; node `id` is
  // number local_ids[id] there.
  EdgeCutter(const Graph& graph, const PartitionDevices& devices, const ControlLoops& loops,
             const PartitionOptions& options, const std::vector<NodeId>& local_ids, std::vector<Partition>& parts)
      : graph_(graph), devices_(devices), loops_(loops), options_(options), local_ids_(local_ids), parts_(parts) {}

  // Wires the inputs of one node that its partition does not have.
  absl::Status Connect(NodeId consumer);

 private:
  // An edge of the whole graph; `input` is kControlIndex for a control edge.
  struct Edge {
    Output source;
    NodeId consumer;
    int32_t input;

    bool is_control() const { return input == kControlIndex; }
  };
  // The receiving side of a pair, in the consumer's partition.
  struct Receiver {
    NodeId recv;
    NodeId value;  // What consumers use: the Recv, or for control edges the Identity behind it.
  };
  // Source node, slot, partition of the consumer, whether it takes the value in host memory.
  using ShareKey = std::tuple<int32_t, int32_t, int32_t, bool>;

  NodeId Local(NodeId id) const { return local_ids_[static_cast<size_t>(id.value())]; }
  Graph& GraphOf(NodeId id) { return parts_[static_cast<size_t>(devices_.of(id).location)].graph; }
  bool MustCut(const Edge& edge) const;
  bool LeavesReference(const Edge& edge) const;
  bool SendsFromHost(const Edge& edge) const;
  bool ReceivesOnHost(const Edge& edge) const;
  DType TypeOf(const Edge& edge) const;
  // The Merge of a control loop that a Recv for `edge` must wait for; invalid outside of loops.
  NodeId Trigger(const Edge& edge) const;
  // In a cut by task, for an edge between devices that is not cut yet: makes its consumer wait for the trigger, where
  // the second cut, which does not have the whole graph, finds it.
  absl::Status AddLaterTrigger(const Edge& edge);

  absl::StatusOr<Receiver> Cut(const Edge& edge);
  absl::StatusOr<NodeId> AddSend(const Edge& edge, const std::string& tensor_name);
  absl::StatusOr<Receiver> AddReceiver(const Edge& edge, const std::string& tensor_name);
  absl::StatusOr<NodeId> AddControlValue(const Edge& edge);
  absl::StatusOr<NodeId> AddNode(const Edge& edge, NodeId beside, NodeSpec spec);
  std::vector<std::pair<std::string, AttrValue>> PairAttrs(const Edge& edge, const std::string& tensor_name) const;

  const Graph& graph_;
  const PartitionDevices& devices_;
  const ControlLoops& loops_;
  const PartitionOptions& options_;
  const std::vector<NodeId>& local_ids_;
  std::vector<Partition>& parts_;
  const AllowAllCatalog allow_all_;
  HashMap<ShareKey, Receiver> shared_;
  int64_t num_cut_ = 0;
  int64_t num_names_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_EDGE_CUTTER_H_

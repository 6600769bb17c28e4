#include "graph/placement/copy_nodes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"
#include "graph/placement/control_loops.h"
#include "graph/placement/memory_types.h"

namespace sluice {
namespace {

constexpr char kFrom[] = "_from";
constexpr char kTo[] = "_to";
constexpr int32_t kHost = 0;  // The memory of the host, and of its CPUs.

// A memory other than the host's.
struct Memory {
  std::string device;  // Full name.
  std::string type;
};

// Adds the copies of one graph. Lives for one InsertCopies.
class CopyInserter {
 public:
  CopyInserter(Graph& graph, const KernelCatalog& catalog) : graph_(graph), catalog_(catalog) {}

  absl::Status Run() {
    SLUICE_RETURN_IF_ERROR(FindMemories());
    if (memories_.size() == 1) return absl::OkStatus();
    SLUICE_RETURN_IF_ERROR(ColocateControlFlow(graph_));
    MoveToMerges();
    SLUICE_RETURN_IF_ERROR(FindMemories());
    const int32_t limit = graph_.id_limit();  // Without the copies.
    for (int32_t i = 0; i < limit; ++i) {
      if (graph_.Contains(NodeId(i))) SLUICE_RETURN_IF_ERROR(Connect(NodeId(i)));
    }
    return absl::OkStatus();
  }

 private:
  using ShareKey = std::tuple<int32_t, int32_t, int32_t>;  // Node, output, memory of the copy.

  static bool IsLoopInput(OpClass op_class) {
    return op_class == OpClass::kEnter || op_class == OpClass::kNextIteration;
  }

  absl::Status FindMemories() {
    memories_.assign(1, Memory());
    memory_of_.assign(static_cast<size_t>(graph_.id_limit()), kHost);
    std::map<std::string, int32_t, std::less<>> known;
    for (const NodeId id : graph_.Nodes()) {
      const absl::string_view device = graph_.device(id);
      auto found = known.find(device);
      if (found == known.end()) {
        DeviceName name;
        if (!ParseDeviceName(device, &name) || !name.IsFull()) {
          return graph_.Locate(
              id, Error(ErrorCode::kPartition).Text("has no full device name; place the graph first").Found(device));
        }
        const bool is_host = name.type == "CPU";
        found = known.emplace(std::string(device), is_host ? kHost : static_cast<int32_t>(memories_.size())).first;
        if (!is_host) memories_.push_back(Memory{std::string(device), name.type});
      }
      memory_of_[Index(id)] = found->second;
    }
    return absl::OkStatus();
  }

  // Nodes that begin an iteration are placed where the Merge is.
  void MoveToMerges() {
    for (const NodeId id : graph_.Nodes()) {
      if (graph_.op(id).op_class != OpClass::kMerge) continue;
      for (const Output& input : graph_.inputs(id)) {
        if (input.is_set() && IsLoopInput(graph_.op(input.node).op_class)) {
          graph_.SetDevice(input.node, graph_.device(id));
        }
      }
    }
  }

  // Where an output or an input stands: a memory.
  int32_t MemoryOfOutput(const Output& output) const {
    const int32_t memory = memory_of_[Index(output.node)];
    if (memory == kHost) return kHost;
    const std::string& type = memories_[static_cast<size_t>(memory)].type;
    return OutputOnHost(graph_, catalog_, output.node, output.index, type) ? kHost : memory;
  }
  int32_t MemoryOfInput(NodeId id, int32_t i) const {
    const int32_t memory = memory_of_[Index(id)];
    if (memory == kHost) return kHost;
    const std::string& type = memories_[static_cast<size_t>(memory)].type;
    return InputOnHost(graph_, catalog_, id, i, type) ? kHost : memory;
  }

  absl::Status Connect(NodeId consumer) {
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.inputs(consumer).size()); ++i) {
      const Output source = graph_.inputs(consumer)[static_cast<size_t>(i)];
      if (!source.is_set() || Index(source.node) >= memory_of_.size()) continue;
      const int32_t from = MemoryOfOutput(source);
      const int32_t to = MemoryOfInput(consumer, i);
      if (from == to) continue;
      const bool is_loop =
          graph_.op(consumer).op_class == OpClass::kMerge && IsLoopInput(graph_.op(source.node).op_class);
      if (is_loop || IsRef(graph_.input_type(consumer, i))) {
        return graph_.Locate(consumer, Error(ErrorCode::kPartition)
                                           .Input(i, graph_.OutputName(source))
                                           .Text(is_loop ? "begins iterations on another device"
                                                         : "is a reference, which cannot cross devices")
                                           .Found(NameOf(from))
                                           .Expected(NameOf(to)));
      }
      SLUICE_ASSIGN_OR_RETURN(const NodeId copy, CopyOf(source, from, to));
      SLUICE_RETURN_IF_ERROR(graph_.SetInput(consumer, i, Output{copy, 0}));
    }
    return absl::OkStatus();
  }

  std::string NameOf(int32_t memory) const {
    return memory == kHost ? "the host's memory" : memories_[static_cast<size_t>(memory)].device;
  }

  absl::StatusOr<NodeId> CopyOf(const Output& source, int32_t from, int32_t to) {
    const ShareKey key(source.node.value(), source.index, to);
    const auto found = copies_.find(key);
    if (found != copies_.end()) return found->second;
    const std::string name = graph_.UniqueName(absl::StrCat(graph_.name(source.node), "/_copy", copies_.size()));
    NodeSpec spec;
    spec.name = name;
    spec.op = kCopyOp;
    spec.inputs = {source};
    spec.device = memories_[static_cast<size_t>(to == kHost ? from : to)].device;
    spec.attrs = {{"T", BaseType(graph_.output_type(source.node, source.index))},
                  {kFrom, memories_[static_cast<size_t>(from)].device},
                  {kTo, memories_[static_cast<size_t>(to)].device},
                  MadeForAttr({"transfer", UserOutputName(graph_, source), 0})};
    SLUICE_ASSIGN_OR_RETURN(const NodeId copy, graph_.AddNode(spec));
    copies_.emplace(key, copy);
    return copy;
  }

  static size_t Index(NodeId id) { return static_cast<size_t>(id.value()); }

  Graph& graph_;
  const KernelCatalog& catalog_;
  std::vector<Memory> memories_;    // The host's first.
  std::vector<int32_t> memory_of_;  // Of the device, by node id.
  std::map<ShareKey, NodeId> copies_;
};

}  // namespace

absl::StatusOr<CopyEnds> CopyEndsOf(const Graph& graph, NodeId id) {
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view from, graph.GetString(id, kFrom));
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view to, graph.GetString(id, kTo));
  return CopyEnds{std::string(from), std::string(to)};
}

absl::Status InsertCopies(Graph& graph, const KernelCatalog& catalog) { return CopyInserter(graph, catalog).Run(); }

}  // namespace sluice

#include "tests/graph/placement/partition_test_util.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/topo_order.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

bool IsSend(const Graph& graph, NodeId id) { return graph.Is(id, "_Send") || graph.Is(id, "_HostSend"); }
bool IsRecv(const Graph& graph, NodeId id) { return graph.Is(id, "_Recv") || graph.Is(id, "_HostRecv"); }

// Follows pairs of transfer nodes back to where values come from. Lives for one check.
class PairFollower {
 public:
  PairFollower(const Graph& graph, const std::vector<Partition>& parts) : graph_(graph), parts_(parts) {}

  std::string Check() {
    for (const Partition& part : parts_) FindSends(part);
    for (const Partition& part : parts_) CheckPart(part);
    for (const auto& send : sends_) {
      if (send.second.receivers != 1) Fail(absl::StrCat(send.first, " has ", send.second.receivers, " receivers"));
    }
    for (NodeId id : graph_.Nodes()) CheckNode(id);
    return problem_;
  }

 private:
  struct Send {
    const Graph* graph;
    NodeId id;
    int receivers = 0;
  };

  void Fail(const std::string& text) {
    if (problem_.empty()) problem_ = text;
  }

  // Whether node `id` of a part is one of the graph's own.
  bool WasThere(const Graph& part, NodeId id) const { return graph_.Contains(graph_.Find(part.name(id))); }

  bool AddedLoop(const Graph& part, NodeId id) const {
    return absl::StartsWith(part.name(id), "_cloop") && !WasThere(part, id);
  }

  void FindSends(const Partition& part) {
    for (NodeId id : part.graph.Nodes()) {
      part_of_.emplace(std::string(part.graph.name(id)), &part.graph);
      if (!IsSend(part.graph, id) || WasThere(part.graph, id)) continue;
      const std::string name(*part.graph.GetString(id, "tensor_name"));
      if (!sends_.emplace(name, Send{&part.graph, id}).second) Fail(absl::StrCat(name, " is sent twice"));
      if (*part.graph.GetString(id, "send_device") != part.graph.device(id)) Fail("send_device is wrong");
    }
  }

  void CheckPart(const Partition& part) {
    for (NodeId id : part.graph.Nodes()) {
      for (const Output& input : part.graph.all_inputs(id)) {
        if (!input.is_set()) Fail(absl::StrCat(part.graph.name(id), " has an open input"));
      }
      if (IsRecv(part.graph, id) && !WasThere(part.graph, id)) CheckRecv(part.graph, id);
    }
    const absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(part.graph, LoadLimits());
    if (!info.ok()) return Fail(info.status().ToString());
    CheckFrames(part.graph, *info);
  }

  void CheckRecv(const Graph& graph, NodeId id) {
    const auto send = sends_.find(std::string(*graph.GetString(id, "tensor_name")));
    if (send == sends_.end()) return Fail(absl::StrCat(graph.name(id), " has no sender"));
    ++send->second.receivers;
    if (*graph.GetString(id, "recv_device") != graph.device(id)) Fail("recv_device is wrong");
    for (const char* attr : {"send_device", "recv_device"}) {
      const Graph& sender = *send->second.graph;
      if (*graph.GetString(id, attr) != *sender.GetString(send->second.id, attr)) Fail("the ends of a pair differ");
    }
    if (*graph.GetType(id, "tensor_type") != *send->second.graph->GetType(send->second.id, "T")) Fail("types differ");
  }

  // Every node of the original must be in a frame of the same name.
  void CheckFrames(const Graph& part, const ControlFlowInfo& info) {
    const absl::StatusOr<ControlFlowInfo> whole = BuildControlFlowInfo(graph_, LoadLimits());
    if (!whole.ok()) return Fail(whole.status().ToString());
    for (NodeId id : part.Nodes()) {
      const NodeId old = graph_.Find(part.name(id));
      if (!graph_.Contains(old)) continue;
      const std::string& now = info.frames[static_cast<size_t>(info.frame(id))].name;
      const std::string& before = whole->frames[static_cast<size_t>(whole->frame(old))].name;
      if (now != before) Fail(absl::StrCat(part.name(id), " was in frame '", before, "', is in '", now, "'"));
    }
  }

  // The name of the output that `input` of a part stands for, through any pair.
  std::string Origin(const Graph& part, const Output& input) {
    if (!IsRecv(part, input.node) || WasThere(part, input.node)) return part.OutputName(input);
    const Send& send = sends_.find(std::string(*part.GetString(input.node, "tensor_name")))->second;
    return Origin(*send.graph, send.graph->inputs(send.id)[0]);
  }

  // The same for a control input: Identity <- Recv <- Send <- Const <- the source.
  std::string ControlOrigin(const Graph& part, NodeId id) {
    if (WasThere(part, id)) return absl::StrCat("^", part.name(id));
    if (!part.Is(id, "Identity") || part.inputs(id).empty()) return absl::StrCat("added ^", part.name(id));
    const NodeId recv = part.inputs(id)[0].node;
    const Send& send = sends_.find(std::string(*part.GetString(recv, "tensor_name")))->second;
    const NodeId empty = send.graph->inputs(send.id)[0].node;
    return ControlOrigin(*send.graph, send.graph->controls(empty)[0].node);
  }

  void CheckNode(NodeId id) {
    const auto found = part_of_.find(std::string(graph_.name(id)));
    if (found == part_of_.end()) return Fail(absl::StrCat(graph_.name(id), " is gone"));
    const Graph& part = *found->second;
    const NodeId local = part.Find(graph_.name(id));
    for (size_t i = 0; i < graph_.inputs(id).size(); ++i) {
      const std::string now = Origin(part, part.inputs(local)[i]);
      const std::string before = graph_.OutputName(graph_.inputs(id)[i]);
      if (now != before) Fail(absl::StrCat(graph_.name(id), " input ", i, " was ", before, ", is ", now));
    }
    std::set<std::string> before, now;
    for (const Output& control : graph_.controls(id)) before.insert(graph_.OutputName(control));
    for (const Output& control : part.controls(local)) {
      if (!AddedLoop(part, control.node)) now.insert(ControlOrigin(part, control.node));
    }
    if (now != before) Fail(absl::StrCat("control inputs of ", graph_.name(id), " changed"));
  }

  const Graph& graph_;
  const std::vector<Partition>& parts_;
  std::map<std::string, Send> sends_;
  std::map<std::string, const Graph*> part_of_;
  std::string problem_;
};

}  // namespace

std::string TestDevice(const std::string& local, int task) {
  return absl::StrCat("/job:a/replica:0/task:", task, "/device:", local);
}

void PlaceByFirstLetter(Graph& graph) {
  for (NodeId id : graph.Nodes()) graph.SetDevice(id, TestDevice(absl::StrCat("CPU:", graph.name(id)[0] - 'a')));
}

const Graph& PartOf(const std::vector<Partition>& parts, const std::string& local) {
  static const Graph& none = *std::make_unique<Graph>(NewOpRegistry()).release();
  for (const Partition& part : parts) {
    if (part.location == TestDevice(local)) return part.graph;
  }
  return none;
}

std::string CheckPartitions(const Graph& graph, const std::vector<Partition>& parts) {
  return PairFollower(graph, parts).Check();
}

}  // namespace sluice

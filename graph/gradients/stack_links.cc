#include "graph/gradients/stack_links.h"

#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/consumers.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

// Follows the handle of one stack.
class HandleWalk {
 public:
  HandleWalk(const Graph& graph, const Consumers& consumers) : graph_(graph), consumers_(consumers) {}

  // Whether the stack has one push and one pop.
  bool Follow(NodeId stack, StackLink* link) {
    num_pushes_ = num_pops_ = 0;
    is_lost_ = false;
    queue_.assign(1, Output{stack, 0});
    while (!queue_.empty() && !is_lost_) {
      const Output handle = queue_.back();
      queue_.pop_back();
      for (const Use& use : consumers_.of(handle.node)) {
        if (use.slot == handle.index) Visit(use, link);
      }
    }
    return !is_lost_ && num_pushes_ == 1 && num_pops_ == 1;
  }

 private:
  void Visit(const Use& use, StackLink* link) {
    switch (graph_.op(use.node).op_class) {
      case OpClass::kEnter:
        queue_.push_back({use.node, 0});
        return;
      case OpClass::kForward:
        queue_.push_back({use.node, use.input});
        return;
      case OpClass::kSwitch:
      case OpClass::kSwitchN:
        for (int32_t port = 0; port < graph_.num_outputs(use.node); ++port) queue_.push_back({use.node, port});
        return;
      default:
        break;
    }
    const absl::string_view op = graph_.op_name(use.node);
    if (op == "StackPushV2" || op == "StackPush") {
      link->push = use.node;
      ++num_pushes_;
    } else if (StackLinks::IsPop(graph_, use.node)) {
      link->pop = use.node;
      ++num_pops_;
    } else if (op != "StackCloseV2" && op != "StackClose") {
      is_lost_ = true;
    }
  }

  const Graph& graph_;
  const Consumers& consumers_;
  std::vector<Output> queue_;
  int num_pushes_ = 0, num_pops_ = 0;
  bool is_lost_ = false;
};

}  // namespace

StackLinks::StackLinks(const Graph& graph) {
  const Consumers consumers(graph);
  HandleWalk walk(graph, consumers);
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    const NodeId id(i);
    if (!graph.Contains(id) || (!graph.Is(id, "StackV2") && !graph.Is(id, "Stack"))) continue;
    StackLink link;
    if (walk.Follow(id, &link)) push_of_.try_emplace(link.pop, link.push);
  }
}

bool StackLinks::IsPop(const Graph& graph, NodeId id) { return graph.Is(id, "StackPopV2") || graph.Is(id, "StackPop"); }

NodeId StackLinks::PushOf(NodeId pop) const {
  const auto found = push_of_.find(pop);
  return found == push_of_.end() ? NodeId() : found->second;
}

}  // namespace sluice

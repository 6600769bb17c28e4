#ifndef SLUICE_TESTS_TESTING_TOKEN_EVALUATOR_H_
#define SLUICE_TESTS_TESTING_TOKEN_EVALUATOR_H_

// The rules by which dataflow graphs run (Note [Tokens]), spelled out slowly: what all drivers are compared with.
//
// Note [Tokens]
// A node runs once in each iteration of each instance of its frame, when a token has come on every edge into it. A
// token is a value, a reference, or dead (no value). Any dead token makes the whole node dead: it does not run and
// sends dead tokens on. Exceptions: a Merge runs at the first value, or is dead when all its data tokens are (or an
// Enter's is); its control edges count but never kill. A ControlTrigger always runs. An Enter sends into iteration 0 of
// the frame instance that is its own, a constant one into all iterations. A NextIteration sends into the next
// iteration, nothing if it is dead. An Exit sends into the iteration around; dead Exits of the last iteration send when
// nothing else happens in the frame any more.

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "executor/plan/kernel_set.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"
#include "graph/value/ref_cell.h"
#include "kernels/run_context.h"

namespace sluice {

// One run of `graph` on the calling thread: a queue of what is ready and a table per iteration. Control flow is done
// here, everything else by kernels, which never get an input to overwrite. Borrows everything. Not for Send and Recv.
class TokenEvaluator {
 public:
  TokenEvaluator(const Graph& graph, const KernelSet& kernels, const RunContext& run, std::vector<Tensor> args)
      : graph_(graph), kernels_(kernels), run_(run), args_(std::move(args)) {}

  // To the end. RESOURCE_EXHAUSTED after `max_nodes` nodes.
  absl::Status Run(int64_t max_nodes = 1'000'000);

  // What the _Retvals got, by index; without a value where that was dead.
  const std::vector<Tensor>& results() const { return results_; }
  // How often the kernel of a node was called (control flow and _Arg, _Retval left out).
  int64_t times_run(NodeId id) const {
    const auto found = times_run_.find(id);
    return found != times_run_.end() ? found->second : 0;
  }
  int64_t nodes_seen() const { return nodes_seen_; }
  // Whether some Merge got a second value, or some edge a second token: then the answer depends on the order. Or some
  // Exit was neither live nor dead in the last iteration, which had nothing for it: TensorFlow notifies no reader of
  // it, or all, depending on when an earlier iteration ended.
  bool is_ambiguous() const { return is_ambiguous_; }
  // Whether at the end something still waited that the end of a frame would not bring.
  bool is_stuck() const { return is_stuck_; }

 private:
  struct Token {
    Tensor value;            // Without a value: dead, unless `ref`.
    RefCell* ref = nullptr;  // Of the device or the step.

    bool is_dead() const { return !value.has_value() && ref == nullptr; }
  };
  struct Edge {
    NodeId to;
    int32_t input;   // -1: control.
    int32_t output;  // -1: control.
  };
  // The inputs that have arrived at one node in one iteration.
  struct Place {
    std::map<int32_t, Token> data;
    std::set<int32_t> seen;  // Inputs that a token came to, taken by the node or not.
    int32_t controls = 0;
    int32_t num_dead_data = 0;
    bool any_dead = false;
    bool dead_enter = false;
    bool is_started = false;
  };
  using Iteration = std::map<NodeId, Place>;
  struct Frame {
    int32_t index = 0;  // In the static frames.
    Frame* parent = nullptr;
    size_t parent_iteration = 0;
    size_t pending_enters = 0;
    std::deque<Iteration> iterations;
    std::vector<std::pair<NodeId, Token>> invariants;
    std::vector<NodeId> dead_exits;  // Of the last iteration.
    std::set<NodeId> live_exits;
    bool is_finished = false;
  };
  struct Item {
    Frame* frame;
    size_t iteration;
    NodeId node;
  };

  void FindEdges();
  Frame* ChildFrame(NodeId enter, Frame* parent, size_t iteration);
  void AddIteration(Frame* frame);
  void Deliver(Frame* frame, size_t iteration, const Edge& edge, const Token& token);
  // To all edges out of `id`, which gave `outputs`; the control edges get a dead token when `is_dead`.
  void DeliverAll(Frame* frame, size_t iteration, NodeId id, const std::vector<Token>& outputs, bool is_dead);
  bool IsReady(NodeId id, const Place& place) const;
  bool IsDead(NodeId id, const Place& place) const;
  absl::Status RunItem(const Item& item);
  void SendOn(const Item& item, const std::vector<Token>& outputs, bool is_dead);
  absl::Status RunNode(NodeId id, Place& place, std::vector<Token>* outputs);
  absl::Status RunMerge(NodeId id, Place& place, std::vector<Token>* outputs);
  absl::Status RunSwitch(NodeId id, Place& place, std::vector<Token>* outputs);
  absl::Status RunKernel(NodeId id, Place& place, std::vector<Token>* outputs);
  // The token as the node's input wants it: references are read where a value is wanted.
  absl::StatusOr<Token> Input(NodeId id, Place& place, int32_t i) const;
  // Ends one frame of those in which nothing happens any more. False: there is none.
  bool FinishAFrame();
  bool IsEnter(NodeId id) const { return graph_.Is(id, "Enter") || graph_.Is(id, "RefEnter"); }
  bool IsMerge(NodeId id) const { return graph_.Is(id, "Merge") || graph_.Is(id, "RefMerge"); }

  const Graph& graph_;
  const KernelSet& kernels_;
  const RunContext& run_;
  std::vector<Tensor> args_;
  ControlFlowInfo info_;
  std::map<NodeId, std::vector<Edge>> edges_;
  std::list<Frame> frames_;  // The first one is the root.
  std::deque<Item> ready_;
  std::vector<Tensor> results_;
  std::map<NodeId, int64_t> times_run_;
  int64_t nodes_seen_ = 0;
  bool is_ambiguous_ = false;
  bool is_stuck_ = false;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_TOKEN_EVALUATOR_H_

#ifndef SLUICE_GRAPH_GRADIENTS_CONDITIONS_H_
#define SLUICE_GRAPH_GRADIENTS_CONDITIONS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/big_vector.h"
#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"

namespace sluice {

// Whether the node only passes its inputs on, in every run.
bool HandsOn(const Graph& graph, NodeId id);

// Under which conditions values are live.
//
// Note [Conditions]
// A Switch makes the value at one of its ports dead, and all that is computed from it. So each output has a set of
// conditions (predicate, port, number of ports) that hold whenever it is live. An op has those of all its inputs, data
// and control; a port of a Switch or _SwitchN adds one; a Merge has those that all its data inputs share; an Exit drops
// that of its own loop, whose LoopCond is a predicate like others. A gradient with more conditions than its value may
// be dead while the value is live: then zeros replace it (see MakeLive in gradient_sum.h).
// The number of ports is part of a condition, as an index beyond the last port chooses the last one: index 2 is port 1
// of two and port 2 of three. A gate of one port adds no condition.
//
// A predicate that only passes another one on counts as that one. Equal sets share a number. Nodes added later are
// processed on demand, in the order of their ids. Borrows the graph. Not thread-safe.
class Conditions {
 public:
  struct Condition {
    Output predicate;  // A bool, or the index of a Case.
    int32_t port = 0;
    int32_t num_ports = 2;

    friend bool operator==(const Condition& a, const Condition& b) {
      return a.predicate == b.predicate && a.port == b.port && a.num_ports == b.num_ports;
    }
    friend bool operator<(const Condition& a, const Condition& b) {
      if (a.predicate.node != b.predicate.node) return a.predicate.node < b.predicate.node;
      if (a.predicate.index != b.predicate.index) return a.predicate.index < b.predicate.index;
      if (a.port != b.port) return a.port < b.port;
      return a.num_ports < b.num_ports;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Condition& c) {
      return H::combine(std::move(h), c.predicate, c.port, c.num_ports);
    }
  };
  using List = std::vector<Condition>;  // Sorted.

  // kCycle if the graph has one.
  explicit Conditions(const Graph& graph) : graph_(graph) {}
  absl::Status Init();

  // Sets the conditions of an added node that do not follow from its inputs.
  void State(NodeId id, List list);
  // The conditions of an output.
  const List& Of(const Output& output) { return *lists_[static_cast<size_t>(SetOf(output))]; }
  // Returns the conditions of `a` that `b` lacks, those that others depend on first.
  List Beyond(const Output& a, const List& b);
  // Orders conditions so that each comes after those of its predicate.
  void SortByDepth(List* list);
  // An error if the sets have grown beyond the limits below.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr size_t kMaxConditions = 1024;         // Nested conditionals.
  static constexpr size_t kMaxListed = size_t{1} << 24;  // Conditions of all sets together.

  int32_t SetOf(const Output& output);
  int32_t Intern(List list);
  int32_t Union(int32_t a, int32_t b);
  int32_t Common(int32_t a, int32_t b);
  void Take(NodeId id);
  Output PredicateOf(NodeId gate) const;
  int32_t OfMerge(NodeId id);
  int32_t OfExit(NodeId id);

  const Graph& graph_;
  BigVector<int32_t> sets_;  // By node id: of its outputs, a Switch's last condition left out.
  HashMap<List, int32_t> numbers_;
  std::vector<const List*> lists_;
  std::vector<std::unique_ptr<List>> owned_;
  size_t num_listed_ = 0;  // Conditions in all lists.
  HashMap<std::pair<int32_t, int32_t>, int32_t> unions_;
  mutable HashMap<Output, Output> handed_on_;  // By output that is only passed on: its source.
  absl::Status status_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_CONDITIONS_H_

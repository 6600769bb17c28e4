#ifndef SLUICE_EXECUTOR_TAPE_PASS_PLAN_H_
#define SLUICE_EXECUTOR_TAPE_PASS_PLAN_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/tape_node.h"
#include "graph/base/mutex.h"

namespace sluice {

// Of one tape: one pass at a time looks at the record and numbers its nodes.
struct Discovery {
  Mutex mu;
  uint64_t last_pass ABSL_GUARDED_BY(mu) = 0;
  std::atomic<int64_t> nodes_seen{0};  // By the last pass. Relaxed: a report.
};

// What one backward pass runs: the nodes between roots and targets, in the order in which they run. Made under the lock
// that makes the record's marks this pass's own; a plain value afterwards.
//
// In terms of PyTorch's engine it is what compute_dependencies and init_to_execute find: `dependencies`, exec_info
// (`runs`, and edges that lead nowhere), captures (`is_target`).
class PassPlan {
 public:
  struct Item {
    CountedPtr<TapeNode> node;
    bool runs = false;          // It is executed; else only what flows to it is captured.
    bool is_target = false;     // Some output of it is.
    bool is_only_root = false;  // The hooks of its outputs are called even if it does not run.
    int32_t dependencies = 0;   // Edges that lead to it.
    uint32_t first_buffer = 0;
    uint32_t first_edge = 0;
  };
  struct Request {
    absl::Span<const TapeEdge> roots;
    // Unless for all leaves: what gradients are asked for.
    bool has_targets = false;
    absl::Span<const TapeEdge> targets;
    bool runs_targets = true;  // Whether targets run: leaves accumulate. Else what flows to them is captured only.
  };

  // Looks at no node that was recorded before the first target, but for the root of a pass that has one only.
  PassPlan(Discovery& discovery, const Request& request);

  // Large sequence numbers first: a node comes behind all that flows to it.
  const std::vector<Item>& items() const { return items_; }
  size_t num_buffers() const { return num_buffers_; }
  // The item that edge `e` of item `i` leads to, or -1: nobody wants that gradient.
  int32_t Target(size_t i, size_t e) const { return edge_targets_[items_[i].first_edge + e]; }
  // By root and by target; -1: outside of the plan.
  int32_t PlaceOfRoot(size_t r) const { return root_places_[r]; }
  absl::Span<const int32_t> root_places() const { return root_places_; }
  int32_t PlaceOfTarget(size_t t) const { return target_places_[t]; }

 private:
  void Collect(const Request& request, uint64_t pass);
  void Sort();
  void MarkNeeded(const Request& request);
  void ResolveEdges(uint64_t pass);

  std::vector<Item> items_;
  std::vector<int32_t> edge_targets_, root_places_, target_places_;
  size_t num_buffers_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_PASS_PLAN_H_

#ifndef SLUICE_EXECUTOR_TAPE_PASS_PLAN_H_
#define SLUICE_EXECUTOR_TAPE_PASS_PLAN_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/tape_node.h"
#include "graph/base/mutex.h"

namespace sluice {

// One per tape: one pass at a time searches the record and numbers its nodes.
struct Discovery {
  Mutex mu;
  uint64_t last_pass ABSL_GUARDED_BY(mu) = 0;
  std::atomic<int64_t> nodes_seen{0};  // By the last pass, for reports; hence relaxed.
};

// The nodes that one backward pass runs, between roots and targets, in their order. Made under the Discovery's lock, as
// it marks the nodes of the record; a plain value afterwards.
//
// In PyTorch's engine, compute_dependencies and init_to_execute find the same: `dependencies`, exec_info (`runs`, and
// edges without a target), captures (`is_target`).
class PassPlan {
 public:
  struct Item {
    CountedPtr<TapeNode> node;
    bool runs = false;          // Else its gradients are only captured.
    bool is_target = false;     // Some output of it is a target.
    bool is_only_root = false;  // The hooks of its outputs are called even if it does not run.
    int32_t dependencies = 0;   // Edges that lead to it.
    uint32_t first_buffer = 0;
    uint32_t first_edge = 0;
  };
  struct Request {
    absl::Span<const TapeEdge> roots;
    // False: the gradients of all leaves are wanted; else those of `targets`.
    bool has_targets = false;
    absl::Span<const TapeEdge> targets;
    bool runs_targets = true;  // Targets that are leaves accumulate; else gradients of targets are only captured.
  };

  // Does not visit nodes recorded before the first target, but for the only root of a pass.
  PassPlan(Discovery& discovery, const Request& request);

  // In descending order of sequence numbers: a node comes after all nodes whose gradients flow to it.
  const std::vector<Item>& items() const { return items_; }
  size_t num_buffers() const { return num_buffers_; }
  // The item that edge `e` of item `i` leads to; -1 if that gradient is not needed.
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

#ifndef SLUICE_EXECUTOR_TAPE_PASS_STRUCTURE_H_
#define SLUICE_EXECUTOR_TAPE_PASS_STRUCTURE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/gradient_template.h"
#include "executor/tape/pass_plan.h"

namespace sluice {

// What a pass computes, without the values: the gradients of its nodes and how they are connected. Passes of one
// structure share a graph (BackwardGraph). Only for passes of nothing but ops and leaves.
//
// It holds all that a graph is made from: the GradientTemplate of each node (with it the op, its attrs and types, and
// the answers to its row's questions); which of its gradients are wanted, and where they flow; the places and types of
// seeds; the shapes of zeros for missing gradients; the captures. It keeps the templates alive, so equal addresses mean
// equal templates.
class PassStructure {
 public:
  // By item of the plan.
  struct Item {
    std::shared_ptr<const GradientTemplate> gradient;  // Null: a leaf, or no gradient flows to it.
    SlotSet wants;
    bool gets_gradient = false;  // A gradient flows to it.
  };
  struct Captured {
    int32_t place = -1;
    uint32_t slot = 0;
  };

  // `seeded`: by buffer of the plan, whether a seed comes in there. Errors as of GradientOfNode.
  static absl::StatusOr<PassStructure> Make(EagerOps& ops, const PassPlan& plan, const std::vector<bool>& seeded,
                                            absl::Span<const Captured> captured);

  const Item& item(size_t i) const { return items_[i]; }
  size_t num_items() const { return items_.size(); }
  // Returns its size in memory, without the templates.
  size_t bytes() const { return items_.capacity() * sizeof(Item) + words_.capacity() * sizeof(uint64_t); }
  size_t hash() const { return hash_; }
  friend bool operator==(const PassStructure& a, const PassStructure& b) {
    return a.hash_ == b.hash_ && a.words_ == b.words_;
  }

 private:
  std::vector<Item> items_;
  std::vector<uint64_t> words_;
  size_t hash_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_PASS_STRUCTURE_H_

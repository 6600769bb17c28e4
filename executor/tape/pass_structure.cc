#include "executor/tape/pass_structure.h"

#include <utility>

#include "absl/hash/hash.h"
#include "executor/tape/saved_values.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Encodes where a gradient flows: one word for each place and slot.
uint64_t SpotWord(int32_t place, uint32_t slot) { return uint64_t{static_cast<uint32_t>(place)} << 32 | slot; }

// Encodes the zeros for output `slot`, which has no gradient, unlike all other words that may come here.
void AddShape(uint32_t slot, const Shape& shape, std::vector<uint64_t>* words) {
  words->push_back(uint64_t{1} << 60 | uint64_t{static_cast<uint32_t>(shape.rank())} << 32 | slot);
  for (const int64_t dim : shape.dims()) words->push_back(static_cast<uint64_t>(dim));
}

}  // namespace

absl::StatusOr<PassStructure> PassStructure::Make(EagerOps& ops, const PassPlan& plan, const std::vector<bool>& seeded,
                                                  absl::Span<const Captured> captured) {
  PassStructure made;
  std::vector<bool> flows = seeded;
  made.items_.resize(plan.items().size());
  // Given these two counts, the words can be parsed in one way only: different structures have different words.
  made.words_ = {plan.items().size(), captured.size()};
  for (size_t i = 0; i < plan.items().size(); ++i) {
    const PassPlan::Item& in_plan = plan.items()[i];
    const TapeNode& node = *in_plan.node;
    Item& item = made.items_[i];
    SlotSet dys;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!flows[in_plan.first_buffer + slot]) continue;
      dys.Add(slot);
      item.gets_gradient = true;
      if (!seeded[in_plan.first_buffer + slot]) continue;
      const auto type = static_cast<uint64_t>(node.outputs[slot].dtype);
      made.words_.push_back(uint64_t{1} << 62 | type << 32 | slot);
    }
    const bool is_op = node.kind == TapeNode::Kind::kOp;
    made.words_.push_back((in_plan.runs ? 1 : 0) | (in_plan.is_target ? 2 : 0) | (is_op ? 4 : 0) |
                          (item.gets_gradient ? 8 : 0));
    if (!in_plan.runs || !is_op || !item.gets_gradient) continue;
    SLUICE_ASSIGN_OR_RETURN(item.gradient, GradientOfNode(ops, node, dys));
    made.words_.push_back(reinterpret_cast<uintptr_t>(item.gradient.get()));
    // Slots, ended by a word that cannot be one.
    for (const uint32_t slot : item.gradient->dys()) {
      if (!flows[in_plan.first_buffer + slot]) AddShape(slot, node.outputs[slot].shape, &made.words_);
    }
    made.words_.push_back(uint64_t{1} << 61);
    for (size_t e = 0; e < node.edges.size(); ++e) {
      const int32_t target = plan.Target(i, e);
      made.words_.push_back(SpotWord(target, target < 0 ? 0 : node.edges[e].slot));
      if (target >= 0) item.wants.Add(e);
    }
    // Inputs from 63 on share a bit, so one may be wanted for another's sake.
    for (size_t e = 0; e < node.edges.size(); ++e) {
      const int32_t target = plan.Target(i, e);
      if (target < 0 || !item.gradient->has_dx(e)) continue;
      flows[plan.items()[static_cast<size_t>(target)].first_buffer + node.edges[e].slot] = true;
    }
  }
  for (const Captured& spot : captured) made.words_.push_back(SpotWord(spot.place, spot.slot));
  made.hash_ = absl::Hash<std::vector<uint64_t>>()(made.words_);
  return made;
}

}  // namespace sluice

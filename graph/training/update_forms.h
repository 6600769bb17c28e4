#ifndef SLUICE_GRAPH_TRAINING_UPDATE_FORMS_H_
#define SLUICE_GRAPH_TRAINING_UPDATE_FORMS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/training/train_options.h"

namespace sluice {

// The arguments of update ops besides the variable and the slots.
enum class UpdateArg : uint8_t {
  kGradient,
  kIndices,  // Of sparse gradients.
  kLearningRate,
  kMomentum,
  kRho,
  kDecay,
  kEpsilon,
  kBeta1,
  kBeta2,
  kBeta1Power,
  kBeta2Power,
  kL1,
  kL2,
  kL2Shrinkage,
  kLearningRatePower,
};

// The first value of a slot.
enum class SlotStart : uint8_t { kZeros, kOnes, kInitialAccumulator };

// How an optimizer's updates are written as nodes.
struct UpdateForm {
  absl::string_view op;         // "Adam": of ApplyAdam, ResourceApplyAdam, SparseApplyAdam and ResourceSparseApplyAdam.
  absl::string_view slot_name;  // The names of slots: "w/Adam", "w/Adam_1", in this order.
  absl::Span<const SlotStart> slots;
  absl::Span<const int> slot_order;  // The op's order of slots.
  absl::Span<const UpdateArg> dense;
  absl::Span<const UpdateArg> sparse;  // Empty: the op has no sparse form.
};

const UpdateForm& FormOf(const Optimizer& optimizer);

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_UPDATE_FORMS_H_

// How a backward pass is run as a graph.

#include <algorithm>
#include <utility>

#include "executor/tape/backward_graph.h"
#include "executor/tape/backward_pass.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/saved_values.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Beyond these a pass is likely to be one of a kind, and its graph large.
constexpr size_t kMaxItems = 20000;

}  // namespace

bool BackwardPass::IsPlain() const {
  if (options_.creates_graph || ChecksNan() || plan_.items().size() > kMaxItems) return false;
  return std::all_of(plan_.items().begin(), plan_.items().end(), [](const PassPlan::Item& item) {
    return item.node->kind != TapeNode::Kind::kCustom && item.node->origin == nullptr &&
           !item.node->has_hooks.load(std::memory_order_relaxed);
  });
}

absl::Status BackwardPass::RunAsGraph(bool* was_run) {
  std::vector<bool> seeded;
  for (const TapeValue& buffer : buffers_) seeded.push_back(buffer.is_set());
  std::vector<PassStructure::Captured> captured;
  for (const CaptureSpot& spot : captures_) captured.push_back({spot.place, spot.slot});
  // Where some node has no gradient, or a saved value is no longer what it was, node after node runs and tells of it:
  // so what comes before the error stays, and what comes behind it keeps its values.
  const absl::StatusOr<PassStructure> structure = PassStructure::Make(core_.ops(), plan_, seeded, captured);
  if (!structure.ok() || !CheckAllSaved(*structure)) return absl::OkStatus();
  const std::shared_ptr<const BackwardGraph> graph = core_.structures().Find(
      *structure, [&] { return BackwardGraph::Make(core_, plan_, *structure, seeded, captured); });
  *was_run = graph != nullptr;
  return graph == nullptr ? absl::OkStatus() : RunGraph(*graph, *structure);
}

bool BackwardPass::CheckAllSaved(const PassStructure& structure) const {
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const GradientTemplate* const gradient = structure.item(i).gradient.get();
    if (gradient != nullptr && !CheckSaved(*plan_.items()[i].node, *gradient).ok()) return false;
  }
  return true;
}

absl::Status BackwardPass::RunGraph(const BackwardGraph& graph, const PassStructure& structure) {
  SLUICE_RETURN_IF_ERROR(CheckCancelled());
  std::vector<TapeValue> saved;
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const GradientTemplate* const gradient = structure.item(i).gradient.get();
    if (gradient == nullptr) continue;
    SLUICE_RETURN_IF_ERROR(TakeSaved(*plan_.items()[i].node, *gradient, options_.keeps_graph, &saved));
  }
  std::vector<Tensor> args, results(graph.num_results());
  for (TapeValue& value : saved) args.push_back(std::move(value.value));
  for (TapeValue& buffer : buffers_) {
    if (buffer.is_set()) args.push_back(std::move(buffer.value));
  }
  saved.clear();
  SLUICE_RETURN_IF_ERROR(graph.Run(run_, absl::MakeSpan(args), absl::MakeSpan(results)));
  size_t next = 0;
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const PassPlan::Item& item = plan_.items()[i];
    if (item.node->kind != TapeNode::Kind::kAccumulate || !item.runs || !structure.item(i).gets_gradient) continue;
    TapeValue grad{std::move(results[next++]), TapeEdge()};
    if (!grad.is_set()) continue;
    SLUICE_RETURN_IF_ERROR(CheckGrad(core_, item.node->outputs[0], "the pass", 0, &grad));
    SLUICE_RETURN_IF_ERROR(Accumulate(*item.node, std::move(grad)));
  }
  for (CaptureSpot& spot : captures_) {
    spot.value.value = std::move(results[next++]);
    if (spot.place < 0) continue;
    const GradientMeta& meta = plan_.items()[static_cast<size_t>(spot.place)].node->outputs[spot.slot];
    SLUICE_RETURN_IF_ERROR(CheckGrad(core_, meta, "the pass", 0, &spot.value));
  }
  return absl::OkStatus();
}

}  // namespace sluice

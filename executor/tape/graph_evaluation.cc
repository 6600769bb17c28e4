// Runs a backward pass as a graph.

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

// A larger pass is unlikely to come again, and its graph would be large.
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
  // If a node has no gradient, or a saved value was modified, run node by node instead: gradients from before the error
  // stay, and nodes after it keep their saved values.
  const absl::StatusOr<PassStructure> structure = PassStructure::Make(core_.ops(), plan_, seeded, captured);
  if (!structure.ok() || !CheckAllSaved(*structure)) return absl::OkStatus();
  const std::shared_ptr<const BackwardGraph> graph = core_.structures().Find(
      *structure, [&] { return BackwardGraph::Make(core_, plan_, *structure, seeded, captured); });
  if (graph == nullptr) return absl::OkStatus();
  *was_run = true;
  return RunGraph(*graph, *structure, was_run);
}

bool BackwardPass::CheckAllSaved(const PassStructure& structure) const {
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const PassPlan::Item& item = plan_.items()[i];
    if (!item.runs || item.node->kind != TapeNode::Kind::kOp) continue;
    const GradientTemplate* const gradient = structure.item(i).gradient.get();
    const absl::Status can_take = gradient != nullptr ? CheckSaved(*item.node, *gradient) : CheckPassedOver(*item.node);
    if (!can_take.ok()) return false;
  }
  return true;
}

absl::Status BackwardPass::TakeAllSaved(const PassStructure& structure, bool keeps, std::vector<Tensor>* taken) {
  std::vector<TapeValue> saved;
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const PassPlan::Item& item = plan_.items()[i];
    if (!item.runs || item.node->kind != TapeNode::Kind::kOp) continue;
    const GradientTemplate* const gradient = structure.item(i).gradient.get();
    SLUICE_RETURN_IF_ERROR(gradient != nullptr ? TakeSaved(*item.node, *gradient, keeps, &saved)
                                               : PassOver(*item.node, keeps));
  }
  for (TapeValue& value : saved) taken->push_back(std::move(value.value));
  return absl::OkStatus();
}

bool BackwardPass::HaveExpectedShapes(const BackwardGraph& graph, absl::Span<const Tensor> results) const {
  const absl::Span<const Tensor> shapes = results.last(graph.checks().size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    const BackwardGraph::Check& check = graph.checks()[k];
    const TapeEdge& edge = plan_.items()[check.item].node->edges[check.edge];
    const absl::Span<const int64_t> found = shapes[k].flat<int64_t>(),
                                    expected = edge.node->outputs[edge.slot].shape.dims();
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end())) return false;
  }
  return true;
}

absl::Status BackwardPass::RunGraph(const BackwardGraph& graph, const PassStructure& structure, bool* was_run) {
  SLUICE_RETURN_IF_ERROR(CheckCancelled());
  // If gradients are checked the nodes may have to run after all: keep their saved values until then.
  const bool is_checked = !graph.checks().empty();
  std::vector<Tensor> args, results(graph.num_results());
  SLUICE_RETURN_IF_ERROR(TakeAllSaved(structure, options_.keeps_graph || is_checked, &args));
  for (TapeValue& buffer : buffers_) {
    if (buffer.is_set()) args.push_back(is_checked ? buffer.value : std::move(buffer.value));
  }
  const absl::Status run = graph.Run(run_, absl::MakeSpan(args), absl::MakeSpan(results));
  if (is_checked) {
    if (run.ok() ? !HaveExpectedShapes(graph, results) : CheckCancelled().ok()) {
      // Run the nodes, which sum the gradient down or report its shape.
      core_.structures().DropGraph(structure);
      *was_run = false;
      return absl::OkStatus();
    }
    std::vector<Tensor> taken;
    SLUICE_RETURN_IF_ERROR(TakeAllSaved(structure, options_.keeps_graph, &taken));
  }
  SLUICE_RETURN_IF_ERROR(run);
  return TakeResults(structure, absl::MakeSpan(results));
}

absl::Status BackwardPass::TakeResults(const PassStructure& structure, absl::Span<Tensor> results) {
  size_t next = 0;
  for (size_t i = 0; i < plan_.items().size(); ++i) {
    const PassPlan::Item& item = plan_.items()[i];
    if (item.node->kind != TapeNode::Kind::kAccumulate || !item.runs || !structure.item(i).gets_gradient) continue;
    TapeValue grad{std::move(results[next++]), TapeEdge()};
    if (!grad.is_set()) continue;
    SLUICE_RETURN_IF_ERROR(CheckGrad(core_, item.node->outputs[0], "the pass", 0, &grad));
    SLUICE_RETURN_IF_ERROR(Accumulate(*item.node, FindLeaf(*item.node), std::move(grad)));
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

// Shapes of the ops that steer a run. Merge and calls of functions are done by the runner, which sees more of the
// graph.

#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// Both (all) outputs carry the data input. Which of them is live is known at run time: what comes behind may never
// run, so no problem there is certain.
absl::Status Switch(InferenceContext& c) {
  c.MarkConditional();
  for (int i = 0; i < c.num_outputs(); ++i) c.Pass(0, i);
  return absl::OkStatus();
}

// One of the references behind the index.
absl::Status RefSelect(InferenceContext& c) {
  PartialShape shape = c.input(1);
  for (int i = 2; i < c.num_inputs(); ++i) shape = JoinShapes(shape, c.input(i));
  c.Set(0, shape);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Enter", &PassThrough},
    {"Exit", &PassThrough},
    {"LoopCond", &PassThrough},
    {"NextIteration", &PassThrough},
    {"RefEnter", &PassThrough},
    {"RefExit", &PassThrough},
    {"RefNextIteration", &PassThrough},
    {"RefSelect", &RefSelect},
    {"RefSwitch", &Switch},
    {"Switch", &Switch},
    {"_SwitchN", &Switch},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ControlFlowRows() { return kRows; }

}  // namespace sluice

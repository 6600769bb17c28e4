#ifndef SLUICE_EXECUTOR_TAPE_GRADIENT_MAKER_H_
#define SLUICE_EXECUTOR_TAPE_GRADIENT_MAKER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/tape/gradient_template.h"
#include "graph/base/hash_table.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient.h"
#include "graph/ir/graph.h"

namespace sluice {

// Makes one GradientTemplate: builds a graph of the op alone, with a source for each input and each gradient, lets the
// op's row add its nodes, and turns these into steps.
//
// Small integer inputs (axes, shapes) become constants of that graph only if the row asks for their elements, or no
// shape is known without them: the template serves only calls with equal constants.
// For one call of Make. Not thread-safe.
class GradientMaker {
 public:
  GradientMaker(EagerOps& ops, const OpCall& call, SlotSet wants, SlotSet dys)
      : ops_(ops), call_(call), wants_(wants), dys_(dys), is_constant_(call.inputs.size(), false) {}

  absl::StatusOr<std::shared_ptr<const GradientTemplate>> Make();

 private:
  // The graph of one attempt, and the questions of the row with their answers.
  struct Attempt {
    explicit Attempt(Graph empty) : graph(std::move(empty)) {}
    Graph graph;
    std::vector<Output> sources, outputs, seeds;  // By input; by output; by output, some unset.
    int32_t first_added = 0;
    std::vector<Gradient> dxs;
    std::vector<ForwardFacts::Question> questions;
    std::vector<PartialShape> shapes;  // The answers, by question.
    std::vector<bool> same;
    std::vector<std::optional<std::vector<int64_t>>> integers;
  };

  absl::StatusOr<std::unique_ptr<Attempt>> Try() const;
  absl::Status AddForward(Attempt& attempt) const;
  absl::Status CallRow(Attempt& attempt) const;
  static void KeepAnswers(ForwardFacts& facts, Attempt& attempt);
  // Makes inputs whose elements the row missed constants; returns whether there were any.
  bool LearnConstants(const Attempt& attempt);
  bool MayBeConstant(size_t input) const;
  // Returns the input or output that this output of the graph stands for, or -1.
  int64_t ValueOf(const Attempt& attempt, const Output& output) const;
  const Shape& ShapeOf(uint32_t value) const;

  absl::Status WriteSteps(const Attempt& attempt);
  void MarkNeeded(const Attempt& attempt);
  absl::Status WriteStep(const Attempt& attempt, NodeId id);
  absl::Status WriteConstant(const Attempt& attempt, NodeId id);
  // Returns the place of the value of `output`.
  Operand Place(const Attempt& attempt, const Output& output);
  void MarkLastUses();
  void WriteFacts(const Attempt& attempt);

  EagerOps& ops_;
  const OpCall& call_;
  const SlotSet wants_, dys_;
  std::vector<bool> is_constant_;
  std::shared_ptr<GradientTemplate> made_;
  std::vector<SlotSet> serves_;  // By added node.
  HashMap<Output, Operand> places_;
  std::vector<Tensor> constants_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_GRADIENT_MAKER_H_

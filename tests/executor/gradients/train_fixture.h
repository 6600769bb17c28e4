#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/training/train_step.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/gradients_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// Builds a graph with variables in b_, adds a training step and runs it.
class TrainFixture : public GradientsFixture {
 protected:
  // A variable that "NAME_init" gives `start`. All variables of a graph are of the kind that is_resource_ says.
  Output Variable(absl::string_view name, const Tensor& start) {
    return Variable(name, start, PartialShape::From(start.shape()));
  }
  Output Variable(absl::string_view name, const Tensor& start, const PartialShape& shape) {
    const DType type = start.dtype();
    const std::string op = is_resource_ ? "VarHandleOp" : "VariableV2";
    const Output w = b_.Op(op, name, {}, {{"dtype", type}, {"shape", shape}, {"shared_name", name}});
    const Output value = b_.Const(absl::StrCat(name, "_start"), start);
    is_resource_ ? b_.Op("AssignVariableOp", absl::StrCat(name, "_init"), {w, value}, {{"dtype", type}})
                 : b_.Op("Assign", absl::StrCat(name, "_init"), {w, value});
    inits_.push_back(absl::StrCat(name, "_init"));
    return w;
  }
  Output Floats(absl::string_view name, const Shape& shape, const std::vector<float>& start) {
    return Variable(name, Tensor::Of<float>(shape, start));
  }
  Output Read(Output w, DType type = DType::kFloat) {
    return is_resource_ ? b_.Op("ReadVariableOp", "", {w}, {{"dtype", type}}) : b_.Op("Identity", "", {w});
  }
  // Rows of w, as a lookup of embeddings has them.
  Output Rows(Output w, Output ids) {
    return is_resource_ ? b_.Op("ResourceGather", "", {w, ids}, {{"dtype", DType::kFloat}})
                        : b_.Op("GatherV2", "", {Read(w), ids, Int("", 0)});
  }
  // Of a matrix.
  Output Total(Output x) { return b_.Op("Sum", "loss", {x, b_.Const("", Tensor::Vector<int32_t>({0, 1}))}); }

  // Adds a step with learning rate 0.1 (but for what a schedule says) and runs all first values.
  void Train(Output loss, const std::vector<Output>& variables, TrainStepOptions options) {
    options.learning_rate = 0.1;
    ASSERT_NO_FATAL_FAILURE(Add(loss, variables, options));
    ASSERT_NO_FATAL_FAILURE(Begin());
  }
  void Add(Output loss, const std::vector<Output>& variables, const TrainStepOptions& options) {
    ASSERT_OK(b_.status());
    std::vector<NodeId> ids;
    for (const Output& variable : variables) ids.push_back(variable.node);
    absl::StatusOr<TrainStep> made = AddTrainStep(b_.graph(), loss, ids, options);
    ASSERT_OK(made);
    step_ = *std::move(made);
    steps_inits_.push_back(Name(step_.init));
  }
  void Begin() {
    ASSERT_OK_AND_ASSIGN(session_, Session::Create(SessionOptions(), b_.graph()));
    ASSERT_OK(session_->Run({}, {}, inits_));
    ASSERT_OK(session_->Run({}, {}, steps_inits_));
  }
  std::string Name(NodeId id) { return std::string(b_.graph().name(id)); }
  std::vector<std::string> SlotNames() {
    std::vector<std::string> names;
    for (const NodeId slot : step_.slots) names.push_back(Name(slot));
    return names;
  }
  // The node that fetches a variable, to be added before Begin.
  std::string Reader(Output w, DType type = DType::kFloat) {
    return b_.graph().OutputName(b_.Op("Cast", "", {Read(w, type)}, {{"DstT", DType::kDouble}}));
  }
  std::vector<double> Fetch(const std::string& name, const NamedTensors& feeds = {}) {
    const absl::StatusOr<std::vector<Tensor>> run = session_->Run(feeds, {name}, {});
    EXPECT_OK(run);
    if (!run.ok()) return {};
    const Tensor& found = (*run)[0];
    if (found.dtype() == DType::kFloat) return {found.flat<float>().begin(), found.flat<float>().end()};
    return {found.flat<double>().begin(), found.flat<double>().end()};
  }
  // Begins a new graph.
  void Clear() {
    b_ = GraphBuilder(NewOpRegistry());
    inits_.clear();
    steps_inits_.clear();
  }

  bool is_resource_ = true;
  TrainStep step_;  // The last one.
  std::vector<std::string> inits_, steps_inits_;
  std::unique_ptr<Session> session_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_TRAIN_FIXTURE_H_

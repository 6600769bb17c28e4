// Gradients of variables and values that some branches of a conditional or Case read, and others do not.

#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/gradients/gradients.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class CaseGradientsTest : public ControlFlowFixture {
 protected:
  // The handle of a float variable of shape [2].
  Output Variable(const std::string& name) {
    const PartialShape shape = PartialShape::Of({2});
    const Output handle =
        b_.Op("VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", shape}, {"shared_name", name}});
    assigns_.push_back(name + "/assign");
    b_.Op("AssignVariableOp", assigns_.back(), {handle, b_.Const(name + "/value", Tensor::Vector<float>({3, 5}))});
    return handle;
  }
  Output Read(const std::string& name, Output handle) {
    return b_.Op("ReadVariableOp", name, {handle}, {{"dtype", DType::kFloat}});
  }
  Output Case(const std::string& name, Output value, Output index, int num_branches) {
    return b_.Op("_SwitchN", name, {value, index}, {{"num_outs", num_branches}});
  }
  Output FloatVector(const std::string& name) { return b_.Const(name, Tensor::Vector<float>({1, 1})); }
  // The gradient of y by x as the index i goes from 0 to 3; ones for a y of no gradient would be an error.
  std::vector<std::vector<float>> ByIndex(Output y, Output x, const GradientOptions& options = {}) {
    std::vector<std::vector<float>> all;
    const absl::StatusOr<GradientResult> found = Add({y}, {x}, options);
    EXPECT_OK(found);
    if (!found.ok() || !found->xs[0].is_set()) return all;
    const absl::StatusOr<Output> dense = DenseGradient(b_.graph(), x, found->xs[0], found->name);
    EXPECT_OK(dense);
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(SessionOptions(), b_.graph());
    EXPECT_OK(session);
    if (!dense.ok() || !session.ok()) return all;
    if (!assigns_.empty()) {
      EXPECT_OK((*session)->Run({}, {}, assigns_));
    }
    for (int32_t i = 0; i < 4; ++i) {
      const auto run = (*session)->Run({{"i", Tensor::Scalar(i)}}, {b_.graph().OutputName(*dense)}, {});
      EXPECT_OK(run);
      if (run.ok()) all.emplace_back((*run)[0].flat<float>().begin(), (*run)[0].flat<float>().end());
    }
    return all;
  }

  std::vector<std::string> assigns_;
};

// Two of three branches read the variable; the last branch serves all larger indices.
TEST_F(CaseGradientsTest, AVariableThatSomeBranchesRead) {
  const Output v = Variable("v"), i = b_.Placeholder("i", DType::kInt32);
  const Output gate = Case("gate", v, i, 3), other = Case("other", FloatVector("ones"), i, 3);
  const Output square = b_.Op("Square", "square", {Read("read_0", gate)});
  const Output neg = b_.Op("Neg", "neg", {Read("read_2", Nth(gate, 2))});
  const Output y = b_.Op("Merge", "y", {square, b_.Op("Identity", "one", {Nth(other, 1)}), neg});
  EXPECT_THAT(ByIndex(y, v),
              ElementsAre(ElementsAre(6, 10), ElementsAre(0, 0), ElementsAre(-1, -1), ElementsAre(-1, -1)));
}

TEST_F(CaseGradientsTest, AVariableThatOneBranchReads) {
  const Output v = Variable("v"), i = b_.Placeholder("i", DType::kInt32);
  const Output gate = Case("gate", v, i, 2), other = Case("other", FloatVector("ones"), i, 2);
  const Output read = Read("read", Nth(gate, 1));
  const Output y = b_.Op("Merge", "y", {b_.Op("Identity", "one", {other}), b_.Op("Square", "square", {read})});
  EXPECT_THAT(ByIndex(y, v),
              ElementsAre(ElementsAre(0, 0), ElementsAre(6, 10), ElementsAre(6, 10), ElementsAre(6, 10)));
}

// In each round of a loop, by the count of rounds.
TEST_F(CaseGradientsTest, AVariableThatSomeBranchesReadInALoop) {
  const Output v = Variable("v"), i = b_.Placeholder("i", DType::kInt32);
  const Loop loop = Begin("loop", i);
  const Output handle = Invariant(loop, "handle", v);
  const auto sum = Enter(loop, "sum", FloatVector("ones"));
  const Output gate = Case("gate", handle, Count(loop), 3), by_round = Case("by_round", sum.value, Count(loop), 3);
  const Output add = b_.Op("AddV2", "add", {Read("read_0", gate), by_round});
  const Output mul = b_.Op("Mul", "mul", {Read("read_2", Nth(gate, 2)), Nth(by_round, 2)});
  Next(sum, "sum", b_.Op("Merge", "all", {add, b_.Op("Neg", "neg", {Nth(by_round, 1)}), mul}));
  End(loop);
  // Rounds give 1, 1 + v, -(1 + v), -(1 + v) v.
  EXPECT_THAT(ByIndex(sum.last, v),
              ElementsAre(ElementsAre(0, 0), ElementsAre(1, 1), ElementsAre(-1, -1), ElementsAre(-7, -11)));
}

// Zeros for a variable that no y depends on, of its type and shape.
TEST_F(CaseGradientsTest, ZerosOfAVariableThatIsNotConnected) {
  const Output v = Variable("v"), i = b_.Placeholder("i", DType::kInt32);
  GradientOptions options;
  options.unconnected = GradientOptions::Unconnected::kZero;
  const auto found = ByIndex(b_.Op("Cast", "y", {i}, {{"DstT", DType::kFloat}}), v, options);
  EXPECT_EQ(found.size(), 4u);
  EXPECT_THAT(found, Each(ElementsAre(0, 0)));
}

// Index 2 is the last port of two, and the third of three: the conditions differ.
TEST_F(CaseGradientsTest, CasesOfOneIndexWithOtherNumbersOfBranches) {
  const Output x = FloatVector("x"), i = b_.Placeholder("i", DType::kInt32);
  const Output two = Case("two", x, i, 2);
  const Output y_two =
      b_.Op("Merge", "y_two", {b_.Op("Identity", "same", {two}), b_.Op("AddV2", "twice", {Nth(two, 1), Nth(two, 1)})});
  const Output three = Case("three", y_two, i, 3);
  const Output y = b_.Op("Merge", "y",
                         {b_.Op("Identity", "first", {three}), b_.Op("Neg", "second", {Nth(three, 1)}),
                          b_.Op("Mul", "third", {Nth(three, 2), Nth(Case("of_x", x, i, 3), 2)})});
  // x; -2x; 2x x.
  EXPECT_THAT(ByIndex(y, x), ElementsAre(ElementsAre(1, 1), ElementsAre(-2, -2), ElementsAre(4, 4), ElementsAre(4, 4)));
}

}  // namespace
}  // namespace sluice

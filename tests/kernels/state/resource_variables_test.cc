#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/device/device.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

std::vector<float> Values(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return {};
  const absl::Span<const float> values = tensor->flat<float>();
  return {values.begin(), values.end()};
}

Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }

class ResourceVariablesTest : public ::testing::Test {
 protected:
  GraphBuilder& b() { return steps_.graph(); }
  Output Handle(absl::string_view name, DType dtype, absl::string_view shared_name = "") {
    return b().Op("VarHandleOp", name, {},
                  {{"dtype", dtype}, {"shape", PartialShape()}, {"shared_name", AttrValue(shared_name)}});
  }
  Output Read(absl::string_view name, Output handle, DType dtype = DType::kFloat) {
    return b().Op("ReadVariableOp", name, {handle}, {{"dtype", dtype}});
  }
  static Output Target(Output output) { return GraphBuilder::Control(output); }

  StepRunner steps_;
  const Output h_ = Handle("h", DType::kFloat);
  const Output x_ = b().Placeholder("x", DType::kFloat);
  const Output assign_ = b().Op("AssignVariableOp", "assign", {h_, x_});
  const Output add_ = b().Op("AssignAddVariableOp", "add", {h_, x_});
  const Output sub_ = b().Op("AssignSubVariableOp", "sub", {h_, x_});
  const Output is_set_ = b().Op("VarIsInitializedOp", "is_set", {h_});
  const Output shape_ = b().Op("VariableShape", "shape", {h_});
  const Output read_ = Read("read", h_);
};

TEST_F(ResourceVariablesTest, KeepsItsValueFromStepToStep) {
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({1, 2})}}));
  ASSERT_OK(steps_.Run({Target(add_)}, {{x_, Floats({10, 20})}}));
  ASSERT_OK(steps_.Run({Target(sub_)}, {{x_, Floats({1, 1})}}));
  EXPECT_EQ(Values(steps_.Run1(read_)), (std::vector<float>{10, 21}));
  EXPECT_EQ(steps_.Run1(shape_)->flat<int32_t>()[0], 2);
}

TEST_F(ResourceVariablesTest, BeforeTheFirstAssignmentEachOpAnswersAsTensorFlowDoes) {
  EXPECT_THAT(steps_.Run1(read_), StatusIs(absl::StatusCode::kFailedPrecondition, "read"));
  EXPECT_THAT(steps_.Run({Target(add_)}, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kNotFound, "add"));
  EXPECT_THAT(steps_.Run1(shape_), StatusIs(absl::StatusCode::kNotFound, "shape"));
  EXPECT_FALSE(*steps_.Run1(is_set_)->AsScalar<bool>());
}

TEST_F(ResourceVariablesTest, AVariableThatIsThereWithoutAValueIsNamed) {
  const Output made = b().Op("VarHandleOp", "made", {},
                             {{"dtype", DType::kFloat},
                              {"shape", PartialShape::OfRank(1)},
                              {"shared_name", "cd2c89b7-88b7-44c8-ad83-06c2a9158347"}});
  for (const Output& use : {b().Op("AssignAddVariableOp", "", {made, x_}), b().Op("VariableShape", "", {made})}) {
    EXPECT_THAT(steps_.Run({Target(use)}, {{x_, Floats({1})}}),
                StatusIs(absl::StatusCode::kFailedPrecondition, "input 0 is a variable that has no value"));
  }
}

TEST_F(ResourceVariablesTest, AnotherShapeIsTakenUnlessTheNodeForbidsIt) {
  const Output strict = b().Op("AssignVariableOp", "strict", {h_, x_}, {{"validate_shape", true}});
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({1, 2})}}));
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({1, 2, 3})}}));
  EXPECT_THAT(steps_.Run({Target(strict)}, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(steps_.Run({Target(add_)}, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kInvalidArgument, "add"));
  EXPECT_EQ(Values(steps_.Run1(read_)), (std::vector<float>{1, 2, 3}));
}

TEST_F(ResourceVariablesTest, AHandleOfAnotherDtypeReadsNothing) {
  const Output other = Read("other", Handle("ints", DType::kInt32, "h"), DType::kInt32);
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({1})}}));
  EXPECT_THAT(steps_.Run1(other), StatusIs(absl::StatusCode::kInvalidArgument, "other"));
}

TEST_F(ResourceVariablesTest, DestroyedVariablesAreGoneAndCanBeMadeAgain) {
  const Output destroy = b().Op("DestroyResourceOp", "destroy", {h_}, {{"ignore_lookup_error", false}});
  const Output forgive = b().Op("DestroyResourceOp", "forgive", {h_});
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({1})}}));
  ASSERT_OK(steps_.Run({Target(destroy)}));
  EXPECT_THAT(steps_.Run1(read_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(steps_.Run({Target(destroy)}), StatusIs(absl::StatusCode::kNotFound, "destroy"));
  EXPECT_THAT(steps_.Run({Target(forgive)}), IsOk());
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats({2})}}));
  EXPECT_EQ(Values(steps_.Run1(read_)), (std::vector<float>{2}));
}

TEST_F(ResourceVariablesTest, AnAnonymousVariableLivesAsLongAsItsHandle) {
  const Output h = Handle("a", DType::kFloat, "cd2c89b7-88b7-44c8-ad83-06c2a9158347");
  const Output set = b().Op("AssignVariableOp", "set_a", {h, x_});
  const Output read = Read("read_a", h);
  b().AddControl(read, set);
  EXPECT_EQ(Values(steps_.Run1(read, {{x_, Floats({7})}})), (std::vector<float>{7}));
  EXPECT_EQ(steps_.device().resources().size(), 0u);
}

TEST_F(ResourceVariablesTest, WhatWasReadStaysAsItWas) {
  const std::vector<float> ones(100, 1.0f);
  ASSERT_OK(steps_.Run({Target(assign_)}, {{x_, Floats(ones)}}));
  ASSERT_OK_AND_ASSIGN(const Tensor before, steps_.Run1(read_));
  ASSERT_OK(steps_.Run({Target(sub_)}, {{x_, Floats(ones)}}));
  EXPECT_EQ(Values(before), ones);
  EXPECT_EQ(Values(steps_.Run1(read_)), std::vector<float>(100, 0.0f));
}

TEST_F(ResourceVariablesTest, IntegersWrapAround) {
  const Output h = Handle("bytes", DType::kInt8);
  const Output one = b().Const("one", Tensor::Scalar(int8_t{127}));
  ASSERT_OK(steps_.Run({Target(b().Op("AssignVariableOp", "set_bytes", {h, one}))}));
  ASSERT_OK(steps_.Run({Target(b().Op("AssignAddVariableOp", "add_bytes", {h, one}))}));
  EXPECT_EQ(*steps_.Run1(Read("read_bytes", h, DType::kInt8))->AsScalar<int8_t>(), -2);
}

}  // namespace
}  // namespace sluice

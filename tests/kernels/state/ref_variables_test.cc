#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "kernels/resources/resource_manager.h"
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

// One variable 'v' with the ops on it, fed from 'x'.
class RefVariablesTest : public ::testing::Test {
 protected:
  Output Variable(absl::string_view name, PartialShape shape, absl::string_view shared_name = "") {
    return b().Op("VariableV2", name, {},
                  {{"dtype", DType::kFloat}, {"shape", shape}, {"shared_name", AttrValue(shared_name)}});
  }
  GraphBuilder& b() { return steps_.graph(); }

  StepRunner steps_;
  const Output v_ = Variable("v", PartialShape::OfRank(1));
  const Output x_ = b().Placeholder("x", DType::kFloat);
  const Output assign_ = b().Op("Assign", "assign", {v_, x_});
  const Output add_ = b().Op("AssignAdd", "add", {v_, x_});
  const Output sub_ = b().Op("AssignSub", "sub", {v_, x_});
  const Output is_set_ = b().Op("IsVariableInitialized", "is_set", {v_});
  const Output read_ = b().Op("Identity", "read", {v_});
};

TEST_F(RefVariablesTest, KeepsItsValueFromStepToStep) {
  EXPECT_EQ(Values(steps_.Run1(assign_, {{x_, Floats({1, 2})}})), (std::vector<float>{1, 2}));
  EXPECT_EQ(Values(steps_.Run1(add_, {{x_, Floats({10, 20})}})), (std::vector<float>{11, 22}));
  EXPECT_EQ(Values(steps_.Run1(sub_, {{x_, Floats({1, 1})}})), (std::vector<float>{10, 21}));
  EXPECT_EQ(Values(steps_.Run1(read_)), (std::vector<float>{10, 21}));
}

TEST_F(RefVariablesTest, HasNoValueBeforeTheFirstAssignment) {
  EXPECT_THAT(steps_.Run1(read_), StatusIs(absl::StatusCode::kFailedPrecondition, "v"));
  EXPECT_THAT(steps_.Run1(add_, {{x_, Floats({1})}}), IsError(ErrorCode::kUninitialized));
  ASSERT_OK_AND_ASSIGN(const Tensor is_set, steps_.Run1(is_set_));
  EXPECT_FALSE(*is_set.AsScalar<bool>());
}

TEST_F(RefVariablesTest, AVariableEndsWithItsContainerAndWithItsManager) {
  std::optional<ResourceManager> resources(std::in_place);
  steps_.run().resources = &*resources;
  const auto is_set = [this] { return *steps_.Run1(is_set_).value().AsScalar<bool>(); };
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats({1})}}));
  EXPECT_TRUE(is_set());
  resources->ClearContainer("other");
  EXPECT_TRUE(is_set());
  resources->ClearContainer("");
  EXPECT_FALSE(is_set());
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats({2})}}));
  EXPECT_TRUE(is_set());
  resources.emplace();  // Another one at the same address.
  EXPECT_FALSE(is_set());
}

// The kernel keeps the variable, for references that are under way, but not its memory.
TEST_F(RefVariablesTest, AClearedVariableHasNoValueAfterTheNextRun) {
  ResourceManager resources;
  steps_.run().resources = &resources;
  const Tensor large = Floats(std::vector<float>(1000, 1.0f));
  ASSERT_OK(steps_.Run1(assign_, {{x_, large}}));
  ASSERT_OK_AND_ASSIGN(const Tensor before, steps_.Run1(read_));
  ASSERT_OK(steps_.Run({GraphBuilder::Control(is_set_)}));  // The step before lets go of what it read.
  EXPECT_FALSE(before.IsUniquelyOwned());
  resources.ClearContainer("other");
  ASSERT_OK(steps_.Run({GraphBuilder::Control(is_set_)}));
  EXPECT_FALSE(before.IsUniquelyOwned());
  resources.ClearContainer("");
  ASSERT_OK(steps_.Run({GraphBuilder::Control(is_set_)}));
  EXPECT_TRUE(before.IsUniquelyOwned());
}

// A deadline that passes does not leave half of the slice written.
TEST_F(RefVariablesTest, ASliceIsAssignedWhole) {
  const auto ints = [this](int32_t value) { return b().Const("", Tensor::Vector<int32_t>({value})); };
  const Tensor update = Floats(std::vector<float>(50000, 7.0f));
  const Output set =
      b().Op("StridedSliceAssign", "set", {v_, ints(0), ints(100000), ints(2), b().Const("update", update)});
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats(std::vector<float>(100000, 1.0f))}}));
  steps_.run().deadline = absl::InfinitePast();
  ASSERT_OK(steps_.Run({GraphBuilder::Control(set)}));
  const std::vector<float> values = Values(steps_.Run1(read_));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i % 2 == 0 ? 7.0f : 1.0f) << i;
}

TEST_F(RefVariablesTest, WithoutElementsThereIsAlwaysAValue) {
  const Output empty = Variable("empty", PartialShape::Of({2, 0}));
  const absl::StatusOr<Tensor> is_set = steps_.Run1(b().Op("IsVariableInitialized", "empty_is_set", {empty}));
  ASSERT_OK(is_set);
  EXPECT_TRUE(*is_set->AsScalar<bool>());
  const absl::StatusOr<Tensor> value = steps_.Run1(b().Op("Identity", "empty_read", {empty}));
  ASSERT_OK(value);
  EXPECT_EQ(value->shape(), Shape::Of({2, 0}));
}

TEST_F(RefVariablesTest, AssignChecksTheShapeThatIsDeclaredAndThenTheOneThatIsThere) {
  EXPECT_THAT(steps_.Run1(assign_, {{x_, Tensor::Scalar(1.0f)}}), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats({1, 2})}}));
  EXPECT_THAT(steps_.Run1(assign_, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kInvalidArgument, "assign"));
  EXPECT_THAT(steps_.Run1(add_, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kInvalidArgument, "add"));
}

TEST_F(RefVariablesTest, WithoutValidateShapeAnyShapeIsTaken) {
  const Output any = b().Op("Assign", "any", {v_, x_}, {{"validate_shape", false}});
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats({1, 2})}}));
  EXPECT_EQ(Values(steps_.Run1(any, {{x_, Tensor::Scalar(5.0f)}})), (std::vector<float>{5}));
}

TEST_F(RefVariablesTest, WhatWasReadThroughAReferenceShowsLaterChanges) {
  const std::vector<float> ones(100, 1.0f);
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats(ones)}}));
  ASSERT_OK_AND_ASSIGN(const Tensor before, steps_.Run1(read_));
  ASSERT_OK(steps_.Run1(add_, {{x_, Floats(ones)}}));
  EXPECT_EQ(Values(before), std::vector<float>(100, 2.0f));
  const std::vector<float> fives(100, 5.0f);
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats(fives)}}));
  EXPECT_EQ(Values(before), fives);
}

TEST_F(RefVariablesTest, AScalarThatWasReadShowsLaterChangesToo) {
  const Output any = b().Op("Assign", "any", {v_, x_}, {{"validate_shape", false}});
  ASSERT_OK(steps_.Run1(any, {{x_, Tensor::Scalar(5.0f)}}));
  ASSERT_OK_AND_ASSIGN(const Tensor before, steps_.Run1(read_));
  ASSERT_OK(steps_.Run1(add_, {{x_, Tensor::Scalar(1.0f)}}));
  EXPECT_EQ(Values(before), (std::vector<float>{6}));
}

TEST_F(RefVariablesTest, UpdatesInPlaceWhenNobodyElseHoldsTheValue) {
  const std::vector<float> ones(100, 1.0f);
  ASSERT_OK(steps_.Run1(assign_, {{x_, Floats(ones)}}));
  ASSERT_OK(steps_.Run({GraphBuilder::Control(add_)}, {{x_, Floats(ones)}}));
  const void* address = nullptr;
  {
    ASSERT_OK_AND_ASSIGN(const Tensor value, steps_.Run1(read_));
    address = value.raw_data();
  }
  ASSERT_OK(steps_.Run({GraphBuilder::Control(is_set_)}));  // The step before lets go of what it read.
  ASSERT_OK(steps_.Run({GraphBuilder::Control(add_)}, {{x_, Floats(ones)}}));
  ASSERT_OK_AND_ASSIGN(const Tensor value, steps_.Run1(read_));
  EXPECT_EQ(value.raw_data(), address);
}

TEST_F(RefVariablesTest, NodesOfOneSharedNameAreOneVariable) {
  const Output a = Variable("a", PartialShape(), "shared");
  const Output c = Variable("c", PartialShape(), "shared");
  ASSERT_OK(steps_.Run1(b().Op("Assign", "set_a", {a, x_}), {{x_, Floats({3})}}));
  EXPECT_EQ(Values(steps_.Run1(b().Op("Identity", "read_c", {c}))), (std::vector<float>{3}));
}

TEST_F(RefVariablesTest, NodesOfOneSharedNameMustAgreeOnTheDtype) {
  const Output a = Variable("a", PartialShape(), "shared");
  const Output c =
      b().Op("VariableV2", "c", {}, {{"dtype", DType::kInt32}, {"shape", PartialShape()}, {"shared_name", "shared"}});
  ASSERT_OK(steps_.Run({GraphBuilder::Control(a)}));
  EXPECT_THAT(steps_.Run({GraphBuilder::Control(c)}), IsError(ErrorCode::kResourceType));
}

TEST_F(RefVariablesTest, ATemporaryVariableLivesForOneStep) {
  const Output t = b().Op("TemporaryVariable", "t", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({2})}});
  const Output set = b().Op("Assign", "set", {t, x_});
  const Output more = b().Op("AssignAdd", "more", {set, x_});
  const Output last = b().Op("DestroyTemporaryVariable", "last", {more}, {{"var_name", "t"}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Values(steps_.Run1(last, {{x_, Floats({1, 2})}})), (std::vector<float>{2, 4}));
  }
  EXPECT_THAT(steps_.Run1(last, {{x_, Floats({1})}}), StatusIs(absl::StatusCode::kInvalidArgument, "set"));
}

TEST_F(RefVariablesTest, DestroyingATemporaryVariableTakesNoOthersValue) {
  const Output v = b().Op("VariableV2", "other", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({2})}});
  ASSERT_OK(steps_.Run({GraphBuilder::Control(b().Op("Assign", "", {v, x_}))}, {{x_, Floats({1, 2})}}));
  const Output t = b().Op("TemporaryVariable", "t", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({2})}});
  const Output last = b().Op("DestroyTemporaryVariable", "last", {v}, {{"var_name", "t"}});
  b().AddControl(last, t);
  EXPECT_EQ(Values(steps_.Run1(last)), (std::vector<float>{1, 2}));
  EXPECT_EQ(Values(steps_.Run1(b().Op("Identity", "", {v}))), (std::vector<float>{1, 2}));
}

TEST_F(RefVariablesTest, DestroyingAnUnknownTemporaryVariableIsNotFound) {
  const Output t = b().Op("TemporaryVariable", "t", {}, {{"dtype", DType::kFloat}, {"shape", Shape::Of({2})}});
  const Output last = b().Op("DestroyTemporaryVariable", "last", {t}, {{"var_name", "other"}});
  EXPECT_THAT(steps_.Run1(last), StatusIs(absl::StatusCode::kNotFound, "last"));
}

TEST_F(RefVariablesTest, CountUpToCountsAndStopsAtTheLimit) {
  const Output n = b().Op("VariableV2", "n", {}, {{"dtype", DType::kInt64}, {"shape", Shape()}});
  const Output set = b().Op("Assign", "set", {n, b().Const("zero", Tensor::Scalar(int64_t{0}))});
  const Output count = b().Op("CountUpTo", "count", {n}, {{"limit", 2}});
  EXPECT_THAT(steps_.Run1(count), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(steps_.Run1(set));
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(*steps_.Run1(count)->AsScalar<int64_t>(), i);
  EXPECT_THAT(steps_.Run1(count), StatusIs(absl::StatusCode::kOutOfRange, "count"));
  EXPECT_EQ(*steps_.Run1(n)->AsScalar<int64_t>(), 2);
}

}  // namespace
}  // namespace sluice

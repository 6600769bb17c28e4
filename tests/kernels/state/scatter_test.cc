#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

std::vector<float> Values(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return {};
  const absl::Span<const float> values = tensor->flat<float>();
  return {values.begin(), values.end()};
}

Tensor Rows(int64_t rows, const std::vector<float>& values) {
  return Tensor::Of<float>(Shape::Of({rows, static_cast<int64_t>(values.size()) / rows}), values);
}

// A variable of shape [3,2] in both kinds: the parameter says whether behind a handle.
class ScatterTest : public ::testing::TestWithParam<bool> {
 protected:
  ScatterTest() {
    const GraphBuilder::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", Shape::Of({3, 2})}};
    variable_ = b().Op(GetParam() ? "VarHandleOp" : "VariableV2", "v", {}, attrs);
    const Output start = b().Const("start", Rows(3, {0, 1, 2, 3, 4, 5}));
    init_ = b().Op(GetParam() ? "AssignVariableOp" : "Assign", "init", {variable_, start});
    read_ = GetParam() ? b().Op("ReadVariableOp", "read", {variable_}, {{"dtype", DType::kFloat}})
                       : b().Op("Identity", "read", {variable_});
  }
  GraphBuilder& b() { return steps_.graph(); }
  absl::Status Run(absl::string_view op, const Tensor& indices, const Tensor& updates,
                   const GraphBuilder::Attrs& attrs = {}) {
    const Output node = b().Op(absl::StrCat(GetParam() ? "Resource" : "", op), "",
                               {variable_, b().Const("", indices), b().Const("", updates)}, attrs);
    return steps_.Run({GraphBuilder::Control(node)}).status();
  }
  void Init() { ASSERT_OK(steps_.Run({GraphBuilder::Control(init_)})); }
  std::vector<float> Now() { return Values(steps_.Run1(read_)); }

  StepRunner steps_;
  Output variable_, init_, read_;
};

TEST_P(ScatterTest, RowsAreCombinedWithTheirUpdates) {
  Init();
  ASSERT_OK(Run("ScatterUpdate", Tensor::Vector<int32_t>({2, 0}), Rows(2, {9, 8, 7, 6})));
  EXPECT_EQ(Now(), (std::vector<float>{7, 6, 2, 3, 9, 8}));
  ASSERT_OK(Run("ScatterSub", Tensor::Vector<int64_t>({0}), Rows(1, {1, 1})));
  ASSERT_OK(Run("ScatterMul", Tensor::Scalar(int32_t{1}), Tensor::Scalar(10.0f)));
  ASSERT_OK(Run("ScatterDiv", Tensor::Scalar(int32_t{2}), Tensor::Vector<float>({3, 4})));
  EXPECT_EQ(Now(), (std::vector<float>{6, 5, 20, 30, 3, 2}));
  ASSERT_OK(Run("ScatterMin", Tensor::Scalar(int32_t{1}), Tensor::Scalar(25.0f)));
  ASSERT_OK(Run("ScatterMax", Tensor::Scalar(int32_t{2}), Tensor::Scalar(2.5f)));
  EXPECT_EQ(Now(), (std::vector<float>{6, 5, 20, 25, 3, 2.5f}));
}

TEST_P(ScatterTest, EqualIndicesAddUp) {
  Init();
  ASSERT_OK(Run("ScatterAdd", Tensor::Vector<int32_t>({1, 1}), Rows(2, {1, 2, 10, 20})));
  EXPECT_EQ(Now(), (std::vector<float>{0, 1, 13, 25, 4, 5}));
}

TEST_P(ScatterTest, WhatCameBeforeABadIndexStays) {
  Init();
  EXPECT_THAT(Run("ScatterUpdate", Tensor::Vector<int32_t>({0, -1}), Tensor::Scalar(7.0f)),
              StatusIs(absl::StatusCode::kInvalidArgument, "index [-1] at position 1"));
  EXPECT_EQ(Now(), (std::vector<float>{7, 7, 2, 3, 4, 5}));
}

TEST_P(ScatterTest, UpdatesMustFitTheIndices) {
  Init();
  EXPECT_THAT(Run("ScatterAdd", Tensor::Vector<int32_t>({0, 1}), Rows(1, {1, 1})),
              StatusIs(absl::StatusCode::kInvalidArgument, "[2,2]"));
  EXPECT_THAT(Run("ScatterNdAdd", Tensor::Of<int32_t>(Shape::Of({1, 3}), {0, 0, 0}), Tensor::Vector<float>({1})),
              StatusIs(absl::StatusCode::kInvalidArgument, "[1,3]"));
}

TEST_P(ScatterTest, NdIndicesReachSingleElementsAndRows) {
  Init();
  ASSERT_OK(Run("ScatterNdAdd", Tensor::Of<int32_t>(Shape::Of({2, 2}), {0, 1, 2, 0}), Tensor::Vector<float>({10, 20})));
  EXPECT_EQ(Now(), (std::vector<float>{0, 11, 2, 3, 24, 5}));
  ASSERT_OK(Run("ScatterNdUpdate", Tensor::Of<int32_t>(Shape::Of({1, 1}), {1}), Rows(1, {8, 9})));
  ASSERT_OK(Run("ScatterNdMax", Tensor::Of<int32_t>(Shape::Of({1, 2}), {0, 0}), Tensor::Vector<float>({3})));
  EXPECT_EQ(Now(), (std::vector<float>{3, 11, 8, 9, 24, 5}));
}

TEST_P(ScatterTest, AVectorOfNdIndicesNamesRows) {
  Init();
  ASSERT_OK(Run("ScatterNdAdd", Tensor::Vector<int32_t>({2, 0}), Rows(2, {10, 20, 30, 40})));
  EXPECT_EQ(Now(), (std::vector<float>{30, 41, 2, 3, 14, 25}));
  EXPECT_THAT(Run("ScatterNdAdd", Tensor::Of<int32_t>(Shape::Of({1, 0}), {}),
                  Tensor::Of<float>(Shape::Of({1, 3, 2}), {0, 0, 0, 0, 0, 0})),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      Run("ScatterNdAdd", Tensor::Of<int32_t>(Shape::Of({0, 0}), {}), Tensor::Of<float>(Shape::Of({0, 3, 2}), {})),
      StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(ScatterTest, ThePolicySaysWhatBecomesOfBadIndices) {
  Init();
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({3, 1}), {0, 7, 1});
  const Tensor updates = Rows(3, {10, 20, 30, 40, 50, 60});
  ASSERT_OK(Run("ScatterNdUpdate", indices, updates, {{"bad_indices_policy", "IGNORE"}}));
  EXPECT_EQ(Now(), (std::vector<float>{10, 20, 50, 60, 4, 5}));
  EXPECT_THAT(Run("ScatterNdAdd", indices, updates, {{"bad_indices_policy", "ERROR"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "[7]"));
  EXPECT_THAT(Run("ScatterNdSub", indices, updates, {{"bad_indices_policy", "bogus"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "bad_indices_policy"));
}

TEST_P(ScatterTest, UpdatesAfterABadNdIndexAreDoneToo) {
  Init();
  EXPECT_THAT(
      Run("ScatterNdAdd", Tensor::Of<int32_t>(Shape::Of({4, 1}), {0, 7, 1, -1}), Rows(4, {1, 1, 2, 2, 3, 3, 4, 4})),
      StatusIs(absl::StatusCode::kInvalidArgument, "index [7] at position 1"));
  EXPECT_EQ(Now(), (std::vector<float>{1, 2, 5, 6, 4, 5}));
}

TEST_P(ScatterTest, AVariableWithoutAValueIsAnError) {
  const absl::StatusCode code = GetParam() ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Run("ScatterAdd", Tensor::Vector<int32_t>({0}), Rows(1, {1, 1})), StatusIs(code));
}

TEST_P(ScatterTest, WhatWasReadStaysAsItWasButThroughAReference) {
  Init();
  ASSERT_OK_AND_ASSIGN(const Tensor before, steps_.Run1(read_));
  ASSERT_OK(Run("ScatterAdd", Tensor::Vector<int32_t>({0}), Rows(1, {1, 1})));
  const bool is_resource = GetParam();
  EXPECT_EQ(Values(before),
            is_resource ? (std::vector<float>{0, 1, 2, 3, 4, 5}) : (std::vector<float>{1, 2, 2, 3, 4, 5}));
}

TEST_P(ScatterTest, SlicesAreAssigned) {
  Init();
  const auto ints = [this](const std::vector<int32_t>& values) {
    return b().Const("", Tensor::Vector<int32_t>(values));
  };
  const std::string op = absl::StrCat(GetParam() ? "Resource" : "", "StridedSliceAssign");
  const Output set =
      b().Op(op, "set", {variable_, ints({0, 1}), ints({3, 2}), ints({2, 1}), b().Const("", Rows(2, {7, 8}))});
  ASSERT_OK(steps_.Run({GraphBuilder::Control(set)}));
  EXPECT_EQ(Now(), (std::vector<float>{0, 7, 2, 3, 4, 8}));
  const Output bad =
      b().Op(op, "bad", {variable_, ints({0, 1}), ints({3, 2}), ints({2, 1}), b().Const("", Rows(3, {7, 8, 9}))});
  EXPECT_THAT(steps_.Run({GraphBuilder::Control(bad)}), StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScatterTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Resource" : "Ref"; });

class ResourceGatherTest : public ScatterTest {
 protected:
  Output Gather(absl::string_view op, const Tensor& indices, GraphBuilder::Attrs attrs = {}) {
    attrs.emplace_back("dtype", DType::kFloat);
    return b().Op(op, "", {variable_, b().Const("", indices)}, attrs);
  }
};

TEST_P(ResourceGatherTest, TakesRowsByNumber) {
  Init();
  const absl::StatusOr<Tensor> rows = steps_.Run1(Gather("ResourceGather", Tensor::Vector<int32_t>({2, 0})));
  EXPECT_EQ(Values(rows), (std::vector<float>{4, 5, 0, 1}));
  EXPECT_THAT(steps_.Run1(Gather("ResourceGather", Tensor::Vector<int32_t>({3}))),
              StatusIs(absl::StatusCode::kInvalidArgument, "index 3"));
}

TEST_P(ResourceGatherTest, BatchesGoTogether) {
  Init();
  const Output gather =
      Gather("ResourceGather", Tensor::Of<int64_t>(Shape::Of({3, 1}), {1, 0, 1}), {{"batch_dims", 1}});
  EXPECT_EQ(Values(steps_.Run1(gather)), (std::vector<float>{1, 2, 5}));
}

TEST_P(ResourceGatherTest, NdTakesElements) {
  Init();
  const Output gather = Gather("ResourceGatherNd", Tensor::Of<int32_t>(Shape::Of({2, 2}), {0, 1, 2, 0}));
  EXPECT_EQ(Values(steps_.Run1(gather)), (std::vector<float>{1, 4}));
}

TEST_P(ResourceGatherTest, NdTakesNothingOutOfScalarsAndOfNothing) {
  const Output none = b().Const("none", Tensor::Of<int32_t>(Shape::Of({1, 0}), {}));
  for (const Shape& shape : {Shape(), Shape::Of({0, 2})}) {
    const Output handle = b().Op("VarHandleOp", "", {}, {{"dtype", DType::kFloat}, {"shape", shape}});
    const Output start = b().Const("", Tensor::Of<float>(shape, std::vector<float>(shape.IsScalar() ? 1 : 0)));
    ASSERT_OK(steps_.Run({GraphBuilder::Control(b().Op("AssignVariableOp", "", {handle, start}))}));
    EXPECT_THAT(steps_.Run1(b().Op("ResourceGatherNd", "", {handle, none}, {{"dtype", DType::kFloat}})),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(ScatterBoolsTest, AnySumOrDifferenceButZeroIsTrue) {
  StepRunner steps;
  GraphBuilder& b = steps.graph();
  const auto bools = [&b](const std::vector<bool>& values) {
    Tensor tensor = *Tensor::Make(DType::kBool, Shape::Of({4}), HostAllocator());
    std::copy(values.begin(), values.end(), tensor.flat<bool>().begin());
    return b.Const("", tensor);
  };
  const GraphBuilder::Attrs attrs = {{"dtype", DType::kBool}, {"shape", Shape::Of({4})}};
  const Output v = b.Op("VarHandleOp", "v", {}, attrs);
  ASSERT_OK(steps.Run({GraphBuilder::Control(b.Op("AssignVariableOp", "", {v, bools({false, false, true, true})}))}));
  const Output all = b.Const("", Tensor::Of<int32_t>(Shape::Of({4, 1}), {0, 1, 2, 3}));
  const Output read = b.Op("ReadVariableOp", "read", {v}, {{"dtype", DType::kBool}});
  const auto now = [&]() -> std::vector<bool> {
    const absl::StatusOr<Tensor> value = steps.Run1(read);
    if (!value.ok()) return {};
    const absl::Span<const bool> values = value->flat<bool>();
    return std::vector<bool>(values.begin(), values.end());
  };
  const Output some = bools({false, true, false, true});
  ASSERT_OK(steps.Run({GraphBuilder::Control(b.Op("ResourceScatterNdAdd", "", {v, all, some}))}));
  EXPECT_EQ(now(), (std::vector<bool>{false, true, true, true}));
  ASSERT_OK(steps.Run({GraphBuilder::Control(b.Op("ResourceScatterNdSub", "", {v, all, some}))}));
  EXPECT_EQ(now(), (std::vector<bool>{false, false, true, false}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResourceGatherTest, ::testing::Values(true));

}  // namespace
}  // namespace sluice

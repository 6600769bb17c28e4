#include "executor/session/partial_run.h"

#include <thread>

#include "absl/time/clock.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

// first = a + b, second = first * c.
class PartialRunTest : public SessionFixture {
 protected:
  void SetUp() override {
    const Output a = b_.Placeholder("a", DType::kInt32), b = b_.Placeholder("b", DType::kInt32);
    const Output c = b_.Placeholder("c", DType::kInt32);
    const Output first = b_.Op("AddV2", "first", {a, b});
    b_.Op("Mul", "second", {first, c});
    b_.Op("FloorDiv", "quotient", {first, c});
    b_.Op("Switch", "ports", {first, b_.Placeholder("p", DType::kBool)});
    Open();
  }
  std::string Setup(FeedFetchSpec spec) {
    absl::StatusOr<std::string> handle = session_->PRunSetup(spec);
    EXPECT_OK(handle);
    return handle.ok() ? *handle : "";
  }
  void ExpectStep(const std::string& handle, const NamedTensors& feeds, const std::string& fetch, int32_t expected) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->PRun(handle, feeds, {fetch}));
    EXPECT_EQ(*values[0].AsScalar<int32_t>(), expected);
  }
};

TEST_F(PartialRunTest, IsFedAndFetchedPieceByPiece) {
  const std::string handle = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_EQ(session_->num_partial_runs(), 1u);
  ExpectStep(handle, {{"c", Int(5)}}, "second:0", 15);
  EXPECT_EQ(session_->num_partial_runs(), 0u);
  EXPECT_THAT(session_->PRun(handle, {}, {"first"}), IsError(ErrorCode::kPartialRun));
}

TEST_F(PartialRunTest, AFetchUnderTwoNamesIsOneFetch) {
  const std::string handle = Setup({{"a", "b"}, {"first"}, {}, {}});
  const NamedTensors feeds = {{"a", Int(1)}, {"b", Int(2)}};
  EXPECT_THAT(session_->PRun(handle, feeds, {"first", "first:0"}), IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_THAT(session_->PRun(handle, feeds, {"first", "first"}), IsError(ErrorCode::kPartialRun, "twice"));
  ExpectStep(handle, feeds, "first", 3);
}

TEST_F(PartialRunTest, AFetchedVariableIsACopyThatLaterStepsLeaveAlone) {
  const Tensor ones = Tensor::Vector<int32_t>(std::vector<int32_t>(1000, 1));
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape::Of({1000})}});
  b_.Op("Assign", "start", {v, b_.Const("ones", ones)});
  b_.Op("AssignAdd", "more", {v, b_.Const("more_ones", ones)});
  b_.Op("Identity", "now", {v});
  Open();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  const std::string handle = Setup({{}, {"now"}, {}, {}});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->PRun(handle, {}, {"now"}));
  ASSERT_OK(session_->Run({}, {}, {"more"}));
  EXPECT_EQ(values[0].flat<int32_t>()[999], 1);
}

TEST_F(PartialRunTest, RunsAtTheSameTimeAreApart) {
  const std::string one = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  const std::string other = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(one, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  ExpectStep(other, {{"a", Int(10)}, {"b", Int(20)}}, "first", 30);
  ExpectStep(one, {{"c", Int(2)}}, "second", 6);
  ExpectStep(other, {{"c", Int(2)}}, "second", 60);
}

TEST_F(PartialRunTest, AFetchThatNeedsAnotherFeedIsRefusedAtOnce) {
  const std::string handle = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {"first"}), IsError(ErrorCode::kPartialRun, "b:0"));
  // Nothing has happened.
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}, {"c", Int(3)}}, "second", 9);
  ExpectStep(handle, {}, "first", 3);
}

TEST_F(PartialRunTest, EverythingMayBeUsedOnce) {
  const std::string handle = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}}, {}), IsError(ErrorCode::kPartialRun, "given before"));
  EXPECT_THAT(session_->PRun(handle, {}, {"first"}), IsError(ErrorCode::kPartialRun, "taken before"));
  EXPECT_THAT(session_->PRun(handle, {{"p", Tensor::Scalar(true)}}, {}), IsError(ErrorCode::kPartialRun, "not set up"));
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(1)}, {"c:0", Int(1)}}, {}), IsError(ErrorCode::kPartialRun, "twice"));
  EXPECT_THAT(session_->PRun(handle, {{"c", Tensor::Scalar(1.0f)}}, {}), IsError(ErrorCode::kFeedType, "c"));
  EXPECT_THAT(session_->PRun("nothing", {}, {}), IsError(ErrorCode::kPartialRun));
}

TEST_F(PartialRunTest, AFailingNodeEndsIt) {
  const std::string handle = Setup({{"a", "b", "c"}, {"first", "quotient"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(0)}}, {"quotient"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(PartialRunTest, ADeadFetchEndsIt) {
  const std::string handle = Setup({{"a", "b", "p"}, {"ports:1"}, {}, {}});
  EXPECT_THAT(session_->PRun(handle, {{"a", Int(1)}, {"b", Int(2)}, {"p", Tensor::Scalar(false)}}, {"ports:1"}),
              IsError(ErrorCode::kFetchDead, "ports:1"));
  EXPECT_EQ(session_->num_partial_runs(), 0u);
}

TEST_F(PartialRunTest, MayBeAbandoned) {
  const std::string handle = Setup({{"a", "b", "c"}, {"first", "second"}, {}, {}});
  ExpectStep(handle, {{"a", Int(1)}, {"b", Int(2)}}, "first", 3);
  ASSERT_OK(session_->Close());
  EXPECT_EQ(session_->num_partial_runs(), 0u);
  EXPECT_THAT(session_->PRun(handle, {{"c", Int(1)}}, {"second"}), IsError(ErrorCode::kSessionClosed));
  EXPECT_THAT(session_->PRunSetup({{"a"}, {"first"}, {}, {}}), IsError(ErrorCode::kSessionClosed));
}

}  // namespace
}  // namespace sluice

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "kernels/step/session_state.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

class SessionHandlesTest : public ::testing::Test {
 protected:
  SessionHandlesTest() {
    steps_.run().session_state = &session_;
    steps_.run().tensor_store = &store_;
  }
  GraphBuilder& b() { return steps_.graph(); }

  SessionState session_;
  TensorStore store_;
  StepRunner steps_;
  const Output keep_ = b().Op("GetSessionHandle", "keep", {b().Const("c", Tensor::Scalar(2.5f))});
  const Output handle_ = b().Placeholder("handle", DType::kString);
  const Output get_ = b().Op("GetSessionTensor", "get", {handle_}, {{"dtype", DType::kFloat}});
};

TEST_F(SessionHandlesTest, AFetchedHandleGivesItsTensorLater) {
  ASSERT_OK_AND_ASSIGN(const Tensor handle, steps_.Run1(keep_));
  store_.SaveTo({"keep"}, session_);
  EXPECT_EQ(*steps_.Run1(get_, {{handle_, handle}})->AsScalar<float>(), 2.5f);
  const Output drop = GraphBuilder::Control(b().Op("DeleteSessionTensor", "drop", {handle_}));
  ASSERT_OK(steps_.Run({drop}, {{handle_, handle}}));
  EXPECT_THAT(steps_.Run1(get_, {{handle_, handle}}), StatusIs(absl::StatusCode::kInvalidArgument, "get"));
}

TEST_F(SessionHandlesTest, TheDtypeMustBeRight) {
  session_.Add("h", Tensor::Scalar(int32_t{1}));
  EXPECT_THAT(steps_.Run1(get_, {{handle_, Tensor::String("h")}}), IsError(ErrorCode::kTensorHandle));
}

TEST_F(SessionHandlesTest, WithoutASessionTheOpsSaySo) {
  steps_.run().session_state = nullptr;
  EXPECT_THAT(steps_.Run1(keep_), IsError(ErrorCode::kFacilityMissing));
  EXPECT_THAT(steps_.Run1(get_, {{handle_, Tensor::String("h")}}), IsError(ErrorCode::kFacilityMissing));
}

}  // namespace
}  // namespace sluice

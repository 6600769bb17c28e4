#include "kernels/step/call_frame.h"

#include <utility>

#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "kernels/step/span_call_frame.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A frame that has its values elsewhere.
class OtherFrame final : public CallFrame {
 public:
  size_t num_args() const override { return 0; }
  size_t num_retvals() const override { return 0; }
  absl::StatusOr<Tensor> GetArg(size_t) override { return Tensor::Scalar(1); }
  absl::Status SetRetval(size_t, Tensor) override { return absl::OkStatus(); }
};

TEST(CallFrameTest, OnlySpansAreSpans) {
  SpanCallFrame spans({}, {});
  OtherFrame other;
  for (CallFrame* const frame : {static_cast<CallFrame*>(&spans), static_cast<CallFrame*>(&other)}) {
    EXPECT_EQ(frame->AsSpans(), frame == &spans ? &spans : nullptr);
  }
}

TEST(CallFrameTest, ArgumentsAreGivenUpOnce) {
  Tensor args[] = {Tensor::Scalar(1), Tensor::Scalar(2)};
  SpanCallFrame frame(absl::MakeSpan(args), {});
  ASSERT_EQ(frame.num_args(), 2u);
  ASSERT_OK_AND_ASSIGN(const Tensor second, frame.GetArg(1));
  EXPECT_EQ(*second.AsScalar<int32_t>(), 2);
  EXPECT_FALSE(args[1].has_value());
  EXPECT_TRUE(frame.args()[0].has_value());
  EXPECT_THAT(frame.GetArg(1), IsError(ErrorCode::kFeedMissing, "argument 1"));
  EXPECT_THAT(frame.GetArg(2), IsError(ErrorCode::kFeedMissing, "argument 2"));
}

TEST(CallFrameTest, ResultsAreSetOnce) {
  Tensor results[2];
  SpanCallFrame frame({}, absl::MakeSpan(results));
  ASSERT_EQ(frame.num_retvals(), 2u);
  ASSERT_OK(frame.SetRetval(1, Tensor::Scalar(5)));
  EXPECT_EQ(*frame.retvals()[1].AsScalar<int32_t>(), 5);
  EXPECT_FALSE(results[0].has_value());
  EXPECT_THAT(frame.SetRetval(1, Tensor::Scalar(6)), IsError(ErrorCode::kInternal, "result 1"));
  EXPECT_THAT(frame.SetRetval(2, Tensor::Scalar(6)), IsError(ErrorCode::kInternal, "result 2"));
  EXPECT_EQ(*results[1].AsScalar<int32_t>(), 5);
}

}  // namespace
}  // namespace sluice

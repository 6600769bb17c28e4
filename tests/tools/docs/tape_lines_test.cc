#include "absl/status/status.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace {

absl::Status RunTheLinesOfTheGuide(const sluice::Tensor& x, const sluice::Tensor& y, const sluice::Tensor& weights,
                                   sluice::Tensor* gradient) {
#include "tests/tools/docs/tape_lines.inc"
  *gradient = w.grad().value();
  return absl::OkStatus();
}

// The mean of (x w - y)^2 over one row: 2 (2 * 3 - 1) 2.
TEST(TapeLinesTest, GivesTheGradient) {
  const sluice::Shape one = sluice::Shape::Of({1, 1});
  sluice::Tensor gradient;
  ASSERT_OK(RunTheLinesOfTheGuide(sluice::Tensor::Of<float>(one, {2}), sluice::Tensor::Of<float>(one, {1}),
                                  sluice::Tensor::Of<float>(one, {3}), &gradient));
  EXPECT_EQ(gradient.flat<float>()[0], 20);
}

}  // namespace

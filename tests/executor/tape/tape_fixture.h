#ifndef SLUICE_TESTS_EXECUTOR_TAPE_TAPE_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_TAPE_TAPE_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// A tape, and short ways to make and read variables of floats.
class TapeFixture : public ::testing::Test {
 protected:
  Var Leaf(float value) { return tape_.Leaf(Tensor::Scalar(value)); }
  Var Leaf(const std::vector<float>& values) { return tape_.Leaf(Tensor::Vector<float>(values)); }
  Var Leaf(const Shape& shape, const std::vector<float>& values) {
    return tape_.Leaf(Tensor::Of<float>(shape, values));
  }
  Var Constant(float value) { return tape_.Constant(Tensor::Scalar(value)); }
  Var Constant(const std::vector<float>& values) { return tape_.Constant(Tensor::Vector<float>(values)); }
  Var Constant(const Shape& shape, const std::vector<float>& values) {
    return tape_.Constant(Tensor::Of<float>(shape, values));
  }
  // Empty for a variable without a value.
  static std::vector<float> Values(const Var& var) {
    EXPECT_OK(var.status());
    if (!var.defined() || var.dtype() != DType::kFloat) return {};
    const absl::Span<const float> values = var.value().flat<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  static std::vector<float> GradOf(const Var& var) { return Values(var.grad()); }
  absl::Status Backward(const Var& root, const Var& seed, bool retain_graph = false, bool create_graph = false) {
    BackwardOptions options;
    options.retain_graph = retain_graph || create_graph;
    options.create_graph = create_graph;
    return tape_.Backward({root}, {seed}, options);
  }
  absl::Status Retained(const Var& root) { return Backward(root, Var(), /*retain_graph=*/true); }
  // The derivative of one root by one input, recorded.
  Var Derivative(const Var& y, const Var& x) {
    GradOptions options;
    options.create_graph = true;
    const absl::StatusOr<std::vector<Var>> grads = tape_.Grad({y}, {x}, {}, options);
    return grads.ok() ? (*grads)[0] : Var::Failed(grads.status());
  }

  Tape tape_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_TAPE_TAPE_FIXTURE_H_

#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_GRADIENTS_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_GRADIENTS_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// Builds a graph of floats in b_, adds gradients and runs them.
class GradientsFixture : public ::testing::Test {
 protected:
  Output Input(absl::string_view name) { return b_.Placeholder(name, DType::kFloat); }
  Output Number(absl::string_view name, float value) { return b_.Const(name, Tensor::Scalar(value)); }
  Output Int(absl::string_view name, int32_t value) { return b_.Const(name, Tensor::Scalar(value)); }
  static Output Nth(Output output, int32_t index) { return GraphBuilder::Nth(output, index); }

  absl::StatusOr<GradientResult> Add(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                     const GradientOptions& options = {}) {
    EXPECT_OK(b_.status());
    return AddGradients(b_.graph(), ys, xs, options);
  }
  // The elements of `outputs`, which are floats; sparse ones are made dense.
  absl::StatusOr<std::vector<std::vector<float>>> Run(const std::vector<Output>& outputs, const NamedTensors& feeds) {
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(SessionOptions(), b_.graph()));
    std::vector<std::string> names;
    for (const Output& output : outputs) names.push_back(b_.graph().OutputName(output));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, session->Run(feeds, names, {}));
    std::vector<std::vector<float>> values;
    for (const Tensor& tensor : tensors) {
      values.emplace_back(tensor.flat<float>().begin(), tensor.flat<float>().end());
    }
    return values;
  }
  // The gradients of the sum of `ys` with respect to `xs`; an empty list for one that is not connected.
  absl::StatusOr<std::vector<std::vector<float>>> Gradients(const std::vector<Output>& ys,
                                                            const std::vector<Output>& xs, const NamedTensors& feeds,
                                                            const GradientOptions& options = {}) {
    SLUICE_ASSIGN_OR_RETURN(const GradientResult found, Add(ys, xs, options));
    std::vector<Output> connected;
    for (size_t i = 0; i < xs.size(); ++i) {
      if (!found.xs[i].is_set()) continue;
      SLUICE_ASSIGN_OR_RETURN(const Output dense, DenseGradient(b_.graph(), xs[i], found.xs[i], found.name));
      connected.push_back(dense);
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::vector<float>> values, Run(connected, feeds));
    std::vector<std::vector<float>> all;
    size_t next = 0;
    for (const Gradient& gradient : found.xs) {
      all.push_back(gradient.is_set() ? values[next++] : std::vector<float>());
    }
    return all;
  }

  GraphBuilder b_{NewOpRegistry()};
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_GRADIENTS_FIXTURE_H_

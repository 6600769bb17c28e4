// Gradients of random values by the parameters of their distribution: their means over many values are the derivatives
// of the means.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kCount = 40000;

// The gradients of the mean of `y` by `xs`.
absl::StatusOr<std::vector<double>> OfMean(GraphBuilder& b, Output y, const std::vector<Output>& xs) {
  const Output axes = b.Op("Range", "axes",
                           {b.Const("first", Tensor::Scalar<int32_t>(0)), b.Op("Rank", "rank", {y}),
                            b.Const("step", Tensor::Scalar<int32_t>(1))});
  const Output mean = b.Op("Mean", "mean", {y, axes});
  SLUICE_RETURN_IF_ERROR(b.status());
  SLUICE_ASSIGN_OR_RETURN(const GradientResult result, AddGradients(b.graph(), {mean}, xs));
  std::vector<std::string> names;
  for (size_t i = 0; i < xs.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Output dense, DenseGradient(b.graph(), xs[i], result.xs[i], "dense"));
    names.push_back(b.graph().OutputName(dense));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create({}, b.graph()));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> found, session->Run({}, names, {}));
  std::vector<double> values;
  for (const Tensor& tensor : found) values.push_back(tensor.flat<double>()[0]);
  return values;
}

Output Parameter(GraphBuilder& b, const std::string& name, double value) {
  return b.Const(name, Tensor::Of<double>(Shape::Of({1}), {value}));
}
Output Seed(GraphBuilder& b) { return b.Const("seed", Tensor::Vector<int64_t>({3, 5})); }
Output SampleShape(GraphBuilder& b, std::vector<int32_t> dims) {
  return b.Const("shape", Tensor::Vector<int32_t>(dims));
}

// The mean of a gamma distribution is its parameter.
TEST(RandomGradientsTest, GammaOfAState) {
  GraphBuilder b(NewOpRegistry());
  const Output alpha = Parameter(b, "alpha", 1.7);
  const Output y = b.Op("RandomGamma", "y", {SampleShape(b, {kCount}), alpha}, {{"seed", 3}, {"seed2", 5}});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradient, OfMean(b, y, {alpha}));
  EXPECT_NEAR(gradient[0], 1, 0.02);
}

TEST(RandomGradientsTest, GammaWithoutState) {
  GraphBuilder b(NewOpRegistry());
  const Output alpha = Parameter(b, "alpha", 0.6);
  const Output y = b.Op("StatelessRandomGammaV2", "y", {SampleShape(b, {kCount, 1}), Seed(b), alpha});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradient, OfMean(b, y, {alpha}));
  EXPECT_NEAR(gradient[0], 1, 0.02);
}

TEST(RandomGradientsTest, GammaOfAKey) {
  GraphBuilder b(NewOpRegistry());
  const Output alpha = Parameter(b, "alpha", 3);
  const Output key = b.Op("StatelessRandomGetKeyCounter", "key", {Seed(b)});
  const Output algorithm = b.Op("StatelessRandomGetAlg", "algorithm", {});
  const Output y = b.Op("StatelessRandomGammaV3", "y",
                        {SampleShape(b, {kCount, 1}), key, GraphBuilder::Nth(key, 1), algorithm, alpha});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradient, OfMean(b, y, {alpha}));
  EXPECT_NEAR(gradient[0], 1, 0.02);
}

double Density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846); }
double Cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The mean of a normal distribution cut at both ends.
double CutMean(const std::vector<double>& p) {
  const double low = (p[2] - p[0]) / p[1], high = (p[3] - p[0]) / p[1];
  return p[0] + p[1] * (Density(low) - Density(high)) / (Cdf(high) - Cdf(low));
}

TEST(RandomGradientsTest, TruncatedNormal) {
  const std::vector<double> parameters = {0.3, 1.2, -0.5, 1.9};
  GraphBuilder b(NewOpRegistry());
  std::vector<Output> xs;
  for (size_t i = 0; i < parameters.size(); ++i) xs.push_back(Parameter(b, "p" + std::to_string(i), parameters[i]));
  const Output y = b.Op("StatelessParameterizedTruncatedNormal", "y",
                        {SampleShape(b, {kCount, 1}), Seed(b), xs[0], xs[1], xs[2], xs[3]});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradient, OfMean(b, y, xs));
  // Of the bounds the gradients are the derivatives of the mean. Those of mean and deviation take the bounds, in
  // deviations from the mean, as given, as TensorFlow does: the derivative of what is left.
  for (size_t i = 2; i < 4; ++i) {
    std::vector<double> above = parameters, below = parameters;
    above[i] += 1e-4;
    below[i] -= 1e-4;
    EXPECT_NEAR(gradient[i], (CutMean(above) - CutMean(below)) / 2e-4, 0.02) << i;
  }
  EXPECT_NEAR(gradient[0], 1, 1e-9);
  EXPECT_NEAR(gradient[1], (CutMean(parameters) - parameters[0]) / parameters[1], 0.02);
}

}  // namespace
}  // namespace sluice

// Gradients that plug-ins bring: AddGradients through their ops.

#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/gradients/gradients.h"
#include "gtest/gtest.h"
#include "tests/kernels/plugin/plugin_catalogue.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

class PluginGradientsTest : public testing::Test {
 protected:
  // Of y with respect to x, at `at`: what the graph gives, and a central difference.
  void Check(GraphBuilder& b, const Output& y, const Output& x, double at) {
    ASSERT_OK(b.status());
    ASSERT_OK_AND_ASSIGN(const GradientResult found, AddGradients(b.graph(), {y}, {x}));
    ASSERT_TRUE(found.xs[0].is_set());
    const std::string dx = b.graph().OutputName(found.xs[0].value), name = b.graph().OutputName(y);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(b.graph()));
    const auto value = [&](const std::string& fetch, double point) {
      const auto values = session->Run({{"x", Tensor::Scalar(static_cast<float>(point))}}, {fetch}, {});
      EXPECT_OK(values.status());
      return values.ok() ? static_cast<double>(*(*values)[0].AsScalar<float>()) : 0;
    };
    EXPECT_NEAR(value(dx, at), (value(name, at + 1e-2) - value(name, at - 1e-2)) / 2e-2, 1e-2);
  }

  PluginCatalogue catalogue_;
};

TEST_F(PluginGradientsTest, AnOpOfAPlugInIsDifferentiated) {
  ASSERT_OK(catalogue_.Load("libgood.so"));
  GraphBuilder b(catalogue_.ops);
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output scaled = b.Op("PluginScale", "scaled", {b.Op("Sin", "sin", {x})}, {{"scale", 3.0f}});
  Check(b, b.Op("Square", "y", {scaled}), x, 0.7);
}

// Both outputs, or one of them, which leaves zeros for the other; twice.
TEST_F(PluginGradientsTest, AnOpOfSeveralInputsAndOutputs) {
  ASSERT_OK(catalogue_.Load("libgood.so"));
  for (const bool both : {true, false}) {
    GraphBuilder b(catalogue_.ops);
    const Output x = b.Placeholder("x", DType::kFloat);
    const Output pair =
        b.Op("PluginSumAndDifference", "pair", {b.Op("Square", "square", {x}), b.Op("Sin", "sin", {x})});
    const Output other = both ? pair : x;
    const Output y = b.Op("Mul", "y", {GraphBuilder::Nth(pair, 1), other});
    Check(b, y, x, 0.7);
    ASSERT_OK_AND_ASSIGN(const GradientResult first, AddGradients(b.graph(), {y}, {x}));
    Check(b, first.xs[0].value, x, 0.4);
  }
}

TEST_F(PluginGradientsTest, WhatAGradientDoesWrongIsAnErrorOfItsNode) {
  ASSERT_OK(catalogue_.Load("libbad.so"));
  const auto failure = [&](const std::string& op) {
    GraphBuilder b(catalogue_.ops);
    const Output x = b.Placeholder("x", DType::kFloat);
    const Output y = b.Op(op, "the_node", {x});
    const int32_t before = b.graph().id_limit();
    const absl::Status status = AddGradients(b.graph(), {y}, {x}).status();
    for (int32_t i = before; i < b.graph().id_limit(); ++i) EXPECT_FALSE(b.graph().Contains(NodeId(i)));
    return status.ok() ? "" : FormatError(status);
  };
  const auto says = [](const char* what) { return ::testing::AllOf(HasSubstr("'the_node'"), HasSubstr(what)); };
  EXPECT_THAT(failure("AsksForTooMany"), says("input 7 of 1"));
  EXPECT_THAT(failure("SetsTooMany"), says("input 3 of 1"));
  EXPECT_THAT(failure("SetsOtherType"), says("not of its type"));
  EXPECT_THAT(failure("AddsUnknownOp"), HasSubstr("NoSuchOp"));
  EXPECT_THAT(failure("AddsNoOutput"), HasSubstr("NoOp, which has no outputs"));
  EXPECT_THAT(failure("NeedsANumberTooLarge"), HasSubstr("found 1e+300, expected int32"));
  EXPECT_THAT(failure("InventsAValue"), says("value 99"));
  EXPECT_THAT(failure("ThrowsInGradient"), says("thrown across the border"));
  EXPECT_THAT(failure("SetsNothing"), says("no gradient"));
}

TEST_F(PluginGradientsTest, AnOpThatHasAGradientKeepsIt) {
  EXPECT_THAT(catalogue_.Load("libgradient_of_known_op.so"),
              IsError(ErrorCode::kOpSchema, "gradient of 'MatMul': the op has one already"));
  EXPECT_EQ(catalogue_.ops->Find("HalfDone"), nullptr);
}

}  // namespace
}  // namespace sluice

// What kernels of plug-ins can do, and what becomes of those that break the rules.

#include <thread>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/session/session.h"
#include "graph/shapes/inference.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/plugin/plugin_catalogue.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Tensor Floats(int64_t count, float value) {
  return Tensor::Vector<float>(std::vector<float>(static_cast<size_t>(count), value));
}

class GoodPluginTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(catalogue_.Load("libgood.so")); }

  PluginCatalogue catalogue_;
};

TEST_F(GoodPluginTest, AnElementwiseOpWorksInPartsAndForItsTypes) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue_.Run("PluginScale", {Floats(200000, 3)}, {{"scale", 4.0f}}));
  ASSERT_EQ(y.num_elements(), 200000);
  for (const float value : y.flat<float>()) ASSERT_EQ(value, 12);
  ASSERT_OK_AND_ASSIGN(const Tensor d, catalogue_.Run("PluginScale", {Tensor::Scalar(3.0)}));
  EXPECT_EQ(*d.AsScalar<double>(), 6);
  EXPECT_THAT(catalogue_.Run("PluginScale", {Tensor::Scalar<int32_t>(3)}), IsError(ErrorCode::kAttrValue));
}

TEST_F(GoodPluginTest, ItWorksInTheMemoryOfAnInputThatNothingElseNeeds) {
  GraphBuilder b(catalogue_.ops);
  const Output x = b.Placeholder("x", DType::kFloat);
  b.Op("PluginScale", "y", {b.Op("PluginScale", "h", {b.Op("Neg", "n", {x})})});
  b.Op("AddV2", "sum", {x, b.Op("PluginScale", "of_x", {x})});  // Here something does.
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  const Tensor input = Floats(1000, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results, session->Run({{"x", input}}, {"y", "sum"}, {}));
  EXPECT_EQ(results[0].flat<float>()[999], -4);
  EXPECT_EQ(results[1].flat<float>()[999], 3);
  EXPECT_EQ(input.flat<float>()[999], 1);
}

TEST_F(GoodPluginTest, SeveralOutputsMayNameTheSameInputs) {
  GraphBuilder b(catalogue_.ops);
  const Output x = b.Placeholder("x", DType::kFloat), z = b.Placeholder("z", DType::kFloat);
  const Output y = b.Op("PluginSumAndDifference", "y", {b.Op("Neg", "n", {x}), b.Op("Neg", "m", {z})});
  b.Op("Neg", "difference", {GraphBuilder::Nth(y, 1)});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results,
                       session->Run({{"x", Floats(1000, 3)}, {"z", Floats(1000, 1)}}, {"y", "difference"}, {}));
  EXPECT_EQ(results[0].flat<float>()[999], -4);
  EXPECT_EQ(results[1].flat<float>()[999], 2);
}

TEST_F(GoodPluginTest, AViewOfAnInputKeepsItsSizesWhenTheMemoryIsForwarded) {
  GraphBuilder b(catalogue_.ops);
  b.Op("PluginSizes", "y", {b.Op("Neg", "n", {b.Placeholder("x", DType::kFloat)})});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  for (const Shape& shape : {Shape::Of({20, 50}), Shape::Of({5, 2, 3, 4, 7, 2})}) {
    ASSERT_OK_AND_ASSIGN(const Tensor x, Tensor::MakeZeros(DType::kFloat, shape));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, session->Run({{"x", x}}, {"y"}, {}));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      EXPECT_EQ(y[0].flat<float>()[static_cast<size_t>(axis)], static_cast<float>(shape.dim(axis))) << axis;
    }
  }
}

TEST_F(GoodPluginTest, StringsAreReadAndWritten) {
  const std::string large(100, 'z');
  ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue_.Run("PluginJoin", {Tensor::String("a"), Tensor::String(large)}));
  EXPECT_EQ(y.flat<TString>()[0].view(), "a-" + large);
  ASSERT_OK_AND_ASSIGN(const Tensor z,
                       catalogue_.Run("PluginJoin", {Tensor::String("a"), Tensor::String("")}, {{"separator", ", "}}));
  EXPECT_EQ(z.flat<TString>()[0].view(), "a, ");
}

TEST_F(GoodPluginTest, ErrorsNameTheNodeAndTheUsersTensor) {
  EXPECT_THAT(catalogue_.Run("PluginHead", {Tensor::Scalar(1.0f), Tensor::Scalar<int64_t>(1)}),
              IsError(ErrorCode::kOpShape, "PluginHead 'y': input 0 'x0' has the wrong rank"));
  const absl::StatusOr<Tensor> far = catalogue_.Run("PluginHead", {Floats(3, 1), Tensor::Scalar<int64_t>(4)});
  EXPECT_EQ(far.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(far.status().message().find("count is 4"), absl::string_view::npos) << far.status();
  EXPECT_NE(far.status().message().find("'y'"), absl::string_view::npos) << far.status();
}

TEST_F(GoodPluginTest, ShapesAreInferredFromShapesValuesAndAttrs) {
  GraphBuilder b(catalogue_.ops);
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({7}));
  const Output scaled = b.Op("PluginScale", "scaled", {x});
  const Output head = b.Op("PluginHead", "head", {scaled, b.Const("five", Tensor::Scalar<int64_t>(5))});
  const Output any = b.Op("PluginHead", "any", {x, b.Placeholder("count", DType::kInt64)});
  const Output bad = b.Op("PluginHead", "bad", {x, b.Const("less", Tensor::Scalar<int64_t>(-1))});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const ShapeMap shapes, InferShapes(graph));
  EXPECT_EQ(shapes.shape(scaled), PartialShape::Of({7}));
  EXPECT_EQ(shapes.shape(head), PartialShape::Of({5}));
  EXPECT_EQ(shapes.shape(any), PartialShape::Of({-1}));
  EXPECT_EQ(shapes.shape(bad), PartialShape());
  ASSERT_EQ(shapes.problems().size(), 1u);
  EXPECT_NE(shapes.problems()[0].status.message().find("count is negative"), absl::string_view::npos);
}

TEST_F(GoodPluginTest, ShapesAreBroadcastAndMerged) {
  GraphBuilder b(catalogue_.ops);
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({4, 1}));
  const Output y = b.Placeholder("y", DType::kFloat, PartialShape::Of({4, 3}));
  const Output any = b.Placeholder("any", DType::kFloat, PartialShape::Of({-1, 3}));
  const Output broadcast = b.Op("PluginBroadcast", "broadcast", {x, y}), both = b.Op("PluginBoth", "both", {y, any});
  b.Op("PluginBoth", "unlike", {x, y});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const ShapeMap shapes, InferShapes(graph));
  EXPECT_EQ(shapes.shape(broadcast), PartialShape::Of({4, 3}));
  EXPECT_EQ(shapes.shape(both), PartialShape::Of({4, 3}));
  ASSERT_EQ(shapes.problems().size(), 1u);
  EXPECT_THAT(shapes.problems()[0].status, IsError(ErrorCode::kShapeMismatch, "'unlike'"));
}

TEST_F(GoodPluginTest, ATensorOfTheKernelsOwnBecomesAnOutput) {
  GraphBuilder b(catalogue_.ops);
  const Output y = b.Op("PluginBackwards", "y", {b.Placeholder("x", DType::kFloat)});
  b.Op("Identity", "place", {GraphBuilder::Nth(y, 1)});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> results,
                       session->Run({{"x", Tensor::Vector<float>({1, 2, 3, 4, 5})}}, {"y", "place"}, {}));
  EXPECT_EQ(results[0].flat<float>()[0], 5);
  EXPECT_EQ(results[0].flat<float>()[4], 1);
  EXPECT_NE(results[1].flat<int64_t>()[0], 0);
  EXPECT_EQ(results[1].flat<int64_t>()[1], 0);
}

TEST_F(GoodPluginTest, MemoryOfThePlugInIsGivenBackWhenNothingUsesIt) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue_.Run("PluginOwnMemory", {}));
    EXPECT_EQ(y.flat<int64_t>()[63], 1);  // The one of the round before is gone.
  }
}

TEST_F(GoodPluginTest, MemoryOfThePlugInIsNotWorkedInByOtherOps) {
  GraphBuilder b(catalogue_.ops);
  b.Op("Neg", "z", {b.Op("PluginTable", "y", {})});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  for (int step = 0; step < 2; ++step) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> z, session->Run({}, {"z"}, {}));
    EXPECT_EQ(z[0].flat<float>()[63], -5);
  }
}

TEST_F(GoodPluginTest, EveryKindOfAttrIsRead) {
  const Tensor x = Tensor::Scalar<int32_t>(0);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       catalogue_.Run("PluginAttrs", {x, x}, {{"tensor", Tensor::Vector<float>({8, 9})}}));
  EXPECT_EQ(y.flat<TString>()[0].view(),
            "PluginAttrs y: 3 1 text 3 2,-1, 8 9 4 5 a b yes no 1 7 x 0+2 none y 0+1 2 1 3 7");
}

TEST_F(GoodPluginTest, AStatefulOpKeepsItsKernelAndEachNodeItsOwn) {
  GraphBuilder b(catalogue_.ops);
  b.Op("PluginCount", "a", {});
  b.Op("PluginCount", "b", {});
  b.Op("PluginCount", "c", {}, {{"start", int64_t{10}}});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  for (int64_t step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> calls, session->Run({}, {"a", "c"}, {}));
    EXPECT_EQ(*calls[0].AsScalar<int64_t>(), step);
    EXPECT_EQ(*calls[1].AsScalar<int64_t>(), 10 + step);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> calls, session->Run({}, {"b", "a"}, {}));  // Another signature.
  EXPECT_EQ(*calls[0].AsScalar<int64_t>(), 0);
  EXPECT_EQ(*calls[1].AsScalar<int64_t>(), 3);
}

TEST_F(GoodPluginTest, ATensorCanBeKeptBeyondTheCallAndTheSession) {
  GraphBuilder b(catalogue_.ops);
  b.Op("PluginFirst", "y", {b.Placeholder("x", DType::kFloat)});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, catalogue_.Open(std::move(graph)));
  ASSERT_OK(session->Run({{"x", Floats(50, 1)}}, {"y"}, {}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, session->Run({{"x", Floats(60, 2)}}, {"y"}, {}));
  session.reset();
  EXPECT_EQ(y[0].num_elements(), 50);
  EXPECT_EQ(y[0].flat<float>()[49], 1);
}

TEST_F(GoodPluginTest, AnAsynchronousKernelAnswersFromItsOwnThread) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue_.Run("PluginLater", {Floats(100, 3)}));
    ASSERT_EQ(y.flat<float>()[99], 4);
  }
}

TEST_F(GoodPluginTest, AnAsynchronousKernelHearsOfTheCancellation) {
  CancellationManager cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  std::thread canceller([&cancellation] { cancellation.StartCancel(); });
  EXPECT_EQ(catalogue_.Run("PluginWait", {}, {}, options).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  // Cancelled before it began.
  EXPECT_EQ(catalogue_.Run("PluginWait", {}, {}, options).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(GoodPluginTest, WorkThatIsCutShortEndsAsThatOfAnyKernel) {
  for (const std::string op : {"PluginEndless", "PluginEndlessLater"}) {
    CallOptions late;
    late.deadline = absl::Now() + absl::Milliseconds(50);
    EXPECT_THAT(catalogue_.Run(op, {}, {}, late), IsError(ErrorCode::kDeadline)) << op;
    CancellationManager cancellation;
    CallOptions options;
    options.cancellation = &cancellation;
    std::thread canceller([&cancellation] { cancellation.StartCancel(); });
    EXPECT_THAT(catalogue_.Run(op, {}, {}, options), IsError(ErrorCode::kRunCancelled)) << op;
    canceller.join();
  }
}

class BadPluginTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(catalogue_.Load("libbad.so")); }
  absl::Status Run(const std::string& op) { return catalogue_.Run(op, {Floats(10, 1)}).status(); }

  PluginCatalogue catalogue_;
};

TEST_F(BadPluginTest, OutputsThatAreMissingOrOfAnotherTypeAreErrors) {
  EXPECT_THAT(Run("SetsNothing"), IsError(ErrorCode::kOutputMissing, "SetsNothing 'y'"));
  EXPECT_THAT(Run("SetsWrongType"), IsError(ErrorCode::kOutputType, "found int32, expected float32"));
}

TEST_F(BadPluginTest, WhatIsOutOfRangeIsAnError) {
  EXPECT_THAT(Run("ReadsTooMany"), IsError(ErrorCode::kHostKernel, "input 5 of 1"));
  EXPECT_THAT(Run("WritesTooMany"), IsError(ErrorCode::kHostKernel, "output -1 of 1"));
  EXPECT_EQ(Run("AllocatesNonsense").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run("ReadsWrongType").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Run("FailsToBeMade"), IsError(ErrorCode::kAttrMissing, "no_such_attr"));
}

TEST_F(BadPluginTest, WhatIsNoTensorOrNotTheKernelsIsAnError) {
  EXPECT_THAT(Run("SetsNoTensor"), IsError(ErrorCode::kHostKernel, "NULL for a tensor"));
  EXPECT_EQ(Run("ReadsNoTensor").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(catalogue_.Run("WritesAnInput", {Tensor::String("theirs")}),
              IsError(ErrorCode::kHostKernel, "strings that are not its own"));
}

TEST_F(BadPluginTest, AnErrorThatWasHandedOverBeforeIsStillAnError) {
  EXPECT_THAT(Run("FailsWithAnOldError"), IsError(ErrorCode::kForeign, "was handed over before"));
}

TEST_F(BadPluginTest, AnErrorInAPartEndsTheKernel) {
  const absl::Status status = Run("FailsInPart");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("part 77 is not ready"), absl::string_view::npos) << status;
}

TEST_F(BadPluginTest, ACallThatIsFinishedTwiceIsAnsweredOnceAndLogged) {
  LogCapture log;
  EXPECT_OK(Run("FinishesTwice"));
  EXPECT_NE(absl::StrJoin(log.lines(), "\n").find("`finish` twice"), std::string::npos)
      << absl::StrJoin(log.lines(), "\n");
}

TEST_F(BadPluginTest, ACallThatIsDroppedIsAnError) {
  EXPECT_THAT(Run("Drops"), IsError(ErrorCode::kForeign, "dropped the call without an answer"));
}

TEST_F(BadPluginTest, WhatAnAsynchronousKernelThrowsIsItsError) {
  const absl::Status thrown = Run("ThrowsLater");
  EXPECT_EQ(thrown.code(), absl::StatusCode::kInternal);
  EXPECT_NE(thrown.message().find("later never comes"), absl::string_view::npos) << thrown;
  const absl::Status failed = Run("FailsLater");
  EXPECT_EQ(failed.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(failed.message().find("there is no row 7"), absl::string_view::npos) << failed;
}

TEST_F(BadPluginTest, ExceptionsThatCrossTheBorderAreErrors) {
  LogCapture log;
  EXPECT_THAT(Run("Throws"), IsError(ErrorCode::kKernelException, "thrown across the border"));
  EXPECT_NE(absl::StrJoin(log.lines(), "\n").find("`destroy` of a plug-in"), std::string::npos)
      << absl::StrJoin(log.lines(), "\n");
  EXPECT_THAT(Run("ThrowsAsync"), IsError(ErrorCode::kKernelException, "thrown across the border"));
}

TEST_F(BadPluginTest, AShapeFunctionThatBreaksTheRulesIsAProblemOfItsNode) {
  GraphBuilder b(catalogue_.ops);
  b.Op("BadShape", "y", {b.Placeholder("x", DType::kFloat)});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const ShapeMap shapes, InferShapes(graph));
  ASSERT_EQ(shapes.problems().size(), 1u);
  EXPECT_THAT(shapes.problems()[0].status, IsError(ErrorCode::kHostKernel, "BadShape 'y'"));
}

// Kernels written for TensorFlow's C interface, over a layer that is written over that of plug-ins.
TEST(TensorFlowKernelsTest, TheyRunAsAPlugIn) {
  PluginCatalogue catalogue;
  ASSERT_OK(catalogue.Load("libtf_kernels.so"));
  const GraphBuilder::Attrs attrs = {{"coefficients", std::vector<float>{1, 0, 2}}};  // 1 + 2 x^2.
  for (const std::string op : {"Polynomial", "PolynomialAsync"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue.Run(op, {Tensor::Vector<float>({0, 1, 3})}, attrs));
    EXPECT_EQ(y.flat<float>()[0], 1);
    EXPECT_EQ(y.flat<float>()[1], 3);
    EXPECT_EQ(y.flat<float>()[2], 19);
    const absl::StatusOr<Tensor> none =
        catalogue.Run(op, {Tensor::Scalar(1.0f)}, {{"coefficients", AttrValue::EmptyList()}});
    EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(none.status().message().find("needs coefficients"), absl::string_view::npos) << none.status();
  }
}

}  // namespace
}  // namespace sluice

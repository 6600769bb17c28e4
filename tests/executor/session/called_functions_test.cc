// Functions that are called give what inlined ones give. See Note [Called or inlined] in graph/functions/call_choice.h
// and Note [Called bodies] in executor/plan/called_body.h.

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/called_functions_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

TEST_F(CalledFunctionsTest, ACallGivesWhatTheBodyGives) {
  SquarePlusOne().AddTo(b_.graph());
  Call(b_, "y", "SquarePlusOne", {PlaceholderX()}, {DType::kFloat});
  ExpectEqualAnswers("y", {{"x", Float(3)}}, 10, 1);
}

TEST_F(CalledFunctionsTest, BodiesCallBodies) {
  XTimesTwo().AddTo(b_.graph());
  XTimesFour().AddTo(b_.graph());
  const Output y = Call(b_, "y", "XTimesFour", {PlaceholderX()}, {DType::kFloat}, {{"T", DType::kFloat}});
  b_.Op("AddV2", "z", {y, Call(b_, "w", "XTimesTwo", {y}, {DType::kFloat}, {{"T", DType::kFloat}})});
  ExpectEqualAnswers("z", {{"x", Float(1.5)}}, 18, 2);
  EXPECT_EQ(session_->core().body_store().num_bodies(), 2u);
}

// Bodies stay for later plans, without the registers that the next run of one would need.
TEST_F(CalledFunctionsTest, WhatRunsLeaveIsFreedWithTheLastPlanThatUsesTheBody) {
  XTimesTwo().AddTo(b_.graph());
  XTimesFour().AddTo(b_.graph());
  Call(b_, "y", "XTimesFour", {PlaceholderX()}, {DType::kFloat}, {{"T", DType::kFloat}});
  OpenWith(CallPolicy::kCall, Driver::kDataflow);
  const BodyStore& bodies = session_->core().body_store();
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<const Callable> first, session_->Prepare({{"x"}, {"y"}, {}, {}}));
  ASSERT_OK_AND_ASSIGN(std::shared_ptr<const Callable> second, session_->Prepare({{"x"}, {"y"}, {}, {}}));
  EXPECT_EQ(bodies.kept_bytes(), 0u);
  Tensor in = Float(3), out;
  ASSERT_OK(first->Run(absl::MakeSpan(&in, 1), absl::MakeSpan(&out, 1)));
  EXPECT_GT(bodies.kept_bytes(), 0u);
  first.reset();
  EXPECT_GT(bodies.kept_bytes(), 0u) << "another one uses it";
  second.reset();
  EXPECT_EQ(bodies.kept_bytes(), 0u);
  EXPECT_EQ(bodies.num_bodies(), 2u);
}

TEST_F(CalledFunctionsTest, EachBindingHasABodyOfItsOwn) {
  XTimesTwo().AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output n = b_.Op("Cast", "n", {x}, {{"DstT", DType::kInt32}});
  const Output twice = Call(b_, "twice", "XTimesTwo", {n}, {DType::kInt32}, {{"T", DType::kInt32}});
  const Output back = b_.Op("Cast", "back", {twice}, {{"DstT", DType::kFloat}});
  b_.Op("AddV2", "z", {back, Call(b_, "w", "XTimesTwo", {x}, {DType::kFloat}, {{"T", DType::kFloat}})});
  ExpectEqualAnswers("z", {{"x", Float(1.5)}}, 5, 2);
  EXPECT_EQ(session_->core().body_store().num_bodies(), 2u);
}

TEST_F(CalledFunctionsTest, BranchesAndLoopsCall) {
  AddOne().AddTo(b_.graph());
  LessThanTen().AddTo(b_.graph());
  Negate().AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output loop = b_.Op("While", "loop", {x},
                            {{"T", std::vector<DType>{DType::kFloat}},
                             {"cond", AttrValue::Func("LessThanTen", {})},
                             {"body", AttrValue::Func("AddOne", {})}});
  const Output positive = b_.Op("Greater", "positive", {x, b_.Const("zero", Float(0))});
  b_.Op("If", "branch", {positive, loop},
        {{"Tin", std::vector<DType>{DType::kFloat}},
         {"Tout", std::vector<DType>{DType::kFloat}},
         {"then_branch", AttrValue::Func("AddOne", {})},
         {"else_branch", AttrValue::Func("Negate", {})}});
  // Calls of cond, body and both branches.
  ExpectEqualAnswers("branch", {{"x", Float(2.5)}}, 11.5, 4);
  ExpectEqualAnswers("branch", {{"x", Float(-2.5)}}, -10.5, 4);
}

TEST_F(CalledFunctionsTest, ArgumentsThatAreNotReadOrGivenBackAsTheyCame) {
  FunctionText("Pick")
      .Arg("a: float")
      .Arg("b: float")
      .Arg("unused: float")
      .Result("same: float", "b")
      .Result("again: float", "b")
      .Result("five: float", "five:output:0")
      .Result("sum: float", "sum:z:0")
      .Node("five = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(5.0f)}})
      .Node("sum = AddV2(a, a)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output two = b_.Op("AddV2", "two", {x, x});
  const Output pick = Call(b_, "pick", "Pick", {x, two, two}, std::vector<DType>(4, DType::kFloat));
  b_.Op("AddN", "all", {pick, GraphBuilder::Nth(pick, 1), GraphBuilder::Nth(pick, 2), GraphBuilder::Nth(pick, 3)});
  ExpectEqualAnswers("all", {{"x", Float(1)}}, 2 + 2 + 5 + 2, 1);
}

// After a Switch an inlined body would begin with the arguments that live.
TEST_F(CalledFunctionsTest, ACallWhoseArgumentsMayBeDeadIsInlined) {
  XTimesTwo().AddTo(b_.graph());
  FunctionText("Both")
      .Arg("a: float")
      .Arg("b: float")
      .Result("first: float", "first:z:0")
      .Result("second: float", "second:z:0")
      .Node("first = AddV2(a, a)", {{"T", DType::kFloat}})
      .Node("second = AddV2(b, b)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output yes = b_.Const("yes", Tensor::Scalar(true));
  const Output ports = b_.Op("Switch", "ports", {x, yes});
  const Output both = Call(b_, "both", "Both", {x, ports}, {DType::kFloat, DType::kFloat});
  b_.Op("Identity", "lives", {both});
  b_.Op("Merge", "merged", {GraphBuilder::Nth(both, 1), x}, {{"N", 2}});
  ExpectEqualAnswers("lives", {{"x", Float(2)}}, 4, 0);
  ExpectEqualAnswers("merged", {{"x", Float(2)}}, 2, 0);
}

// The same within a body, and after one that gives a dead value back.
TEST_F(CalledFunctionsTest, ACallInOrAfterABodyWithASwitchIsInlined) {
  FunctionText("Both")
      .Arg("a: float")
      .Arg("b: float")
      .Result("first: float", "first:z:0")
      .Node("first = AddV2(a, a)", {{"T", DType::kFloat}})
      .Node("second = AddV2(b, b)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  FunctionText("Switches")
      .Arg("x: float")
      .Result("inner: float", "both:first:0")
      .Result("dead: float", "ports:output_false:0")
      .Node("yes = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}})
      .Node("ports = Switch(x, yes:output:0)", {{"T", DType::kFloat}})
      .Node("both = Both(x, ports:output_false:0)")
      .AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output in = Call(b_, "in", "Switches", {x}, {DType::kFloat, DType::kFloat});
  Call(b_, "after", "Both", {x, GraphBuilder::Nth(in, 1)}, {DType::kFloat});
  ExpectEqualAnswers("in", {{"x", Float(2)}}, 4, 0);
  ExpectEqualAnswers("after", {{"x", Float(2)}}, 4, 0);
}

// A body without instructions ends at once, and its caller continues.
TEST_F(CalledFunctionsTest, ABodyThatDoesNothing) {
  FunctionText("Nothing").Arg("x: float").FunctionAttr("_noinline", true).AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output nothing = Call(b_, "nothing", "Nothing", {x}, {}, {}, "StatefulPartitionedCall");
  const Output y = b_.Op("Neg", "y", {x});
  b_.AddControl(y, nothing);
  ExpectEqualAnswers("y", {{"x", Float(2)}}, -2, 1);
}

TEST_F(CalledFunctionsTest, FunctionsThatAreMarkedAreCalledByDefault) {
  Unary("Marked", "Neg", true).AddTo(b_.graph());
  Unary("Plain", "Neg").AddTo(b_.graph());
  Call(b_, "y", "Marked", {Call(b_, "p", "Plain", {PlaceholderX()}, {DType::kFloat})}, {DType::kFloat});
  OpenWith(CallPolicy::kByCost);
  EXPECT_EQ(CallsLeft({{"x"}, {"y"}, {}, {}}), 1);
  ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("y", {{"x", Float(2)}}));
  EXPECT_EQ(*value.AsScalar<float>(), 2);
}

TEST_F(CalledFunctionsTest, BodiesThatAddTooManyNodesAreCalledByDefault) {
  FunctionText body("Long");
  body.Arg("x: float").Result("y: float", "n999:y:0");
  for (int i = 0; i < 1000; ++i) {
    body.Node(absl::StrCat("n", i, " = Neg(", i == 0 ? std::string("x") : absl::StrCat("n", i - 1, ":y:0"), ")"),
              {{"T", DType::kFloat}});
  }
  body.AddTo(b_.graph());
  for (const int calls : {60, 70}) {  // 65,536 nodes are the limit.
    Output y = b_.Placeholder(absl::StrCat("x", calls), DType::kFloat);
    for (int i = 0; i < calls; ++i) y = Call(b_, absl::StrCat("c", calls, "_", i), "Long", {y}, {DType::kFloat});
    b_.Op("Identity", absl::StrCat("y", calls), {y});
  }
  OpenWith(CallPolicy::kByCost);
  EXPECT_EQ(CallsLeft({{"x60"}, {"y60"}, {}, {}}), 0);
  EXPECT_EQ(CallsLeft({{"x70"}, {"y70"}, {}, {}}), 70);
  ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("y70", {{"x70", Float(2)}}));
  EXPECT_EQ(*value.AsScalar<float>(), 2);
}

TEST_F(CalledFunctionsTest, AChainOfAHundredThousandCallsNeedsNoStack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)
  constexpr int kDepth = 10'000;  // Memory takes several times as much there.
#else
  constexpr int kDepth = 100'000;
#endif
  Unary("f0", "Neg").AddTo(b_.graph());
  for (int i = 1; i < kDepth; ++i) {
    FunctionText text(absl::StrCat("f", i));
    text.Arg("x: float").Result("y: float", "n:y:0");
    text.Node(absl::StrCat("c = f", i - 1, "(x)")).Node("n = Neg(c:y:0)", {{"T", DType::kFloat}});
    text.AddTo(b_.graph());
  }
  Call(b_, "y", absl::StrCat("f", kDepth - 1), {PlaceholderX()}, {DType::kFloat});
  Call(b_, "shallow", "f999", {{b_.graph().Find("x"), 0}}, {DType::kFloat});
  OpenWith(CallPolicy::kCall);
  ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("y", {{"x", Float(2)}}));
  EXPECT_EQ(*value.AsScalar<float>(), 2);
  EXPECT_EQ(session_->core().body_store().num_bodies(), static_cast<size_t>(kDepth));
  // Within a kernel of the dataflow driver.
  OpenWith(CallPolicy::kCall, Driver::kDataflow);
  ASSERT_OK_AND_ASSIGN(const Tensor shallow, Fetch("shallow", {{"x", Float(2)}}));
  EXPECT_EQ(*shallow.AsScalar<float>(), 2);
  EXPECT_EQ(session_->core().body_store().num_bodies(), 1000u);
}

class CalledErrorsTest : public CalledFunctionsTest {
 protected:
  // Fails where d has a negative element.
  void AddFillFunctions() {
    FunctionText("Inner")
        .Arg("d: int32")
        .Result("r: float", "fill:output:0")
        .Node("value = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(1.0f)}})
        .Node("fill = Fill(d, value:output:0)", {{"T", DType::kFloat}})
        .AddTo(b_.graph());
    FunctionText("Outer").Arg("d: int32").Result("r: float", "in:r:0").Node("in = Inner(d)").AddTo(b_.graph());
    Call(b_, "out", "Outer", {b_.Placeholder("d", DType::kInt32)}, {DType::kFloat});
  }
};

TEST_F(CalledErrorsTest, ErrorsNameTheCallPath) {
  AddFillFunctions();
  for (const CallPolicy policy : kPolicies) {
    for (const Driver driver : kDrivers) {
      OpenWith(policy, driver);
      const absl::Status status = Fetch("out", {{"d", Tensor::Vector<int32_t>({-1})}}).status();
      const std::optional<ErrorInfo> info = ErrorInfoOf(status);
      ASSERT_TRUE(info.has_value()) << status;
      EXPECT_EQ(info->node, "out/in/fill");
      EXPECT_EQ(info->op, "Fill");
      EXPECT_EQ(info->input_name, "d");
      EXPECT_EQ(info->code, ErrorCode::kOpValue);
      ASSERT_OK_AND_ASSIGN(const Tensor filled, Fetch("out", {{"d", Tensor::Vector<int32_t>({2})}}));
      EXPECT_EQ(filled.num_elements(), 2);
    }
  }
}

TEST_F(CalledErrorsTest, ExceptionsNameTheCallPath) {
  KernelRegistry registry;
  RegisterAllKernels(registry);
  ASSERT_OK(registry.Add(
      OwnedKernelRow("Neg", MakeFunction([](KernelContext&) -> absl::Status { throw std::bad_alloc(); }))));
  Unary("F", "Neg").AddTo(b_.graph());
  Call(b_, "f", "F", {PlaceholderX()}, {DType::kFloat});
  SessionOptions options;
  options.kernels = &registry;
  for (const CallPolicy policy : kPolicies) {
    for (const Driver driver : kDrivers) {
      OpenWith(policy, driver, options);
      const absl::Status status = Fetch("f", {{"x", Float(1)}}).status();
      EXPECT_THAT(status, IsError(ErrorCode::kOutOfMemory, "'f/y'"));
    }
  }
}

// As TensorFlow finds out what a body lacks when a call is reached.
TEST_F(CalledErrorsTest, WhatABodyLacksIsReportedWhereItsCallIsReached) {
  FunctionText("Lacks")
      .Arg("x: float")
      .Result("y: float", "y:output:0")
      .Node("y = MatrixInverse(x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  ASSERT_FALSE(BuiltinKernels().HasRows("MatrixInverse")) << "the test needs an op without kernels";
  AddOne().AddTo(b_.graph());
  const Output x = PlaceholderX();
  const Output positive = b_.Op("Greater", "positive", {x, b_.Const("zero", Float(0))});
  b_.Op("If", "branch", {positive, x},
        {{"Tin", std::vector<DType>{DType::kFloat}},
         {"Tout", std::vector<DType>{DType::kFloat}},
         {"then_branch", AttrValue::Func("AddOne", {})},
         {"else_branch", AttrValue::Func("Lacks", {})}});
  for (const Driver driver : kDrivers) {
    OpenWith(CallPolicy::kCall, driver);
    ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("branch", {{"x", Float(1)}}));
    EXPECT_EQ(*value.AsScalar<float>(), 2);
    EXPECT_THAT(Fetch("branch", {{"x", Float(-1)}}), IsError(ErrorCode::kNoKernel, "MatrixInverse 'branch/else/y'"));
  }
}

}  // namespace
}  // namespace sluice

#include "graph/functions/check.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class CheckFunctionsTest : public testing::Test {
 protected:
  Graph& graph() { return b_.graph(); }
  void Add(const FunctionText& text) { text.AddTo(graph()); }
  Output X() {
    const NodeId x = graph().Find("x");
    return x.valid() ? Output{x, 0} : b_.Placeholder("x", DType::kFloat);
  }
  // A call "call" of `function`, one float in, one out.
  Output CallIt(absl::string_view function, FunctionText::Attrs attrs = {}) {
    return Call(b_, "call", function, {X()}, {DType::kFloat}, attrs);
  }
  // If, While, ... named "call" over x.
  Output Functional(absl::string_view op, std::vector<Output> inputs, FunctionText::Attrs attrs) {
    return b_.Op(op, "call", std::move(inputs), std::move(attrs));
  }
  absl::Status Check(const FunctionCheckOptions& options = FunctionCheckOptions()) {
    EXPECT_THAT(b_.status(), IsOk());
    return CheckFunctions(graph(), options, nullptr);
  }

  GraphBuilder b_{NewOpRegistry()};
};

// A function over one float whose body is one call of `callee`.
FunctionText Caller(const std::string& name, const std::string& callee) {
  FunctionText text(name);
  const std::vector<DType> types{DType::kFloat};
  return text.Arg("a: float")
      .Result("r: float", "n:output:0")
      .Node("n = PartitionedCall(a)", {{"Tin", types}, {"Tout", types}, {"f", AttrValue::Func(callee)}});
}

AttrValue Floats(size_t count) { return AttrValue(std::vector<DType>(count, DType::kFloat)); }

// --- What only a run needs -----------------------------------------------------------------------------------------

// One node with no inputs: its minimum is the business of callers that want to run it.
FunctionText EmptySum(AttrValue count) {
  return FunctionText("EmptySum")
      .Arg("a: float")
      .Result("r: float", "n:sum:0")
      .Attr("num: int=0")
      .Node("n = AddN()", {{"N", std::move(count)}, {"T", DType::kFloat}});
}

TEST_F(CheckFunctionsTest, ArityMinimaOfBodiesAreCheckedOnRequest) {
  FunctionCheckOptions for_runs;
  for_runs.check_runnable = true;
  for (const AttrValue& count : {AttrValue(0), AttrValue::Placeholder("num")}) {
    GraphBuilder b(NewOpRegistry());
    EmptySum(count).AddTo(b.graph());
    Call(b, "call", "EmptySum", {b.Placeholder("x", DType::kFloat)}, {DType::kFloat});
    ASSERT_OK(b.status());
    EXPECT_OK(CheckFunctions(b.graph(), FunctionCheckOptions(), nullptr));
    const absl::Status status = CheckFunctions(b.graph(), for_runs, nullptr);
    EXPECT_THAT(status, IsError(ErrorCode::kAttrValue, "AddN 'n'"));
    EXPECT_EQ(ErrorInfoOf(status)->function, "EmptySum");
    EXPECT_EQ(ErrorInfoOf(status)->attr, "N");
  }
}

// --- Recursion -----------------------------------------------------------------------------------------------------

TEST_F(CheckFunctionsTest, FunctionThatCallsItselfIsRefused) {
  Add(Caller("Rec", "Rec"));
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionRecursion, "Rec -> Rec"));
  EXPECT_EQ(ErrorInfoOf(status)->function, "Rec");
  EXPECT_EQ(ErrorInfoOf(status)->node, "n");
}

TEST_F(CheckFunctionsTest, DirectCallOfItselfIsRefused) {
  Add(FunctionText("Rec").Arg("a: float").Result("r: float", "n:r:0").Node("n = Rec(a)"));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionRecursion, "Rec -> Rec"));
}

TEST_F(CheckFunctionsTest, MutualRecursionIsRefusedOnce) {
  Add(Caller("Ping", "Pong"));
  Add(Caller("Pong", "Ping"));
  CallIt("Ping");
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionRecursion, "Ping -> Pong -> Ping"));
  EXPECT_EQ(AllErrors(status).size(), 1u);
}

TEST_F(CheckFunctionsTest, RecursionThroughALoopBodyIsRefused) {
  Add(LessThanTen());
  FunctionText text("Rw");
  Add(text.Arg("a: float")
          .Result("r: float", "n:output:0")
          .Node("n = While(a)",
                {{"T", Floats(1)}, {"cond", AttrValue::Func("LessThanTen")}, {"body", AttrValue::Func("Rw")}}));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionRecursion, "While 'n'"));
}

TEST_F(CheckFunctionsTest, RecursionThroughNestedAttrsIsRefused) {
  Add(Caller("Apply", "Neg"));
  FunctionText text("Outer");
  Add(text.Arg("a: float")
          .Result("r: float", "n:output:0")
          .Node("n = PartitionedCall(a)", {{"Tin", Floats(1)},
                                           {"Tout", Floats(1)},
                                           {"f", AttrValue::Func("Apply", {{"g", AttrValue::Func("Outer")}})}}));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionRecursion, "Outer -> Outer"));
}

TEST_F(CheckFunctionsTest, RecursionThroughADeclaredGradientIsRefused) {
  Add(Negate());
  FunctionText text("NegateGrad");
  Add(text.Arg("x: float")
          .Arg("dy: float")
          .Result("dx: float", "n:output:0")
          .Node("n = SymbolicGradient(x, dy)",
                {{"Tin", Floats(2)}, {"Tout", Floats(1)}, {"f", AttrValue::Func("Negate")}}));
  ASSERT_OK(graph().library().AddGradient("Negate", "NegateGrad"));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionRecursion, "NegateGrad -> NegateGrad"));
}

TEST_F(CheckFunctionsTest, RecursionThroughAFunctionAttrEnds) {
  // Apply calls its attr f with f wrapped once more: names never close a circle, keys grow for ever.
  const AttrValue f = AttrValue::Placeholder("f");
  FunctionText apply("Apply");
  Add(apply.Arg("a: float")
          .Result("r: float", "n:output:0")
          .Attr("f: func")
          .Node("n = PartitionedCall(a)", {{"Tin", Floats(1)}, {"Tout", Floats(1)}, {"f", f}}));
  CallIt("Apply", {{"f", AttrValue::Func("Apply", {{"f", AttrValue::Func("Apply")}})}});
  EXPECT_FALSE(Check().ok());
}

// --- Size and depth ------------------------------------------------------------------------------------------------

TEST_F(CheckFunctionsTest, DoublingFortyTimesIsCountedNotExpanded) {
  Add(Negate());
  std::string callee = "Negate";
  for (int i = 0; i < 40; ++i) {
    const std::string name = absl::StrCat("F", i);
    FunctionText text(name);
    const FunctionText::Attrs attrs = {{"Tin", Floats(1)}, {"Tout", Floats(1)}, {"f", AttrValue::Func(callee)}};
    Add(text.Arg("a: float")
            .Result("r: float", "m:output:0")
            .Node("n = PartitionedCall(a)", attrs)
            .Node("m = PartitionedCall(n:output:0)", attrs));
    callee = name;
  }
  CallIt("F39");
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kLimitNodes, "PartitionedCall 'call'"));
  EXPECT_EQ(ErrorInfoOf(status)->limit, "max_expanded_nodes");
}

TEST_F(CheckFunctionsTest, CallsMayNestAsDeepAsTheLimit) {
  Add(Negate());
  std::string callee = "Negate";
  for (int i = 0; i < 200; ++i) {
    const std::string name = absl::StrCat("F", i);
    Add(Caller(name, callee));
    callee = name;
  }
  EXPECT_THAT(Check(), IsOk());  // Not called.
  Call(b_, "fine", "F62", {X()}, {DType::kFloat});
  EXPECT_THAT(Check(), IsOk());
  CallIt("F199");
  EXPECT_THAT(Check(), IsError(ErrorCode::kLimitCallDepth, "PartitionedCall 'call'"));
}

// --- Calls ---------------------------------------------------------------------------------------------------------

TEST_F(CheckFunctionsTest, SoundCallsPass) {
  Add(XTimesTwo());
  Add(XTimesFour());
  CallIt("XTimesFour", {{"T", DType::kFloat}});
  b_.Op("XTimesTwo", "direct", {X()});
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(CheckFunctionsTest, CallOfAnUnknownFunctionIsRefused) {
  CallIt("Nope");
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionUnknown, "PartitionedCall 'call': attr 'f'"));
}

TEST_F(CheckFunctionsTest, CallOfNothingIsRefused) {
  CallIt("");
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionUnknown, "names no function"));
}

TEST_F(CheckFunctionsTest, UnboundAttrNamesTheCall) {
  Add(XTimesTwo());
  CallIt("XTimesTwo");
  EXPECT_THAT(Check(), IsError(ErrorCode::kAttrUnbound, "PartitionedCall 'call': attr 'T'"));
}

TEST_F(CheckFunctionsTest, ArgumentsAndResultsMustFitTheSignature) {
  Add(Negate());
  const Output i = b_.Placeholder("i", DType::kInt32);
  Call(b_, "few", "Negate", {}, {DType::kFloat});
  Call(b_, "many", "Negate", {X(), X()}, {DType::kFloat});
  Call(b_, "type", "Negate", {i}, {DType::kFloat});
  Call(b_, "results", "Negate", {X()}, {DType::kFloat, DType::kFloat});
  Call(b_, "result_type", "Negate", {X()}, {DType::kInt32});
  const absl::Status status = Check();
  ASSERT_EQ(AllErrors(status).size(), 5u);
  for (const absl::Status& error : AllErrors(status))
    EXPECT_THAT(error, IsError(ErrorCode::kFunctionArity, "attr 'f'"));
}

TEST_F(CheckFunctionsTest, CallsInBodiesAreCheckedToo) {
  Add(XTimesTwo());
  Add(Caller("F", "XTimesTwo"));
  CallIt("F");
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kAttrUnbound, "PartitionedCall 'n'"));
  EXPECT_EQ(ErrorInfoOf(status)->function, "F");
}

// --- Branches and loops --------------------------------------------------------------------------------------------

TEST_F(CheckFunctionsTest, BranchesMustReturnWhatTheNodeSays) {
  Add(AddOne());
  Add(LessThanTen());
  const Output p = b_.Placeholder("p", DType::kBool);
  Functional("If", {p, X()},
             {{"Tout", Floats(1)},
              {"then_branch", AttrValue::Func("AddOne")},
              {"else_branch", AttrValue::Func("LessThanTen")}});
  EXPECT_THAT(Check(), IsError(ErrorCode::kBranchMismatch, "If 'call': attr 'else_branch'"));
}

TEST_F(CheckFunctionsTest, MissingBranchHasACodeOfItsOwn) {
  Add(AddOne());
  const Output p = b_.Placeholder("p", DType::kBool);
  Functional(
      "If", {p, X()},
      {{"Tout", Floats(1)}, {"then_branch", AttrValue::Func("AddOne")}, {"else_branch", AttrValue::Func("Nope")}});
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionMissing, "'Nope'"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CheckFunctionsTest, ConditionMustHaveOneResult) {
  Add(AddOne());
  FunctionText two("Two");
  Add(two.Arg("a: float").Result("r: float", "a").Result("s: float", "a"));
  Functional("While", {X()}, {{"cond", AttrValue::Func("Two")}, {"body", AttrValue::Func("AddOne")}});
  EXPECT_THAT(Check(), IsError(ErrorCode::kBranchMismatch, "While 'call': attr 'cond'"));
}

TEST_F(CheckFunctionsTest, BodyMustReturnWhatItTakes) {
  Add(LessThanTen());
  FunctionText two("Two");
  Add(two.Arg("a: float").Result("r: float", "a").Result("s: float", "a"));
  Functional("While", {X()}, {{"cond", AttrValue::Func("LessThanTen")}, {"body", AttrValue::Func("Two")}});
  EXPECT_THAT(Check(), IsError(ErrorCode::kBranchMismatch, "While 'call': attr 'body'"));
}

TEST_F(CheckFunctionsTest, NumericConditionPasses) {
  Add(AddOne());
  Functional("While", {X()}, {{"cond", AttrValue::Func("AddOne")}, {"body", AttrValue::Func("AddOne")}});
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(CheckFunctionsTest, BadFramesInABodyNameTheFunction) {
  FunctionText text("F");
  Add(text.Arg("a: float").Result("r: float", "x:output:0").Node("x = Exit(a)", {{"T", DType::kFloat}}));
  CallIt("F");
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFrame, "Exit 'x'"));
  EXPECT_EQ(ErrorInfoOf(status)->function, "F");
}

TEST_F(CheckFunctionsTest, ResultsInsideOfALoopAreRefused) {
  FunctionText text("F");
  Add(text.Arg("a: float")
          .Result("r: float", "e:output:0")
          .Node("e = Enter(a)", {{"T", DType::kFloat}, {"frame_name", "loop"}}));
  CallIt("F");
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFetchInFrame, "Enter 'e'"));
  EXPECT_THAT(status, IsError(ErrorCode::kFetchInFrame, "one value per iteration of the loop 'loop'"));
  EXPECT_EQ(ErrorInfoOf(status)->function, "F");
}

TEST_F(CheckFunctionsTest, ResultsThatLeaveTheirLoopPass) {
  FunctionText text("F");
  Add(text.Arg("a: float")
          .Result("r: float", "x:output:0")
          .Node("e = Enter(a)", {{"T", DType::kFloat}, {"frame_name", "loop"}})
          .Node("x = Exit(e:output:0)", {{"T", DType::kFloat}}));
  CallIt("F");
  EXPECT_THAT(Check(), IsOk());
}

// --- Uncalled functions, names, gradients --------------------------------------------------------------------------

TEST_F(CheckFunctionsTest, UnknownOpMattersOnlyWhereItIsCalled) {
  FunctionText text("F");
  Add(text.Arg("a: float").Result("r: float", "n:y:0").Node("n = Nag(a)"));
  EXPECT_THAT(Check(), IsOk());
  CallIt("F");
  EXPECT_THAT(Check(), IsError(ErrorCode::kOpUnknown, "Nag 'n'"));
}

TEST_F(CheckFunctionsTest, BrokenEdgesMatterEverywhere) {
  FunctionText text("F");
  Add(text.Arg("a: float").Result("r: float", "n:y:0").Node("n = Neg(zz)", {{"T", DType::kFloat}}));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionBody, "Neg 'n'"));
}

TEST_F(CheckFunctionsTest, FunctionNamedLikeAnOpIsRefused) {
  Add(FunctionText("Relu").Arg("a: float").Result("r: float", "a"));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFunctionDuplicate, "'Relu'"));
}

TEST_F(CheckFunctionsTest, GradientsMustNameOtherFunctionsOfTheLibrary) {
  Add(Negate());
  Add(AddOne());
  ASSERT_OK(graph().library().AddGradient("Nope", "Negate"));
  ASSERT_OK(graph().library().AddGradient("Negate", "NopeGrad"));
  ASSERT_OK(graph().library().AddGradient("AddOne", "AddOne"));
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionGradient));
  EXPECT_EQ(AllErrors(status).size(), 3u);
}

// Nothing that runs asks for it.
TEST_F(CheckFunctionsTest, ARegisteredGradientMayBeMissing) {
  Add(Negate());
  ASSERT_OK(graph().library().AddGradient(RegisteredGradientKey("CustomGradient-7"), "NopeGrad"));
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(CheckFunctionsTest, ErrorsGoToTheCollectorThatIsGiven) {
  CallIt("Nope");
  ErrorCollector errors;
  EXPECT_THAT(CheckFunctions(graph(), FunctionCheckOptions(), &errors), IsOk());
  EXPECT_EQ(errors.total(), 1u);
}

}  // namespace
}  // namespace sluice

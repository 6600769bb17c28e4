#include "graph/functions/instantiate.h"

#include <string>

#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A graph with a library and nothing else.
class InstantiateTest : public testing::Test {
 protected:
  // Adds `text` and instantiates it under `attrs`.
  absl::StatusOr<FunctionGraph> Make(const FunctionText& text, const FunctionText::Attrs& attrs = {},
                                     bool prune = false) {
    SLUICE_ASSIGN_OR_RETURN(const auto function, text.Build());
    SLUICE_RETURN_IF_ERROR(graph_.library().Add(function));
    std::vector<NamedAttr> views;
    for (const auto& attr : attrs) views.push_back(NamedAttr{attr.first, attr.second.view()});
    return InstantiateFunction(graph_, function->name(), views, prune);
  }

  Graph graph_{NewOpRegistry()};
};

FunctionText Unary(absl::string_view body_node, absl::string_view result, AttrValue type = DType::kFloat) {
  FunctionText text("F");
  return text.Arg("a: float").Result("r: float", result).Node(body_node, {{"T", type}});
}

TEST_F(InstantiateTest, ArgumentsAndResultsBecomeNodes) {
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(SquarePlusOne()));
  const Graph& graph = made.graph;
  EXPECT_EQ(NodeNames(graph), "one square x y y_RetVal");
  EXPECT_EQ(NodeText(graph, "square"), "square(x)");
  EXPECT_EQ(NodeText(graph, "y"), "y(square, one)");
  EXPECT_EQ(NodeText(graph, "y_RetVal"), "y_RetVal(y)");
  ASSERT_EQ(made.args.size(), 1u);
  EXPECT_TRUE(graph.Is(made.args[0], "_Arg"));
  EXPECT_TRUE(graph.Is(made.results[0], "_Retval"));
  EXPECT_EQ(*graph.GetInt(made.results[0], "index"), 0);
  EXPECT_EQ(*graph.GetType(made.args[0], "T"), DType::kFloat);
}

TEST_F(InstantiateTest, TypeAttrIsBound) {
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(XTimesTwo(), {{"T", DType::kInt32}}));
  EXPECT_EQ(made.signature.outputs, std::vector<DType>{DType::kInt32});
  EXPECT_EQ(*made.graph.GetType(made.graph.Find("scale"), "DstT"), DType::kInt32);
}

TEST_F(InstantiateTest, ControlInputsOfNodesAndArgumentsBecomeEdges) {
  FunctionText text = Unary("n = Relu(a, ^first, ^a)", "n:activations:0");
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(text.Node("first = NoOp()")));
  EXPECT_EQ(NodeText(made.graph, "n"), "n(a, ^first, ^a)");
}

TEST_F(InstantiateTest, ControlResultsAreNamed) {
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(Bump()));
  EXPECT_EQ(made.control_results, std::vector<NodeId>{made.graph.Find("add")});
}

TEST_F(InstantiateTest, NumberAttrMakesAList) {
  FunctionText text("NTimesT");
  text.Arg("x: N * T").Result("y: T", "sum:sum:0").Attr("N: int >= 1").Attr("T: type");
  text.Node("sum = AddN(x)", {{"N", AttrValue::Placeholder("N")}, {"T", T()}});
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(text, {{"N", 3}, {"T", DType::kFloat}}));
  EXPECT_EQ(NodeText(made.graph, "sum"), "sum(x_0, x_1, x_2)");
}

TEST_F(InstantiateTest, TypeListsComeInAndGoOut) {
  FunctionText text("Lst");
  text.Arg("in: Ts").Result("out: Ts", "all:output").Result("second: int32", "in:1").Attr("Ts: list(type)");
  text.Node("all = IdentityN(in:0, in:1)", {{"T", AttrValue::Placeholder("Ts")}});
  const AttrValue types(std::vector<DType>{DType::kFloat, DType::kInt32});
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(text, {{"Ts", types}}));
  EXPECT_EQ(NodeText(made.graph, "all"), "all(in_0, in_1)");
  EXPECT_EQ(NodeText(made.graph, "out_RetVal_1"), "out_RetVal_1(all:1)");
  EXPECT_EQ(NodeText(made.graph, "second_RetVal"), "second_RetVal(in_1)");
}

TEST_F(InstantiateTest, NodesMayComeInAnyOrder) {
  FunctionText text = Unary("n = Relu(m:activations)", "n:activations:0");
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(text.Node("m = Relu(a)", {{"T", DType::kFloat}})));
  EXPECT_EQ(NodeText(made.graph, "n"), "n(m)");
}

TEST_F(InstantiateTest, ArgumentMayBeAResult) {
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(FunctionText("F").Arg("a: float").Result("r: float", "a")));
  EXPECT_EQ(NodeText(made.graph, "r_RetVal"), "r_RetVal(a)");
}

TEST_F(InstantiateTest, PruningKeepsResultsEffectsAndArguments) {
  FunctionText text = Unary("n = Relu(a)", "n:activations:0");
  text.Arg("unused: float").Node("dead = Relu(a)", {{"T", DType::kFloat}});
  text.Node("print = Print(n:activations:0, before:activations)",
            {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}});
  text.Node("before = Relu(a)", {{"T", DType::kFloat}}).Node("gate = NoOp()").ControlResult("done", "gate");
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(text, {}, /*prune=*/true));
  EXPECT_EQ(NodeNames(made.graph), "a before gate n print r_RetVal unused");
}

TEST_F(InstantiateTest, DirectCallsKnowTheirTypesFromTheLibrary) {
  XTimesTwo().AddTo(graph_);
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, Make(XTimesFour(), {{"T", DType::kFloat}}));
  EXPECT_EQ(made.graph.op_name(made.graph.Find("x2")), "XTimesTwo");
  EXPECT_EQ(NodeText(made.graph, "y"), "y(x2)");
}

// A fault of a body, and its error.
struct BadBody {
  const char* name;
  FunctionText text;
  ErrorCode code;
  const char* message;
};

std::vector<BadBody> BadBodies() {
  const auto two = [](absl::string_view node, absl::string_view result) { return Unary(node, result); };
  return {
      {"MissingAttr", FunctionText("F").Arg("a: float").Result("r: float", "n:y:0").Node("n = Neg(a)"),
       ErrorCode::kAttrMissing, "Neg 'n': attr 'T'"},
      {"UnboundPlaceholder", Unary("n = Neg(a)", "n:y:0", AttrValue::Placeholder("U")), ErrorCode::kAttrUnbound, "'U'"},
      {"NodeNamedLikeArgument", two("a = Neg(a)", "a"), ErrorCode::kNodeDuplicate, "Neg 'a'"},
      {"DuplicateNode", two("n = Neg(a)", "n:y:0").Node("n = NoOp()"), ErrorCode::kNodeDuplicate, "NoOp 'n'"},
      {"UnknownInput", two("n = Neg(zz:y:0)", "n:y:0"), ErrorCode::kFunctionBody, "Neg 'n': needs 'zz:y:0'"},
      {"PlainNodeAsInput", two("n = Neg(m)", "n:y:0").Node("m = Neg(a)", {{"T", DType::kFloat}}),
       ErrorCode::kFunctionBody, "needs 'm'"},
      {"UnknownOutputName", two("n = Neg(m:z:0)", "n:y:0").Node("m = Neg(a)", {{"T", DType::kFloat}}),
       ErrorCode::kFunctionBody, "no output of that name"},
      {"ElementOutOfRange", two("n = Neg(a:1)", "n:y:0"), ErrorCode::kFunctionBody, "needs 'a:1'"},
      {"NegativeElement", two("n = Neg(a:-1)", "n:y:0"), ErrorCode::kFunctionBody, "needs 'a:-1'"},
      {"UnknownControl", two("n = Neg(a, ^zz)", "n:y:0"), ErrorCode::kFunctionBody, "waits for 'zz'"},
      {"ControlBeforeData", two("n = Neg(^a, a)", "n:y:0"), ErrorCode::kInputOrder, "Neg 'n'"},
      {"TooManyInputs", two("n = Neg(a, a)", "n:y:0"), ErrorCode::kInputCount, "Neg 'n'"},
      {"TooFewInputs", two("n = Neg()", "n:y:0"), ErrorCode::kInputCount, "Neg 'n'"},
      {"TypeMismatch", Unary("n = Neg(a)", "n:y:0", DType::kInt32), ErrorCode::kFunctionRet, "result 'r'"},
      {"InputOfOtherType",
       two("n = Neg(c:output:0)", "n:y:0")
           .Node("c = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(1)}}),
       ErrorCode::kInputType, "Neg 'n': input 0"},
      {"UnknownOp", two("n = Nag(a)", "n:y:0"), ErrorCode::kOpUnknown, "Nag 'n'"},
      {"CallFrameOp", two("n = Neg(a)", "n:y:0").Node("s = _Retval(a)", {{"T", DType::kFloat}, {"index", 0}}),
       ErrorCode::kOpInternal, "_Retval 's'"},
      {"MissingResult", two("n = Neg(a)", ""), ErrorCode::kFunctionRet, "function 'F': result 'r'"},
      {"UnknownResult", two("n = Neg(a)", "zz:y:0"), ErrorCode::kFunctionRet, "'zz:y:0'"},
      {"ResultOutOfRange", two("n = Neg(a)", "n:y:3"), ErrorCode::kFunctionRet, "'n:y:3'"},
      {"UnknownControlResult", two("n = Neg(a)", "n:y:0").ControlResult("done", "zz"), ErrorCode::kFunctionRet, "'zz'"},
      {"Cycle", two("n = Neg(m:y:0)", "n:y:0").Node("m = Neg(n:y:0)", {{"T", DType::kFloat}}), ErrorCode::kCycle,
       "'n'"},
  };
}

class BadBodyTest : public testing::TestWithParam<BadBody> {};

TEST_P(BadBodyTest, IsRefusedNamingFunctionAndNode) {
  Graph graph(NewOpRegistry());
  GetParam().text.AddTo(graph);
  const absl::Status status = InstantiateFunction(graph, "F").status();
  EXPECT_THAT(status, IsError(GetParam().code, GetParam().message));
  EXPECT_EQ(ErrorInfoOf(status)->function, "F");
}

INSTANTIATE_TEST_SUITE_P(Bodies, BadBodyTest, testing::ValuesIn(BadBodies()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(InstantiateTest, AllErrorsOfABodyComeAtOnce) {
  FunctionText text = Unary("n = Nag(a)", "n:y:0");
  text.Node("m = Neg(a)").Node("o = Neg(a)", {{"T", AttrValue::Placeholder("U")}});
  EXPECT_EQ(AllErrors(Make(text).status()).size(), 3u);
}

TEST_F(InstantiateTest, UnknownFunctionIsRefused) {
  EXPECT_THAT(InstantiateFunction(graph_, "Nope"), IsError(ErrorCode::kFunctionUnknown, "'Nope'"));
}

}  // namespace
}  // namespace sluice

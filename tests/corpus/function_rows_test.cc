// Rows L of the corpus: function libraries.

#include <string>
#include <vector>

#include "tests/corpus/corpus_row.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

class FunctionRows : public ::testing::TestWithParam<CorpusRow> {};

TEST_P(FunctionRows, AreRefused) { ExpectRefused(GetParam()); }

MessageBytes CallNode(absl::string_view name, absl::string_view function, const std::vector<std::string>& inputs,
                      const std::vector<int64_t>& tin = {kFloat}, const std::vector<int64_t>& tout = {kFloat}) {
  return NodeDefBytes(name, "PartitionedCall", inputs,
                      {{"Tin", TypeListAttr(tin)}, {"Tout", TypeListAttr(tout)}, {"f", FuncAttr(function)}});
}

// float -> float: one node 'n' that is `node`, whose result is `ret`.
FunctionBytes Unary(const std::string& name, const MessageBytes& node, const std::string& ret = "n:activations:0") {
  FunctionBytes function;
  function.name = name;
  function.args = {{"x", kFloat}};
  function.results = {{"y", kFloat}};
  function.nodes = {node};
  function.ret = {{"y", ret}};
  return function;
}

FunctionBytes ReluFunction(const std::string& name) { return Unary(name, UnaryNode("n", "Relu", {"x"})); }

// Calls `callee` through a PartitionedCall in the body.
FunctionBytes Caller(const std::string& name, const std::string& callee) {
  return Unary(name, CallNode("n", callee, {"x"}), "n:output:0");
}

// A graph that calls F of `functions`.
std::string Calling(const std::vector<FunctionBytes>& functions) {
  std::vector<MessageBytes> messages;
  for (const FunctionBytes& function : functions) messages.push_back(function.Message());
  return GraphDefBytes({PlaceholderNode("x"), CallNode("call", "F", {"x"})}, LibraryBytes(messages));
}

std::string CallingRaw(const MessageBytes& library, const MessageBytes& call) {
  return GraphDefBytes({PlaceholderNode("x"), call}, library);
}

FunctionBytes WithRet(const std::vector<std::pair<std::string, std::string>>& ret) {
  FunctionBytes function = ReluFunction("F");
  function.ret = ret;
  return function;
}

// While over x with cond `cond` and body `body`.
MessageBytes WhileNode(absl::string_view name, absl::string_view cond, absl::string_view body,
                       const std::string& input) {
  return NodeDefBytes(name, "While", {input},
                      {{"T", TypeListAttr({kFloat})}, {"cond", FuncAttr(cond)}, {"body", FuncAttr(body)}});
}

FunctionBytes Condition(const std::string& name) {
  FunctionBytes function = Unary(name, ConstNode("n", kBool, TensorBytes(kBool, {}).Int(11, 1)), "n:output:0");
  function.results = {{"y", kBool}};
  return function;
}

INSTANTIATE_TEST_SUITE_P(
    Recursion, FunctionRows,
    ::testing::Values(
        Bad("L01_CallsItself", Calling({Caller("F", "F")}), ErrorCode::kFunctionRecursion).Says("F"),
        Bad("L01_BodyNodeOfItsOwnName", Calling({Unary("F", NodeDefBytes("n", "F", {"x"}), "n:y:0")}),
            ErrorCode::kFunctionRecursion)
            .Says("F"),
        Bad("L02_Mutual", Calling({Caller("F", "G"), Caller("G", "F")}), ErrorCode::kFunctionRecursion).Says("G"),
        Bad("L02_ThroughWhile",
            Calling({Unary("F", WhileNode("n", "Cond", "F", "x"), "n:output:0"), Condition("Cond")}),
            ErrorCode::kFunctionRecursion)
            .Says("F")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Rets, FunctionRows,
    ::testing::Values(Bad("L04_UnknownNode", Calling({WithRet({{"y", "zz:activations:0"}})}), ErrorCode::kFunctionRet)
                          .InFunction("F")
                          .Says("zz"),
                      Bad("L04_Missing", Calling({WithRet({})}), ErrorCode::kFunctionRet).InFunction("F").Says("y"),
                      Bad("L04_Empty", Calling({WithRet({{"y", ""}})}), ErrorCode::kFunctionRet).InFunction("F"),
                      Bad("L04_NoSuchArgument", Calling({WithRet({{"y", "n:nope:0"}})}), ErrorCode::kFunctionRet)
                          .InFunction("F")
                          .Says("nope"),
                      Bad("L04_SlotPastTheEnd", Calling({WithRet({{"y", "n:activations:7"}})}), ErrorCode::kFunctionRet)
                          .InFunction("F")),
    CorpusRowName());

MessageBytes Conflicting() {
  return LibraryBytes({ReluFunction("F").Message(), Unary("F", UnaryNode("n", "Elu", {"x"})).Message()});
}

FunctionBytes TwiceTheSameArgument() {
  FunctionBytes function = ReluFunction("F");
  function.args = {{"x", kFloat}, {"x", kFloat}};
  return function;
}

INSTANTIATE_TEST_SUITE_P(
    Signatures, FunctionRows,
    ::testing::Values(
        Bad("L05_TwoOfOneName", CallingRaw(Conflicting(), CallNode("call", "F", {"x"})), ErrorCode::kFunctionDuplicate)
            .Says("F"),
        Bad("L05_TwoArgumentsOfOneName", Calling({TwiceTheSameArgument()}), ErrorCode::kFunctionSignature).Says("x"),
        Bad("L05_NoName", Calling({ReluFunction("")}), ErrorCode::kFunctionSignature),
        Bad("L07_EmptyName", CallingRaw(MessageBytes(), CallNode("call", "", {"x"})), ErrorCode::kFunctionUnknown)
            .AtNode("call", "PartitionedCall")
            .AtAttr("f"),
        Bad("L07_Unknown", CallingRaw(MessageBytes(), CallNode("call", "Nope", {"x"})), ErrorCode::kFunctionUnknown)
            .AtNode("call", "PartitionedCall")
            .AtAttr("f")
            .Says("Nope"),
        Bad("L07_NoF",
            CallingRaw(MessageBytes(),
                       NodeDefBytes("call", "PartitionedCall", {"x"},
                                    {{"Tin", TypeListAttr({kFloat})}, {"Tout", TypeListAttr({kFloat})}})),
            ErrorCode::kAttrMissing)
            .AtNode("call", "PartitionedCall")
            .AtAttr("f"),
        Bad("L07_TooManyArguments",
            CallingRaw(LibraryBytes({ReluFunction("F").Message()}),
                       CallNode("call", "F", {"x", "x"}, {kFloat, kFloat})),
            ErrorCode::kFunctionArity)
            .AtNode("call", "PartitionedCall"),
        Bad("L07_TooManyResults",
            CallingRaw(LibraryBytes({ReluFunction("F").Message()}),
                       CallNode("call", "F", {"x"}, {kFloat}, {kFloat, kFloat})),
            ErrorCode::kFunctionArity)
            .AtNode("call", "PartitionedCall"),
        Bad("L07_ResultOfAnotherType",
            CallingRaw(LibraryBytes({ReluFunction("F").Message()}), CallNode("call", "F", {"x"}, {kFloat}, {kInt32})),
            ErrorCode::kFunctionArity)
            .AtNode("call", "PartitionedCall")),
    CorpusRowName());

CorpusRow BadBody(std::string row, const MessageBytes& node, ErrorCode code) {
  return Bad(std::move(row), Calling({Unary("F", node)}), code).InFunction("F");
}

FunctionBytes CyclicBody() {
  FunctionBytes function = ReluFunction("F");
  function.nodes = {UnaryNode("n", "Relu", {"m:activations:0"}), UnaryNode("m", "Relu", {"n:activations:0"})};
  return function;
}

FunctionBytes IntIntoRelu() {
  FunctionBytes function = ReluFunction("F");
  function.nodes = {UnaryNode("n", "Relu", {"c:output:0"}), ConstNode("c", kInt32, TensorBytes(kInt32, {}).Int(7, 1))};
  return function;
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, FunctionRows,
    ::testing::Values(
        BadBody("Body_UnknownInput", UnaryNode("n", "Relu", {"nix"}), ErrorCode::kFunctionBody)
            .Or(ErrorCode::kInputUnknown)
            .AtNode("n", "Relu")
            .Says("nix"),
        BadBody("Body_UnknownOp", UnaryNode("n", "Reluu", {"x"}), ErrorCode::kOpUnknown).AtNode("n", "Reluu"),
        BadBody("Body_MissingAttr", NodeDefBytes("n", "Relu", {"x"}), ErrorCode::kAttrMissing)
            .AtNode("n", "Relu")
            .AtAttr("T"),
        Bad("Body_TypeMismatch", Calling({IntIntoRelu()}), ErrorCode::kInputType)
            .InFunction("F")
            .AtNode("n", "Relu")
            .AtInput(0),
        Bad("Body_Cycle", Calling({CyclicBody()}), ErrorCode::kCycle).InFunction("F"),
        Bad("Body_UnknownFunction", Calling({Caller("F", "Nope")}), ErrorCode::kFunctionMissing)
            .InFunction("F")
            .AtNode("n", "PartitionedCall")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Branches, FunctionRows,
    ::testing::Values(Bad("C10_BodyOfAnotherType",
                          GraphDefBytes({PlaceholderNode("x"), WhileNode("call", "Cond", "Body", "x")},
                                        LibraryBytes({Condition("Cond").Message(), Condition("Body").Message()})),
                          ErrorCode::kBranchMismatch)
                          .Or(ErrorCode::kFunctionArity)
                          .AtNode("call", "While"),
                      Bad("C10_CondMissing",
                          GraphDefBytes({PlaceholderNode("x"), WhileNode("call", "Nope", "Body", "x")},
                                        LibraryBytes({ReluFunction("Body").Message()})),
                          ErrorCode::kFunctionMissing)
                          .AtNode("call", "While")
                          .Says("Nope")),
    CorpusRowName());

TEST(FunctionCorpus, L03_ADoublingTowerIsCountedBeforeItIsExpanded) {
  std::vector<FunctionBytes> functions;
  for (int i = 0; i <= 40; ++i) {
    const std::string name = i == 40 ? "F" : "f" + std::to_string(i);
    FunctionBytes function = ReluFunction(name);
    if (i > 0) {
      const std::string callee = "f" + std::to_string(i - 1);
      function.nodes = {CallNode("m", callee, {"x"}), CallNode("n", callee, {"m:output:0"})};
      function.ret = {{"y", "n:output:0"}};
    }
    functions.push_back(function);
  }
  ExpectRefused(Bad("L03", Calling(functions), ErrorCode::kLimitNodes).Or(ErrorCode::kLimitCallDepth));
}

TEST(FunctionCorpus, AFunctionThatFitsIsAccepted) {
  EXPECT_OK(LoadCorpusGraph(Calling({Caller("F", "G"), ReluFunction("G")})).status());
}

TEST(FunctionCorpus, TheSameFunctionTwiceIsAccepted) {
  EXPECT_OK(LoadCorpusGraph(Calling({ReluFunction("F"), ReluFunction("F")})).status());
}

TEST(FunctionCorpus, ACallChainBeyondTheDepthLimitIsRefused) {
  std::vector<FunctionBytes> functions = {Caller("F", "f0")};
  for (int i = 0; i < 2000; ++i) functions.push_back(Caller("f" + std::to_string(i), "f" + std::to_string(i + 1)));
  functions.push_back(ReluFunction("f2000"));
  ExpectRefused(Bad("Chain", Calling(functions), ErrorCode::kLimitCallDepth));
}

}  // namespace
}  // namespace sluice

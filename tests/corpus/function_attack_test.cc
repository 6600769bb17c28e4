// Function libraries made to be slow to check, or to take far more memory than their size.

#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/corpus/corpus_row.h"
#include "tests/corpus/load_measure.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

// A PartitionedCall float -> float of `function` with attrs bound.
MessageBytes CallNode(absl::string_view name, absl::string_view function, const std::string& input,
                      const AttrBytes& attrs = {}) {
  return NodeDefBytes(
      name, "PartitionedCall", {input},
      {{"Tin", TypeListAttr({kFloat})}, {"Tout", TypeListAttr({kFloat})}, {"f", FuncAttr(function, attrs)}});
}

FunctionBytes Unary(const std::string& name, const std::vector<MessageBytes>& nodes, const std::string& ret) {
  FunctionBytes function;
  function.name = name;
  function.args = {{"x", kFloat}};
  function.results = {{"y", kFloat}};
  function.nodes = nodes;
  function.ret = {{"y", ret}};
  return function;
}

std::string Calling(const std::vector<MessageBytes>& functions, const AttrBytes& attrs = {}) {
  return GraphDefBytes({PlaceholderNode("x"), CallNode("call", "F0", "x", attrs)}, LibraryBytes(functions));
}

TEST(FunctionAttack, AttrsThatDoubleAtEachCall) {
  // F0(a) calls F1(a = h[p=$a, q=$a, ...]) and so on.
  for (const int width : {2, 50}) {
    std::vector<MessageBytes> functions;
    for (int i = 0; i < 60; ++i) {
      AttrBytes inner;
      for (int k = 0; k < width; ++k) inner.push_back({"p" + std::to_string(k), PlaceholderAttr("a")});
      const MessageBytes call = CallNode("n", "F" + std::to_string(i + 1), "x", {{"a", FuncAttr("F60", inner)}});
      functions.push_back(Unary("F" + std::to_string(i), {call}, "n:output:0").Message());
    }
    functions.push_back(Unary("F60", {UnaryNode("n", "Relu", {"x"})}, "n:activations:0").Message());
    const absl::Status status =
        LoadWithinMeasure(Calling(functions, {{"a", StringAttr(std::string(100, 's'))}}), 50'000);
    EXPECT_FALSE(status.ok());
  }
}

TEST(FunctionAttack, ABodyThatCopiesALargeAttrManyTimes) {
  std::vector<MessageBytes> nodes = {UnaryNode("n", "Relu", {"x"})};
  for (int i = 0; i < 20'000; ++i) {
    nodes.push_back(NodeDefBytes("m" + std::to_string(i), "NoOp", {}, {{"_hint", PlaceholderAttr("a")}}));
  }
  (void)LoadWithinMeasure(
      Calling({Unary("F0", nodes, "n:activations:0").Message()}, {{"a", StringAttr(std::string(1 << 20, 's'))}}));
}

TEST(FunctionAttack, ListArgumentsThatMultiply) {
  // One argument stands for 60,000 tensors, and a node names it 60,000 times.
  MessageBytes signature;
  signature.Bytes(1, "F0").Sub(2, MessageBytes().Bytes(1, "x").Int(3, kFloat).Bytes(5, "N"));
  signature.Sub(4, MessageBytes().Bytes(1, "N").Bytes(2, "int"));
  const MessageBytes node = NodeDefBytes("n", "AddN", std::vector<std::string>(60'000, "x"),
                                         {{"T", TypeAttr(kFloat)}, {"N", IntAttr(60'000)}});
  const MessageBytes function = MessageBytes().Sub(1, signature).Sub(3, node);
  const MessageBytes call = NodeDefBytes("call", "F0", std::vector<std::string>(60'000, "x"), {{"N", IntAttr(60'000)}});
  EXPECT_FALSE(LoadWithinMeasure(GraphDefBytes({PlaceholderNode("x"), call}, LibraryBytes({function}))).ok());
}

TEST(FunctionAttack, ManyNodesThatNameALongListArgument) {
  MessageBytes signature;
  signature.Bytes(1, "F0").Sub(2, MessageBytes().Bytes(1, "x").Int(3, kFloat).Bytes(5, "N"));
  signature.Sub(4, MessageBytes().Bytes(1, "N").Bytes(2, "int"));
  MessageBytes function = MessageBytes().Sub(1, signature);
  for (int i = 0; i < 5'000; ++i) {
    function.Sub(
        3, NodeDefBytes("n" + std::to_string(i), "AddN", {"x"}, {{"T", TypeAttr(kFloat)}, {"N", IntAttr(60'000)}}));
  }
  const MessageBytes call = NodeDefBytes("call", "F0", std::vector<std::string>(60'000, "x"), {{"N", IntAttr(60'000)}});
  EXPECT_FALSE(LoadWithinMeasure(GraphDefBytes({PlaceholderNode("x"), call}, LibraryBytes({function})), 2000).ok());
}

TEST(FunctionAttack, ManyNodesWithManyOutputs) {
  std::vector<MessageBytes> nodes = {UnaryNode("n", "Relu", {"x"})};
  for (int i = 0; i < 20'000; ++i) {
    const AttrBytes attrs = {{"T", TypeAttr(kFloat)}, {"num", IntAttr(65'536)}};
    nodes.push_back(NodeDefBytes("m" + std::to_string(i), "Unpack", {"x"}, attrs));
  }
  EXPECT_OK(LoadWithinMeasure(Calling({Unary("F0", nodes, "n:activations:0").Message()}), 200));
}

TEST(FunctionAttack, ManyCallsOfALargeFunction) {
  std::vector<MessageBytes> large = {UnaryNode("n", "Relu", {"x"})};
  for (int i = 0; i < 20'000; ++i) large.push_back(NodeDefBytes("m" + std::to_string(i), "NoOp"));
  std::vector<MessageBytes> calls = {NodeDefBytes("n", "F1", {"x"})};
  for (int i = 0; i < 40; ++i) calls.push_back(NodeDefBytes("c" + std::to_string(i), "F1", {"x"}));
  (void)LoadWithinMeasure(
      Calling({Unary("F0", calls, "n:y:0").Message(), Unary("F1", large, "n:activations:0").Message()}));
  for (int i = 40; i < 50'000; ++i) calls.push_back(NodeDefBytes("c" + std::to_string(i), "F1", {"x"}));
  (void)LoadWithinMeasure(
      Calling({Unary("F0", calls, "n:y:0").Message(), Unary("F1", large, "n:activations:0").Message()}));
}

TEST(FunctionAttack, ManyBindingsOfOneFunction) {
  std::vector<MessageBytes> nodes = {PlaceholderNode("x")};
  for (int i = 0; i < 200'000; ++i) {
    nodes.push_back(CallNode("c" + std::to_string(i), "F0", "x", {{"a", IntAttr(i)}}));
  }
  const MessageBytes function = Unary("F0", {UnaryNode("n", "Relu", {"x"})}, "n:activations:0").Message();
  (void)LoadWithinMeasure(GraphDefBytes(nodes, LibraryBytes({function})));
}

TEST(FunctionAttack, ManyFunctions) {
  std::vector<MessageBytes> functions;
  for (int i = 0; i < 50'000; ++i) {
    functions.push_back(Unary("F" + std::to_string(i), {UnaryNode("n", "Relu", {"x"})}, "n:activations:0").Message());
  }
  EXPECT_OK(LoadWithinMeasure(Calling(functions)));
}

TEST(FunctionAttack, AHundredThousandNodesInABody) {
  std::vector<MessageBytes> nodes = {UnaryNode("n0", "Relu", {"x"})};
  for (int i = 1; i < 100'000; ++i) {
    nodes.push_back(UnaryNode("n" + std::to_string(i), "Relu", {"n" + std::to_string(i - 1) + ":activations:0"}));
  }
  EXPECT_OK(LoadWithinMeasure(Calling({Unary("F0", nodes, "n99999:activations:0").Message()}), 200));
}

}  // namespace
}  // namespace sluice

// Graphs made to be slow or large to infer shapes of.

#include <string>
#include <vector>

#include "graph/load/load_graph.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

// Loads with shapes, and expects no more memory than a few outputs of each node explain; the test's own time limit ends
// what does not come to an end.
absl::Status LoadWithinMeasure(const std::string& bytes, int64_t max_bytes_per_byte = 40) {
  const int64_t before = LiveNewBytes();
  ResetPeakNewBytes();
  const absl::Status status = LoadGraphBytes(bytes, nullptr, "attack.pb", LoadOptions()).status();
  EXPECT_LE(PeakNewBytes() - before, (int64_t{256} << 20) + max_bytes_per_byte * static_cast<int64_t>(bytes.size()));
  return status;
}

MessageBytes ShapedPlaceholder(absl::string_view name, const std::vector<int64_t>& dims, int64_t dtype = kFloat) {
  return NodeDefBytes(name, "Placeholder", {}, {{"dtype", TypeAttr(dtype)}, {"shape", ShapeAttr(dims)}});
}

void Append(const MessageBytes& node, std::string* graph) { *graph += MessageBytes().Sub(1, node).str(); }

TEST(ShapeAttack, ManyOutputsOfHighRank) {
  std::vector<int64_t> dims(200, 1);
  dims[0] = 60'000;
  std::string graph;
  Append(ShapedPlaceholder("x", dims), &graph);
  for (int i = 0; i < 500; ++i) {
    const AttrBytes attrs = {{"T", TypeAttr(kFloat)}, {"num", IntAttr(60'000)}};
    Append(NodeDefBytes("n" + std::to_string(i), "Unpack", {"x"}, attrs), &graph);
  }
  EXPECT_OK(LoadWithinMeasure(graph));
}

TEST(ShapeAttack, AHighRankHandedOnByManyNodes) {
  std::string graph;
  Append(ShapedPlaceholder("n0", std::vector<int64_t>(254, 1)), &graph);
  for (int i = 1; i < 100'000; ++i) {
    Append(UnaryNode("n" + std::to_string(i), "Relu", {"n" + std::to_string(i - 1)}), &graph);
  }
  EXPECT_OK(LoadWithinMeasure(graph, 120));
}

TEST(ShapeAttack, AHandleOfManyShapesHandedOnByManyNodes) {
  MessageBytes shapes, types;
  for (int i = 0; i < 10'000; ++i) shapes.Bytes(7, "");
  const AttrBytes attrs = {{"component_types", TypeListAttr(std::vector<int64_t>(10'000, kFloat))},
                           {"shapes", MessageBytes().Sub(1, shapes)}};
  std::string graph;
  Append(NodeDefBytes("n0", "FIFOQueueV2", {}, attrs), &graph);
  for (int i = 1; i < 50'000; ++i) {
    Append(UnaryNode("n" + std::to_string(i), "Identity", {"n" + std::to_string(i - 1)}, kResource), &graph);
  }
  EXPECT_OK(LoadWithinMeasure(graph));
}

TEST(ShapeAttack, ManyContradictions) {
  std::string graph;
  Append(ShapedPlaceholder("a", {2, 3}), &graph);
  Append(ShapedPlaceholder("b", {5, 7}), &graph);
  for (int i = 0; i < 200'000; ++i) Append(UnaryNode("n" + std::to_string(i), "MatMul", {"a", "b"}), &graph);
  EXPECT_OK(LoadWithinMeasure(graph));
}

TEST(ShapeAttack, LongContentsHandedOnByManyNodes) {
  std::string graph;
  Append(ConstNode("n0", kInt32, TensorBytes(kInt32, {100'000}).Bytes(4, std::string(400'000, '\1'))), &graph);
  Append(ConstNode("axis", kInt32, TensorBytes(kInt32, {}).Int(7, 0)), &graph);
  for (int i = 1; i < 20'000; ++i) {
    const AttrBytes attrs = {{"T", TypeAttr(kInt32)}, {"N", IntAttr(2)}, {"Tidx", TypeAttr(kInt32)}};
    const std::string last = "n" + std::to_string(i - 1);
    Append(NodeDefBytes("n" + std::to_string(i), "ConcatV2", {last, last, "axis"}, attrs), &graph);
  }
  EXPECT_OK(LoadWithinMeasure(graph));
}

TEST(ShapeAttack, ConcatenationsThatDouble) {
  std::string graph;
  Append(ConstNode("n0", kInt32, TensorBytes(kInt32, {2}).Int(7, 1)), &graph);
  Append(ConstNode("axis", kInt32, TensorBytes(kInt32, {}).Int(7, 0)), &graph);
  for (int i = 1; i < 70; ++i) {
    const AttrBytes attrs = {{"T", TypeAttr(kInt32)}, {"N", IntAttr(2)}, {"Tidx", TypeAttr(kInt32)}};
    const std::string last = "n" + std::to_string(i - 1);
    Append(NodeDefBytes("n" + std::to_string(i), "ConcatV2", {last, last, "axis"}, attrs), &graph);
  }
  (void)LoadWithinMeasure(graph);
}

TEST(ShapeAttack, CallsThatDoubleWithinTheLimit) {
  // Each function calls the one below twice: 2^16 bodies if all were walked.
  std::vector<MessageBytes> functions;
  for (int i = 0; i < 17; ++i) {
    FunctionBytes function;
    function.name = "F" + std::to_string(i);
    function.args = {{"x", kFloat}};
    function.results = {{"y", kFloat}};
    if (i == 0) {
      function.nodes = {UnaryNode("n", "Relu", {"x"})};
      function.ret = {{"y", "n:activations:0"}};
    } else {
      const std::string callee = "F" + std::to_string(i - 1);
      function.nodes = {NodeDefBytes("m", callee, {"x"}), NodeDefBytes("n", callee, {"m:y:0"})};
      function.ret = {{"y", "n:y:0"}};
    }
    functions.push_back(function.Message());
  }
  EXPECT_OK(LoadWithinMeasure(
      GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("call", "F16", {"x"})}, LibraryBytes(functions))));
}

}  // namespace
}  // namespace sluice

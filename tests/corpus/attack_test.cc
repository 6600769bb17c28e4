// Inputs made to be slow to read, or to take far more memory than their size; and good imports after bad ones.

#include <string>
#include <vector>

#include "graph/base/error.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "tests/corpus/load_measure.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

std::string Repeat(absl::string_view piece, int count) {
  std::string all;
  all.reserve(piece.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) all.append(piece.data(), piece.size());
  return all;
}

// A message that holds `count` empty messages in field `field`: two bytes each.
MessageBytes Empties(uint32_t field, int count) {
  return MessageBytes().Raw(Repeat(MessageBytes().Bytes(field, "").str(), count));
}

constexpr int kMillion = 1'000'000;

TEST(Attack, ManyNodesWithoutNames) {
  EXPECT_THAT(LoadWithinMeasure(Empties(1, 4 * kMillion).str()), IsError(ErrorCode::kNodeName));
}

TEST(Attack, ManyDifferentUnknownOps) {
  std::string bytes;
  for (int i = 0; i < 90'000; ++i) {
    const std::string number = std::to_string(i);
    bytes += MessageBytes().Sub(1, NodeDefBytes("n" + number, "SomeCustomOpNumber" + number)).str();
  }
  const absl::Status status = LoadWithinMeasure(bytes);
  EXPECT_THAT(status, IsError(ErrorCode::kOpUnknown, "90000 errors"));
}

TEST(Attack, ManyBadInputs) {
  std::string bytes = MessageBytes().Sub(1, PlaceholderNode("x")).str();
  for (int i = 0; i < 200'000; ++i) {
    bytes += MessageBytes().Sub(1, UnaryNode("n" + std::to_string(i), "Relu", {"nowhere"})).str();
  }
  EXPECT_THAT(LoadWithinMeasure(bytes), IsError(ErrorCode::kInputUnknown));
}

TEST(Attack, ManyEmptyAttrsInOneNode) {
  EXPECT_THAT(LoadWithinMeasure(MessageBytes().Sub(1, Empties(5, 4 * kMillion)).str()),
              IsError(ErrorCode::kLimitAttrs));
}

TEST(Attack, ManyEmptyInputsInOneNode) {
  EXPECT_THAT(LoadWithinMeasure(MessageBytes().Sub(1, Empties(3, 4 * kMillion)).str()),
              IsError(ErrorCode::kLimitInputs));
}

TEST(Attack, ManyBadConsumers) {
  const MessageBytes versions = MessageBytes().Bytes(3, std::string(4 * kMillion, '\1'));
  EXPECT_OK(LoadWithinMeasure(MessageBytes().Sub(4, versions).str()));
}

TEST(Attack, ManyEmptyNodesInAFunction) {
  const MessageBytes function = MessageBytes().Sub(1, MessageBytes().Bytes(1, "F")).Raw(Empties(3, kMillion).str());
  EXPECT_FALSE(LoadWithinMeasure(GraphDefBytes({}, LibraryBytes({function}))).ok());
}

TEST(Attack, ManyEmptyArgumentsOfAFunction) {
  for (const uint32_t field : {2u, 3u, 4u}) {
    const MessageBytes signature = MessageBytes().Bytes(1, "F").Raw(Empties(field, kMillion).str());
    EXPECT_FALSE(LoadWithinMeasure(GraphDefBytes({}, LibraryBytes({MessageBytes().Sub(1, signature)}))).ok());
  }
}

TEST(Attack, ManyEmptyMapEntriesOfAFunction) {
  for (const uint32_t field : {4u, 5u, 6u}) {
    const MessageBytes function =
        MessageBytes().Sub(1, MessageBytes().Bytes(1, "F")).Raw(Empties(field, kMillion).str());
    (void)LoadWithinMeasure(GraphDefBytes({}, LibraryBytes({function})));
  }
}

TEST(Attack, ManyEmptyFunctions) {
  EXPECT_FALSE(LoadWithinMeasure(MessageBytes().Sub(2, Empties(1, kMillion)).str()).ok());
}

TEST(Attack, ManyEmptyGradients) { (void)LoadWithinMeasure(MessageBytes().Sub(2, Empties(2, kMillion)).str()); }

TEST(Attack, ManyWideNodesOfDifferentWidths) {
  std::string bytes = MessageBytes().Sub(1, PlaceholderNode("x")).str();
  for (int i = 0; i < 65'536; ++i) {
    const AttrBytes attrs = {{"T", TypeAttr(kFloat)}, {"num", IntAttr(i)}};
    bytes += MessageBytes().Sub(1, NodeDefBytes("n" + std::to_string(i), "Unpack", {"x"}, attrs)).str();
  }
  (void)LoadWithinMeasure(bytes, 200);
}

TEST(Attack, ALongCycle) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) {
    const std::string input = "n" + std::to_string((i + 1) % 300'000);
    bytes += MessageBytes().Sub(1, UnaryNode("n" + std::to_string(i), "Relu", {input})).str();
  }
  const absl::Status status = LoadWithinMeasure(bytes);
  EXPECT_THAT(status, IsError(ErrorCode::kCycle));
  EXPECT_LE(status.message().size(), 400u);
}

TEST(Attack, NodesThatAllListTheSameControlInputs) {
  std::string bytes;
  std::vector<std::string> inputs;
  for (int i = 0; i < 1000; ++i) {
    bytes += MessageBytes().Sub(1, NodeDefBytes("n" + std::to_string(i), "NoOp")).str();
    inputs.push_back("^n" + std::to_string(i));
  }
  for (int i = 0; i < 1000; ++i)
    bytes += MessageBytes().Sub(1, NodeDefBytes("m" + std::to_string(i), "NoOp", inputs)).str();
  EXPECT_OK(LoadWithinMeasure(bytes));
}

ImportOptions Options() {
  ImportOptions options;
  options.ops = std::shared_ptr<const OpRegistry>(std::shared_ptr<const void>(), &BuiltinOps());
  return options;
}

// A function F from one `dtype` to one `dtype`.
MessageBytes IdentityFunction(int64_t dtype) {
  FunctionBytes function;
  function.name = "F";
  function.args = {{"x", dtype}};
  function.results = {{"y", dtype}};
  function.nodes = {UnaryNode("n", "Identity", {"x"}, dtype)};
  function.ret = {{"y", "n:output:0"}};
  return function.Message();
}

TEST(Attack, AFailedImportLeavesNoTraceInTheNextOne) {
  // The functions of the failed imports are gone; one of the same size takes their place in memory.
  const ImportOptions options = Options();
  Graph graph(options.ops);
  for (int round = 0; round < 20; ++round) {
    const std::string bad = GraphDefBytes(
        {PlaceholderNode("x", kInt32), NodeDefBytes("call", "F", {"x"}), UnaryNode("y", "Nope", {"call"})},
        LibraryBytes({IdentityFunction(kInt32)}));
    EXPECT_THAT(ImportInto(graph, GraphSource::Copy(bad), options), IsError(ErrorCode::kOpUnknown));
    EXPECT_EQ(graph.num_nodes(), 0u);
    EXPECT_TRUE(graph.library().empty());
    Graph other(graph);
    const std::string good = GraphDefBytes({PlaceholderNode("x"), NodeDefBytes("call", "F", {"x"})},
                                           LibraryBytes({IdentityFunction(kFloat)}));
    ASSERT_OK(ImportInto(other, GraphSource::Copy(good), options).status());
    EXPECT_EQ(other.output_type(other.Find("call"), 0), DType::kFloat);
  }
}

TEST(Attack, AFailedImportIntoAFullGraphChangesNothing) {
  const ImportOptions options = Options();
  Graph graph(options.ops);
  const std::string good = GraphDefBytes({PlaceholderNode("a"), UnaryNode("b", "Relu", {"a"})});
  ASSERT_OK(ImportInto(graph, GraphSource::Copy(good), options).status());
  const std::string before = ExportGraph(graph);
  const std::string bad = GraphDefBytes(
      {PlaceholderNode("c"), NodeDefBytes("d", "Relu", {"c"}, {}, "/gpu:7"), UnaryNode("e", "Relu", {"nowhere"})},
      LibraryBytes({IdentityFunction(kFloat)}), 5);
  EXPECT_FALSE(ImportInto(graph, GraphSource::Copy(bad), options).ok());
  EXPECT_EQ(ExportGraph(graph), before);
  EXPECT_FALSE(graph.Contains(graph.Find("c")));
  ASSERT_OK(ImportInto(graph, GraphSource::Copy(GraphDefBytes({PlaceholderNode("c")})), options).status());
  EXPECT_EQ(graph.num_nodes(), 3u);
}

}  // namespace
}  // namespace sluice

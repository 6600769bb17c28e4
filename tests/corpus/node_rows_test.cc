// Rows G of the corpus: nodes, their inputs, attrs, types, devices.

#include <string>
#include <vector>

#include "graph/base/error.h"
#include "tests/corpus/corpus_row.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

class NodeRows : public ::testing::TestWithParam<CorpusRow> {};

TEST_P(NodeRows, AreRefused) { ExpectRefused(GetParam()); }

// Float placeholders 'a' and 'b' and `node`.
std::string With(const MessageBytes& node) { return GraphDefBytes({PlaceholderNode("a"), PlaceholderNode("b"), node}); }

std::string WithName(absl::string_view name) { return With(PlaceholderNode(name)); }

std::string ReluOf(const std::string& input) { return With(UnaryNode("out", "Relu", {input})); }

std::string AddNWith(int64_t n) {
  return With(NodeDefBytes("out", "AddN", {"a", "b"}, {{"N", IntAttr(n)}, {"T", TypeAttr(kFloat)}}));
}

CorpusRow BadName(std::string row, absl::string_view name) {
  return Bad(std::move(row), WithName(name), ErrorCode::kNodeName).AtNode(name, "Placeholder");
}

CorpusRow BadInput(std::string row, const std::string& input, ErrorCode code) {
  return Bad(std::move(row), ReluOf(input), code).AtNode("out", "Relu").AtInput(0);
}

CorpusRow BadRelu(std::string row, const AttrBytes& attrs, ErrorCode code) {
  return Bad(std::move(row), With(NodeDefBytes("out", "Relu", {"a"}, attrs)), code).AtNode("out", "Relu");
}

INSTANTIATE_TEST_SUITE_P(
    Names, NodeRows,
    ::testing::Values(Bad("G01_Duplicate", WithName("a"), ErrorCode::kNodeDuplicate).AtNode("a", "Placeholder"),
                      Bad("G01_DuplicateOfAnotherOp", With(UnaryNode("a", "Relu", {"b"})), ErrorCode::kNodeDuplicate)
                          .AtNode("a", "Relu"),
                      Bad("G01_Empty", WithName(""), ErrorCode::kNodeName), BadName("G01_Caret", "^a"),
                      BadName("G01_Colon", "a:0"), BadName("G01_Blank", "a b"), BadName("G01_Umlaut", "\xc3\xa4"),
                      BadName("G01_Dash", "-x")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Ops, NodeRows,
    ::testing::Values(
        Bad("G02_NoOp", With(UnaryNode("out", "", {"a"})), ErrorCode::kOpUnknown).AtNode("out", ""),
        Bad("G03_WrongCase", With(UnaryNode("out", "relu", {"a"})), ErrorCode::kOpUnknown).AtNode("out", "relu"),
        Bad("G03_Unknown", With(UnaryNode("out", "MyCustomOp", {"a"})), ErrorCode::kOpUnknown)
            .AtNode("out", "MyCustomOp"),
        Bad("InternalOp", With(UnaryNode("out", "_Retval", {"a"})), ErrorCode::kOpInternal).AtNode("out", "_Retval")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Inputs, NodeRows,
    ::testing::Values(
        BadInput("G04_Slot1", "a:1", ErrorCode::kInputSlot), BadInput("G04_Slot7", "a:7", ErrorCode::kInputSlot),
        BadInput("G05_Empty", "", ErrorCode::kInputSyntax), BadInput("G05_ColonOnly", ":0", ErrorCode::kInputSyntax),
        BadInput("G05_Negative", "a:-1", ErrorCode::kInputSyntax),
        BadInput("G05_NotANumber", "a:1x", ErrorCode::kInputSyntax),
        BadInput("G05_HugeSlot", "a:99999999999", ErrorCode::kInputSyntax),
        BadInput("G06_Missing", "nowhere", ErrorCode::kInputUnknown),
        Bad("G05_CaretOnly", With(UnaryNode("out", "Relu", {"a", "^"})), ErrorCode::kInputSyntax)
            .AtNode("out", "Relu")
            .AtInput(1),
        Bad("G05_CaretWithSlot", With(UnaryNode("out", "Relu", {"a", "^a:0"})), ErrorCode::kInputSyntax)
            .AtNode("out", "Relu")
            .AtInput(1),
        Bad("G06_MissingControl", With(UnaryNode("out", "Relu", {"a", "^nowhere"})), ErrorCode::kInputUnknown)
            .AtNode("out", "Relu")
            .AtInput(1),
        Bad("G06_DataBehindControl", With(UnaryNode("out", "AddV2", {"a", "^a", "b"})), ErrorCode::kInputOrder)
            .AtNode("out", "AddV2")
            .AtInput(2),
        Bad("TooFew", With(UnaryNode("out", "AddV2", {"a"})), ErrorCode::kInputCount).AtNode("out", "AddV2"),
        Bad("TooMany", With(UnaryNode("out", "Relu", {"a", "b"})), ErrorCode::kInputCount).AtNode("out", "Relu"),
        Bad("G16_NoInputs", With(UnaryNode("out", "Identity", {})), ErrorCode::kInputCount).AtNode("out", "Identity"),
        Bad("RefExpected", With(UnaryNode("out", "Assign", {"a", "b"})), ErrorCode::kInputRef)
            .AtNode("out", "Assign")
            .AtInput(0)),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Counts, NodeRows,
    ::testing::Values(
        Bad("G07_AddN3", AddNWith(3), ErrorCode::kInputCount).AtNode("out", "AddN"),
        Bad("G07_AddN0", AddNWith(0), ErrorCode::kInputCount).AtNode("out", "AddN"),
        Bad("G07_AddNMinus1", AddNWith(-1), ErrorCode::kAttrValue).AtNode("out", "AddN").AtAttr("N"),
        Bad("G07_AddN2Pow31", AddNWith(2147483647), ErrorCode::kInputCount)
            .Or(ErrorCode::kAttrValue)
            .AtNode("out", "AddN"),
        Bad("G07_AddN2Pow62", AddNWith(int64_t{1} << 62), ErrorCode::kInputCount)
            .Or(ErrorCode::kAttrValue)
            .AtNode("out", "AddN"),
        Bad("G07_Pack0", With(NodeDefBytes("out", "Pack", {}, {{"N", IntAttr(0)}, {"T", TypeAttr(kFloat)}})),
            ErrorCode::kAttrValue)
            .AtNode("out", "Pack")
            .AtAttr("N"),
        Bad("G07_Concat1",
            GraphDefBytes({PlaceholderNode("a"), PlaceholderNode("i", kInt32),
                           NodeDefBytes("out", "ConcatV2", {"a", "i"}, {{"N", IntAttr(1)}, {"T", TypeAttr(kFloat)}})}),
            ErrorCode::kAttrValue)
            .AtNode("out", "ConcatV2")
            .AtAttr("N")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Attrs, NodeRows,
    ::testing::Values(
        BadRelu("G08_NoT", {}, ErrorCode::kAttrMissing).AtAttr("T"),
        BadRelu("G08_NullT", {{"T", MessageBytes()}}, ErrorCode::kAttrKind).AtAttr("T"),
        BadRelu("G09_TIsAString", {{"T", StringAttr("float")}}, ErrorCode::kAttrKind).AtAttr("T"),
        BadRelu("G09_TInvalid", {{"T", TypeAttr(0)}}, ErrorCode::kAttrValue).AtAttr("T"),
        BadRelu("G09_TUnknown", {{"T", TypeAttr(77)}}, ErrorCode::kAttrValue).AtAttr("T"),
        BadRelu("G09_TNotAllowed", {{"T", TypeAttr(kString)}}, ErrorCode::kAttrValue).AtAttr("T"),
        BadRelu("G09_TwiceTheLastIsWrong", {{"T", TypeAttr(kFloat)}, {"T", TypeAttr(77)}}, ErrorCode::kAttrValue)
            .AtAttr("T"),
        Bad("G09_StridesAreFloats",
            With(NodeDefBytes(
                "out", "Conv2D", {"a", "b"},
                {{"T", TypeAttr(kFloat)}, {"padding", StringAttr("SAME")}, {"strides", FloatListAttr({1, 1, 1, 1})}})),
            ErrorCode::kAttrKind)
            .AtNode("out", "Conv2D")
            .AtAttr("strides"),
        Bad("K03_PaddingNotAllowed",
            With(NodeDefBytes(
                "out", "Conv2D", {"a", "b"},
                {{"T", TypeAttr(kFloat)}, {"padding", StringAttr("MAYBE")}, {"strides", IntListAttr({1, 1, 1, 1})}})),
            ErrorCode::kAttrValue)
            .AtNode("out", "Conv2D")
            .AtAttr("padding"),
        Bad("G08_TypeListMissing", With(NodeDefBytes("out", "IdentityN", {"a"})), ErrorCode::kAttrMissing)
            .AtNode("out", "IdentityN")
            .AtAttr("T")),
    CorpusRowName());

std::string TypeChain() {
  return GraphDefBytes({PlaceholderNode("i", kInt32), UnaryNode("i1", "Identity", {"i"}, kInt32),
                        UnaryNode("i2", "Identity", {"i1"}, kInt32), UnaryNode("out", "Relu", {"i2"})});
}

INSTANTIATE_TEST_SUITE_P(
    Types, NodeRows,
    ::testing::Values(
        Bad("G10_IntIntoFloat",
            GraphDefBytes({PlaceholderNode("i", kInt32), PlaceholderNode("a"), UnaryNode("out", "AddV2", {"a", "i"})}),
            ErrorCode::kInputType)
            .AtNode("out", "AddV2")
            .AtInput(1)
            .Says("int32"),
        Bad("G10_BehindIdentities", TypeChain(), ErrorCode::kInputType).AtNode("out", "Relu").AtInput(0),
        Bad("G10_TypeList", With(NodeDefBytes("out", "IdentityN", {"a", "b"}, {{"T", TypeListAttr({kFloat, kInt32})}})),
            ErrorCode::kInputType)
            .AtNode("out", "IdentityN")
            .AtInput(1)),
    CorpusRowName());

CorpusRow BadDevice(std::string row, absl::string_view device, ErrorCode code) {
  return Bad(std::move(row), With(NodeDefBytes("out", "Relu", {"a"}, {{"T", TypeAttr(kFloat)}}, device)), code)
      .AtNode("out", "Relu");
}

INSTANTIATE_TEST_SUITE_P(Devices, NodeRows,
                         ::testing::Values(BadDevice("G12_Banana", "/gpu:banana", ErrorCode::kDeviceName),
                                           BadDevice("G12_NegativeTask", "/job:x/task:-1", ErrorCode::kDeviceName),
                                           BadDevice("G12_NoSlash", "cpu:0:0", ErrorCode::kDeviceName)),
                         CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Cycles, NodeRows,
    ::testing::Values(
        Bad("G11_Ring",
            GraphDefBytes({UnaryNode("p", "Relu", {"q"}), UnaryNode("q", "Relu", {"r"}),
                           UnaryNode("r", "Relu", {"p"})}),
            ErrorCode::kCycle)
            .Says("p"),
        Bad("G11_Self", GraphDefBytes({UnaryNode("p", "Relu", {"p"})}), ErrorCode::kCycle).AtNode("p", "Relu"),
        Bad("G11_Control", GraphDefBytes({NodeDefBytes("p", "NoOp", {"^q"}), NodeDefBytes("q", "NoOp", {"^p"})}),
            ErrorCode::kCycle)
            .Says("q"),
        Bad("G11_MergeWithoutNextIteration",
            GraphDefBytes({PlaceholderNode("a"),
                           NodeDefBytes("m", "Merge", {"a", "n"}, {{"T", TypeAttr(kFloat)}, {"N", IntAttr(2)}}),
                           UnaryNode("n", "Relu", {"m"})}),
            ErrorCode::kCycle)
            .Says("m")),
    CorpusRowName());

TEST(NodeCorpus, G03_AllUnknownOpsAreListedWithNearNames) {
  std::vector<MessageBytes> nodes = {PlaceholderNode("a")};
  for (int i = 0; i < 7; ++i) nodes.push_back(UnaryNode("n" + std::to_string(i), "Conv2d", {"a"}));
  const absl::Status status = LoadCorpusGraph(GraphDefBytes(nodes)).status();
  const std::vector<absl::Status> errors = AllErrors(status);
  ASSERT_EQ(errors.size(), 7u);
  for (size_t i = 0; i < errors.size(); ++i) {
    const ErrorInfo info = *ErrorInfoOf(errors[i]);
    EXPECT_EQ(info.node, "n" + std::to_string(i));
    EXPECT_EQ(info.node_index, static_cast<int64_t>(i) + 1);
    EXPECT_THAT(info.suggestion, ::testing::HasSubstr("Conv2D"));
  }
}

TEST(NodeCorpus, ErrorsOfDifferentKindsComeTogetherInOrderOfTheNodes) {
  const absl::Status status =
      LoadCorpusGraph(GraphDefBytes({PlaceholderNode("a"), UnaryNode("n1", "Relu", {"nowhere"}),
                                     UnaryNode("n2", "Nope", {"a"}), NodeDefBytes("n3", "Relu", {"a"}),
                                     UnaryNode("n4", "Relu", {"a:3"}), UnaryNode("n5", "Relu", {"n2"})}))
          .status();
  std::vector<ErrorCode> codes;
  for (const absl::Status& error : AllErrors(status)) codes.push_back(ErrorInfoOf(error)->code);
  // n5 reads a node that is wrong itself: that is no error of its own.
  EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::kInputUnknown, ErrorCode::kOpUnknown, ErrorCode::kAttrMissing,
                                           ErrorCode::kInputSlot}));
}

TEST(NodeCorpus, FiftyErrorsAreKeptAndTheRestIsCounted) {
  std::vector<MessageBytes> nodes;
  for (int i = 0; i < 300; ++i) nodes.push_back(UnaryNode("n" + std::to_string(i), "Nope", {}));
  const absl::Status status = LoadCorpusGraph(GraphDefBytes(nodes)).status();
  EXPECT_EQ(AllErrors(status).size(), 50u);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("300"));
}

TEST(NodeCorpus, G09_OfEqualKeysTheLastWins) {
  const AttrBytes attrs = {{"T", StringAttr("x")}, {"T", TypeAttr(kFloat)}};
  EXPECT_OK(LoadCorpusGraph(With(NodeDefBytes("out", "Relu", {"a"}, attrs))).status());
}

TEST(NodeCorpus, UnknownAttrsAndDanglingColocationsAreAccepted) {
  const AttrBytes attrs = {
      {"T", TypeAttr(kFloat)}, {"from_the_future", IntAttr(1)}, {"_class", StringListAttr({"loc:@nowhere"})}};
  EXPECT_OK(LoadCorpusGraph(With(NodeDefBytes("out", "Relu", {"a"}, attrs))).status());
}

TEST(NodeCorpus, RepeatedControlInputsCountOnce) {
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(With(UnaryNode("out", "Relu", {"a", "^b", "^b", "^b"})));
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->controls(graph->Find("out")).size(), 1u);
}

TEST(NodeCorpus, G13_AFanInOf60000ControlEdgesIsRead) {
  std::vector<MessageBytes> nodes;
  std::vector<std::string> inputs;
  for (int i = 0; i < 60000; ++i) {
    nodes.push_back(NodeDefBytes("n" + std::to_string(i), "NoOp"));
    inputs.push_back("^n" + std::to_string(i));
  }
  nodes.push_back(NodeDefBytes("all", "NoOp", inputs));
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(GraphDefBytes(nodes));
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->controls(graph->Find("all")).size(), 60000u);
}

TEST(NodeCorpus, G13_AChainOfAMillionIdentitiesIsReadWithoutRecursion) {
  constexpr int kNodes = 1'000'000;
  std::string bytes = MessageBytes().Sub(1, PlaceholderNode("n0")).str();
  for (int i = 1; i < kNodes; ++i) {
    const MessageBytes node = UnaryNode("n" + std::to_string(i), "Identity", {"n" + std::to_string(i - 1)});
    bytes += MessageBytes().Sub(1, node).str();
  }
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(bytes);
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->num_nodes(), static_cast<size_t>(kNodes));
}

}  // namespace
}  // namespace sluice

// Rows C of the corpus: frames, loops and conditionals that do not close.

#include <string>
#include <vector>

#include "tests/corpus/corpus_row.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

class ControlFlowRows : public ::testing::TestWithParam<CorpusRow> {};

TEST_P(ControlFlowRows, AreRefused) { ExpectRefused(GetParam()); }

MessageBytes MergeNode(absl::string_view name, const std::vector<std::string>& inputs) {
  return NodeDefBytes(name, "Merge", inputs,
                      {{"T", TypeAttr(kFloat)}, {"N", IntAttr(static_cast<int64_t>(inputs.size()))}});
}

// A complete loop in frame `frame` over float 'x' and bool 'p' (both outside), names prefixed.
std::vector<MessageBytes> Loop(const std::string& prefix, absl::string_view frame, const std::string& x,
                               const std::string& p) {
  return {EnterNode(prefix + "enter", x, frame),
          EnterNode(prefix + "pred", p, frame, 10, kBool),
          MergeNode(prefix + "merge", {prefix + "enter", prefix + "next"}),
          NodeDefBytes(prefix + "cond", "LoopCond", {prefix + "pred"}),
          UnaryNode(prefix + "switch", "Switch", {prefix + "merge", prefix + "cond"}),
          UnaryNode(prefix + "body", "Relu", {prefix + "switch:1"}),
          UnaryNode(prefix + "next", "NextIteration", {prefix + "body"}),
          UnaryNode(prefix + "exit", "Exit", {prefix + "switch"})};
}

std::string WithLoop(const std::vector<MessageBytes>& more) {
  std::vector<MessageBytes> nodes = {PlaceholderNode("x"), PlaceholderNode("p", kBool)};
  for (const MessageBytes& node : Loop("", "f", "x", "p")) nodes.push_back(node);
  nodes.insert(nodes.end(), more.begin(), more.end());
  return GraphDefBytes(nodes);
}

std::string With(const std::vector<MessageBytes>& more) {
  std::vector<MessageBytes> nodes = {PlaceholderNode("x"), PlaceholderNode("p", kBool)};
  nodes.insert(nodes.end(), more.begin(), more.end());
  return GraphDefBytes(nodes);
}

INSTANTIATE_TEST_SUITE_P(
    Frames, ControlFlowRows,
    ::testing::Values(
        Bad("C01_ExitWithoutEnter", With({UnaryNode("exit", "Exit", {"x"})}), ErrorCode::kFrame).AtNode("exit", "Exit"),
        Bad("C01_LoopCondOutside", With({NodeDefBytes("cond", "LoopCond", {"p"})}), ErrorCode::kLoopCond)
            .Or(ErrorCode::kFrame)
            .AtNode("cond", "LoopCond"),
        Bad("C01_TwoLoopConds", WithLoop({NodeDefBytes("cond2", "LoopCond", {"pred"})}), ErrorCode::kLoopCond)
            .AtNode("cond2", "LoopCond"),
        Bad("C02_FrameNameEmpty", With({EnterNode("e", "x", "")}), ErrorCode::kFrameName)
            .AtNode("e", "Enter")
            .AtAttr("frame_name"),
        Bad("C02_TwoParents", With({EnterNode("a", "x", "f"), EnterNode("b", "a", "g"), EnterNode("c", "x", "g")}),
            ErrorCode::kFrameParent)
            .Or(ErrorCode::kFrameMixed),
        Bad("C02_EntersItself", With({EnterNode("a", "x", "f"), EnterNode("b", "a", "f")}), ErrorCode::kFrameParent),
        Bad("C03_MixesFrameAndOutside", With({EnterNode("e", "x", "f"), UnaryNode("mix", "AddV2", {"e", "x"})}),
            ErrorCode::kFrameMixed)
            .AtNode("mix", "AddV2"),
        Bad("C03_MixesTwoFrames",
            With({EnterNode("e", "x", "f"), EnterNode("g", "x", "g"), UnaryNode("mix", "AddV2", {"e", "g"})}),
            ErrorCode::kFrameMixed)
            .AtNode("mix", "AddV2"),
        Bad("C03_MergeOfTwoFrames",
            With({EnterNode("e", "x", "f"), EnterNode("g", "x", "g"), MergeNode("mix", {"e", "g"})}),
            ErrorCode::kFrameMixed)
            .Or(ErrorCode::kMerge)
            .AtNode("mix", "Merge"),
        Bad("C03_MergeOfNothing", With({MergeNode("m", {})}), ErrorCode::kAttrValue)
            .Or(ErrorCode::kMerge)
            .AtNode("m", "Merge"),
        Bad("C03_ControlEdgeOutOfALoop", WithLoop({NodeDefBytes("out", "NoOp", {"^x", "^body"})}),
            ErrorCode::kFrameMixed)
            .AtNode("out", "NoOp")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Loops, ControlFlowRows,
    ::testing::Values(
        Bad("C04_NextFeedsNoMerge",
            With({EnterNode("e", "x", "f"), UnaryNode("n", "NextIteration", {"e"}), UnaryNode("i", "Identity", {"n"})}),
            ErrorCode::kNextIteration)
            .AtNode("n", "NextIteration"),
        Bad("C04_NextOutside", With({UnaryNode("ni", "NextIteration", {"x"})}), ErrorCode::kNextIteration)
            .Or(ErrorCode::kFrame)
            .AtNode("ni", "NextIteration"),
        Bad("C08_ParallelIterations0", With({EnterNode("e", "x", "f", 0)}), ErrorCode::kParallelIterations)
            .AtNode("e", "Enter")
            .AtAttr("parallel_iterations"),
        Bad("C08_ParallelIterationsMinus1", With({EnterNode("e", "x", "f", -1)}), ErrorCode::kParallelIterations)
            .AtNode("e", "Enter")
            .AtAttr("parallel_iterations")),
    CorpusRowName());

TEST(ControlFlowCorpus, C03_AMergeOfOneInputIsAllowed) {
  EXPECT_OK(LoadCorpusGraph(With({MergeNode("m", {"x"})})).status());
}

TEST(ControlFlowCorpus, C06_ALoopIsAccepted) { EXPECT_OK(LoadCorpusGraph(WithLoop({})).status()); }

TEST(ControlFlowCorpus, C08_HugeParallelIterationsAreClampedNotReserved) {
  EXPECT_OK(LoadCorpusGraph(With({EnterNode("e", "x", "f", 2147483647)})).status());
}

TEST(ControlFlowCorpus, C11_FramesNestUpToTheLimit) {
  const auto nested = [](int levels) {
    std::vector<MessageBytes> nodes;
    std::string last = "x";
    for (int i = 0; i < levels; ++i) {
      const std::string name = "e" + std::to_string(i);
      nodes.push_back(EnterNode(name, last, "f" + std::to_string(i)));
      last = name;
    }
    return With(nodes);
  };
  EXPECT_OK(LoadCorpusGraph(nested(64)).status());
  EXPECT_THAT(LoadCorpusGraph(nested(65)), IsError(ErrorCode::kLimitFrames));
  ExpectRefused(Bad("C11", nested(10000), ErrorCode::kLimitFrames));
}

TEST(ControlFlowCorpus, AHundredThousandLoopsAreReadInLinearTime) {
  std::vector<MessageBytes> nodes;
  for (int i = 0; i < 20000; ++i) {
    for (const MessageBytes& node : Loop("l" + std::to_string(i) + "/", "f" + std::to_string(i), "x", "p")) {
      nodes.push_back(node);
    }
  }
  const absl::StatusOr<Graph> graph = LoadCorpusGraph(With(nodes));
  ASSERT_OK(graph.status());
  EXPECT_EQ(graph->num_nodes(), 20000u * 8 + 2);
}

}  // namespace
}  // namespace sluice

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/graph_bytes.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

RunResult Check(const std::string& bytes, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"check", "-"});
  return RunSluice(options, bytes);
}

TEST(CheckTest, ASoundGraphWithAllKernelsCanRun) {
  const RunResult run = Check(SampleModel());
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(absl::StrContains(run.out, "graph    sound")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "all there")) << run.out;
  EXPECT_EQ(run.err, "");
}

TEST(CheckTest, OpsWithoutAKernelAreNamedWithTheirFirstNode) {
  const RunResult run = Check(PipelineModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "graph    sound")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "IteratorGetNext")) << run.out;
}

// tf.import_graph_def refuses it; a run does not.
TEST(CheckTest, ColocationWithANodeThatIsNotThereIsAWarning) {
  const graph_bytes::AttrBytes attrs = {{"_class", graph_bytes::StringListAttr({"loc:@gone"})}};
  const RunResult run = Check(graph_bytes::GraphDefBytes({graph_bytes::NodeDefBytes("a", "NoOp", {}, attrs)}));
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "'a' is to stand with 'gone'")) << run.out;
}

TEST(CheckTest, GraphOnlyAsksWhetherTheGraphIsSound) {
  EXPECT_EQ(Check(SampleModel(), {"--graph-only"}).status, 0);
  EXPECT_EQ(Check(BrokenModel(), {"--graph-only"}).status, 1);
}

// Nothing is known of a graph then: it is the error that every command gives.
TEST(CheckTest, AFileThatCannotBeReadIsNoErrorOfAGraph) {
  const std::string empty = TestFile("empty_directory"), large = MakeTestFile("large.pb", SampleModel());
  std::filesystem::create_directories(empty);
  const std::vector<std::pair<std::vector<std::string>, std::string>> models = {
      {{"nowhere.pb"}, "SLC1001"},
      {{"/proc/self/mem"}, "SLC1002"},
      {{empty}, "SLC1030"},
      {{large, "--max-file-bytes", "5"}, "SLC7001"}};
  for (const auto& [words, code] : models) {
    std::vector<std::string> check = {"check"}, show = {"show"};
    check.insert(check.end(), words.begin(), words.end());
    show.insert(show.end(), words.begin(), words.end());
    const RunResult run = RunSluice(check), other = RunSluice(show);
    EXPECT_EQ(run.status, other.status) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, other.err);
    EXPECT_TRUE(absl::StartsWith(run.err, code)) << run.err;
    check.emplace_back("--json");
    const Json json = Json::parse(RunSluice(check).out);
    EXPECT_EQ(json["errors"][0]["code"], code);
    EXPECT_FALSE(json.contains("graph_ok")) << json;
  }
}

TEST(CheckTest, EveryErrorIsShownAtOnce) {
  const RunResult run = Check(BrokenModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "SLC2003 NOT_FOUND: ")) << run.out;
  for (const char* part : {"Conv2d", "Conv2D", "NoSuchOp", "nowhere", "see   sluice explain SLC2003"}) {
    EXPECT_TRUE(absl::StrContains(run.out, part)) << part << "\n" << run.out;
  }
}

TEST(CheckTest, JsonKeepsSoundnessAndKernelsApart) {
  const Json sound = Json::parse(Check(SampleModel(), {"--json"}).out);
  EXPECT_EQ(sound["graph_ok"], true);
  EXPECT_EQ(sound["runnable"], true);
  EXPECT_TRUE(sound["errors"].empty());
  EXPECT_TRUE(sound["missing_kernels"].empty());
  const Json pipeline = Json::parse(Check(PipelineModel(), {"--json"}).out);
  EXPECT_EQ(pipeline["graph_ok"], true);
  EXPECT_EQ(pipeline["runnable"], false);
  EXPECT_EQ(pipeline["missing_kernels"]["IteratorGetNext"]["count"], 1);
  EXPECT_EQ(pipeline["missing_kernels"]["IteratorGetNext"]["first_node"], "next");
  const Json broken = Json::parse(Check(BrokenModel(), {"--json"}).out);
  EXPECT_EQ(broken["graph_ok"], false);
  EXPECT_EQ(broken["num_errors"], broken["errors"].size());
  EXPECT_EQ(broken["errors"][0]["code"], "SLC2003");
  EXPECT_EQ(broken["errors"][0]["node"], "a");
  EXPECT_EQ(broken["errors"][0]["node_index"], 0);
}

TEST(CheckTest, ACallIsAnsweredByItsBody) {
  const Json json = Json::parse(Check(FunctionModel(), {"--json"}).out);
  EXPECT_EQ(json["runnable"], true);
  EXPECT_TRUE(json["missing_kernels"].empty()) << json["missing_kernels"];
}

TEST(CheckTest, PipelinesSayWhatToFeedInstead) {
  const Json json = Json::parse(Check(PipelineModel(), {"--json"}).out);
  const std::string next = json["missing_kernels"]["IteratorGetNext"]["way_out"];
  EXPECT_TRUE(absl::StrContains(next, "feed 'next:0' (float32), 'next:1' (int64)")) << next;
  const std::string py = json["missing_kernels"]["PyFunc"]["way_out"];
  EXPECT_TRUE(absl::StrContains(py, "no Python here")) << py;
  EXPECT_EQ(json["missing_kernels"]["PyFunc"]["out_of_scope"], true);
  EXPECT_FALSE(json["missing_kernels"].contains("Relu"));
}

TEST(CheckTest, ShapesThatContradictAreReportedBesideTheGraph) {
  const std::string text = R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'shape' value { shape { dim { size: 2 } dim { size: 3 } } } } }
    node { name: 'y' op: 'MatMul' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } })";
  const Json json = Json::parse(Check(text, {"--json"}).out);
  EXPECT_EQ(json["graph_ok"], true);
  ASSERT_EQ(json["shape_errors"].size(), 1u);
  EXPECT_EQ(json["shape_errors"][0]["node"], "y");
  EXPECT_EQ(json["shape_errors"][0]["line"], 4) << json["shape_errors"];
}

}  // namespace
}  // namespace sluice

// --plugin of every command that loads graphs, and of `ops`.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kSwish[] = "tools/examples/libplugin_op.so";
constexpr char kPlain[] = "tests/kernels/plugin/libplain.so";
constexpr char kOtherMajor[] = "tests/kernels/plugin/libother_major.so";

constexpr char kGraph[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 3 } } } } }
node { name: "h" op: "PlainNegate" input: "x" }
node { name: "y" op: "Swish" input: "h" attr { key: "slope" value { f: 2 } } }
)";

class PluginTest : public testing::Test {
 protected:
  // `sluice COMMAND graph ARGUMENTS --plugin ... --plugin ...`.
  RunResult Run(const std::string& command, const std::vector<std::string>& arguments = {}) const {
    std::vector<std::string> all = {command, graph_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--plugin", kSwish, "--plugin", kPlain});
    return RunSluice(all);
  }

  const std::string graph_ = MakeTestFile("plugin.pbtxt", kGraph);
};

TEST_F(PluginTest, AGraphWithOpsOfTwoPlugInsRuns) {
  const RunResult run = Run("run", {"--feed", "x=[0,1,-1000]", "--fetch", "y"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("y  float32 [3]"));
  EXPECT_THAT(run.out, HasSubstr("1000"));
  EXPECT_THAT(RunSluice({"run", graph_, "--feed", "x=[0,1,-1000]", "--fetch", "y"}).err,
              HasSubstr("PlainNegate 'h': is not an op"));
}

TEST_F(PluginTest, EveryCommandThatLoadsGraphsTakesPlugIns) {
  const RunResult check = Run("check");
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  const RunResult show = Run("show", {"--json"});
  EXPECT_EQ(show.status, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("Swish"));
  const RunResult bench = Run("bench", {"--feed", "x=[0,1,2]", "--fetch", "y", "--runs", "3"});
  EXPECT_EQ(bench.status, 0) << bench.err;
  const RunResult convert =
      RunSluice({"convert", graph_, TestFile("plugin.pb"), "--plugin", kSwish, "--plugin", kPlain});
  EXPECT_EQ(convert.status, 0) << convert.err;
  for (const char* const command : {"run", "check", "show", "bench", "convert", "conform", "ops"}) {
    EXPECT_THAT(RunSluice({command, "--help"}).out, HasSubstr("--plugin FILE")) << command;
  }
}

TEST_F(PluginTest, ShapesOfItsOpsAreShown) {
  const RunResult show = Run("show", {"--svg", TestFile("plugin.svg")});
  EXPECT_EQ(show.status, 0) << show.err;
  EXPECT_THAT(ReadTestFile(TestFile("plugin.svg")), HasSubstr("float32 [3]"));
}

TEST_F(PluginTest, OpsSaysWhereAnOpAndAKernelAreFrom) {
  const RunResult text = RunSluice(
      {"ops", "Swish", "Neg", "--plugin", kSwish, "--plugin", "tests/kernels/plugin/libkernel_of_known_op.so"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("gradient  yes\n  from      plug-in 'swish' (tools/examples/libplugin_op.so)"));
  EXPECT_THAT(text.out, HasSubstr("from plug-in 'refused' (tests/kernels/plugin/libkernel_of_known_op.so)"));
  const RunResult json = RunSluice({"ops", "Swish", "--json", "--plugin", kSwish});
  const nlohmann::json document = nlohmann::json::parse(json.out, nullptr, false);
  ASSERT_TRUE(document.is_array()) << json.out;
  EXPECT_EQ(document[0]["from"], "plug-in 'swish' (tools/examples/libplugin_op.so)");
  EXPECT_EQ(document[0]["runs"], true);
  EXPECT_THAT(RunSluice({"ops", "--plugin", kSwish}).out, HasSubstr("Swish"));
  EXPECT_THAT(RunSluice({"ops"}).out, Not(HasSubstr("Swish")));
}

// Where another file may help, and once.
TEST_F(PluginTest, AnOpThatIsNotKnownNamesTheOptionWhereItCanHelp) {
  const auto help = [](const std::string& ops, std::vector<std::string> arguments = {}) {
    std::string graph;
    for (const absl::string_view op : absl::StrSplit(ops, ' ')) {
      absl::StrAppend(&graph, "node { name: 'of", op, "' op: '", op, "' }\n");
    }
    arguments.insert(arguments.begin(), {"check", "-"});
    const RunResult run = RunSluice(arguments, graph);
    EXPECT_THAT(run.out, HasSubstr("is not an op that is known here")) << run.err;
    size_t times = 0;
    for (size_t at = run.out.find("--plugin"); at != run.out.npos; at = run.out.find("--plugin", at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(help("Swish"), 1u);
  EXPECT_EQ(help("Swish OtherOp AndAnother"), 1u);
  EXPECT_EQ(help("MatMull"), 0u) << "did you mean MatMul?";
  EXPECT_EQ(help("MatMull Swish"), 1u);
  EXPECT_EQ(help("_FusedDenseThing"), 0u) << "TensorFlow's own business";
  EXPECT_EQ(help("NotOfIt", {"--plugin", kSwish}), 0u);
}

TEST_F(PluginTest, APlugInThatIsRefusedEndsTheCommandAndSaysWhy) {
  for (const char* const command : {"run", "check", "show", "bench", "ops"}) {
    const RunResult run = RunSluice({command, graph_, "--plugin", kOtherMajor});
    EXPECT_EQ(run.status, 1) << command;
    EXPECT_THAT(run.err, HasSubstr("libother_major.so' was built for another version of the interface")) << command;
    EXPECT_THAT(run.err, HasSubstr("2.1")) << command;
    EXPECT_EQ(run.out, "") << command;
  }
  const RunResult twice = Run("run", {"--plugin", kPlain, "--fetch", "y"});
  EXPECT_EQ(twice.status, 1);
  EXPECT_THAT(twice.err, HasSubstr("op 'PlainNegate' is already defined by plug-in 'plain'"));
  const RunResult missing = RunSluice({"check", graph_, "--plugin", "nowhere.so", "--json"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(nlohmann::json::accept(missing.out)) << missing.out;
}

}  // namespace
}  // namespace sluice

// Models that cannot run: `show` shows them, `check` says why in few words, `run` asks only for what it uses.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

// `count` nodes of _Arg and _Retval in turn, as dumps of functions hold them, after a constant.
std::string FunctionDump(int count) {
  std::string text =
      "node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }\n"
      "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }\n";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(
        &text, "node { name: 'n", i, "' op: '", i % 2 == 0 ? "_Arg" : "_Retval", i % 2 == 0 ? "'" : "' input: 'k'",
        " attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'index' ", "value { i: ", i / 2, " } } }\n");
  }
  return text;
}

constexpr absl::string_view kCustomOp = R"(
node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'mine' op: 'MyCustomOp' input: 'x' attr { key: 'alpha' value { f: 0.5 } } }
node { name: 'y' op: 'Relu' input: 'mine' attr { key: 'T' value { type: DT_FLOAT } } })";

// A SavedModel text with a good and a wrong signature.
constexpr absl::string_view kTwoSignatures = R"(saved_model_schema_version: 1
meta_graphs { meta_info_def { tags: 'serve' } graph_def {
  node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
  node { name: 'y' op: 'Relu' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } }
 signature_def { key: 'good' value { inputs { key: 'in' value { name: 'x:0' dtype: DT_FLOAT } }
   outputs { key: 'out' value { name: 'y:0' dtype: DT_FLOAT } } } }
 signature_def { key: 'wrong' value { inputs { key: 'in' value { name: 'x:0' dtype: DT_FLOAT } }
   outputs { key: 'out' value { name: 'y:0' dtype: DT_INT64 } } } } })";

TEST(UnsoundModelsTest, ShowWarnsOfAnUnknownOpAndShowsTheRest) {
  const std::string svg = TestFile("custom.svg");
  const RunResult run = RunSluice({"show", "-", "--svg", svg}, kCustomOp);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "warning: the graph is not sound")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "SLC2003 NOT_FOUND: MyCustomOp 'mine'")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.out, "3 nodes, 2 data edges")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "MyCustomOp 1")) << run.out;
  EXPECT_TRUE(absl::StrContains(ReadTestFile(svg), "MyCustomOp"));
  EXPECT_EQ(RunSluice({"show", "-", "--quiet"}, kCustomOp).err, "");
}

TEST(UnsoundModelsTest, ShowSaysInJsonWhatIsWrong) {
  const Json json = Json::parse(RunSluice({"show", "-", "--json"}, kCustomOp).out);
  EXPECT_EQ(json["nodes"], 3);
  EXPECT_EQ(json["num_errors"], 1);
  EXPECT_EQ(json["errors"][0]["code"], "SLC2003");
  EXPECT_EQ(json["errors"][0]["line"], 3);
  EXPECT_EQ(Json::parse(RunSluice({"show", "-", "--json"}, SampleModel()).out)["num_errors"], 0);
}

TEST(UnsoundModelsTest, ShowTakesWhatHasAWrongSignature) {
  const RunResult run = RunSluice({"show", "-"}, kTwoSignatures);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "SLC1032")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.out, "wrong")) << run.out;
}

TEST(UnsoundModelsTest, RunNeedsOnlyTheSignatureItUses) {
  const std::string model = MakeTestFile("two.pbtxt", kTwoSignatures);
  const RunResult good = RunSluice({"run", model, "--signature", "good", "--feed", "in=[-1.0,2.0]"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(RunSluice({"run", model, "--feed", "x=[-1.0,2.0]", "--fetch", "y"}).status, 0);
  const RunResult wrong = RunSluice({"run", model, "--signature", "wrong", "--feed", "in=[-1.0,2.0]"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(absl::StrContains(wrong.err, "SLC1032")) << wrong.err;
}

TEST(UnsoundModelsTest, CheckGroupsErrorsOfOneCause) {
  const RunResult run = RunSluice({"check", "-"}, FunctionDump(437));
  EXPECT_TRUE(absl::StrContains(run.out, "sound, 437 warnings")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out,
                                "SLC2005 INVALID_ARGUMENT: 437 x _Arg/_Retval: is outside of a function\n"
                                "  at    'standard input', node 1, line 3, column 1: 'n0'\n"
                                "  also  'n1' line 4, 'n2' line 5,"))
      << run.out;
  EXPECT_FALSE(absl::StrContains(run.out, "'n300'"));
  const RunResult all = RunSluice({"check", "-", "--all"}, FunctionDump(437));
  EXPECT_TRUE(absl::StrContains(all.out, "SLC2005 INVALID_ARGUMENT: _Arg 'n300': is outside of a function")) << all.out;
}

TEST(UnsoundModelsTest, CheckGroupsErrorsInJsonToo) {
  const Json json = Json::parse(RunSluice({"check", "-", "--json"}, FunctionDump(437)).out);
  EXPECT_EQ(json["num_errors"], 0);
  ASSERT_EQ(json["unneeded"].size(), 1u);
  const Json& group = json["unneeded"][0];
  EXPECT_EQ(group["code"], "SLC2005");
  EXPECT_EQ(group["count"], 437);
  EXPECT_EQ(group["ops"], Json::parse(R"(["_Arg","_Retval"])"));
  EXPECT_EQ(group["node"], "n0");
  EXPECT_EQ(group["line"], 3);
  ASSERT_EQ(group["also"].size(), 5u);
  EXPECT_EQ(group["also"][0]["node"], "n1");
  EXPECT_EQ(group["also"][0]["line"], 4);
  const Json all = Json::parse(RunSluice({"check", "-", "--json", "--all"}, FunctionDump(437)).out);
  EXPECT_EQ(all["unneeded"].size(), 437u);
}

// How often `part` occurs.
size_t CountOf(absl::string_view text, absl::string_view part) {
  const std::vector<absl::string_view> pieces = absl::StrSplit(text, part);
  return pieces.size() - 1;
}

// `y` runs; a constant of another type than it says, and a function whose result has another type.
constexpr absl::string_view kWrongAside = R"(
node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'y' op: 'Relu' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
library { function { signature { name: 'F' output_arg { name: 'r' type: DT_INT32 } }
  node_def { name: 'c' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
  ret { key: 'r' value: 'c:output:0' } } })";

TEST(UnsoundModelsTest, CheckWarnsOfWhatNoRunNeeds) {
  const RunResult aside = RunSluice({"check", "-"}, kWrongAside);
  EXPECT_EQ(aside.status, 0) << aside.out;
  EXPECT_TRUE(absl::StrContains(aside.out, "sound, 2 warnings")) << aside.out;
  EXPECT_TRUE(absl::StrContains(aside.out, "SLC2301")) << aside.out;
  EXPECT_TRUE(absl::StrContains(aside.out, "SLC3105")) << aside.out;
  EXPECT_EQ(RunSluice({"run", "-", "--feed", "x=[-1.0]"}, kWrongAside).status, 0);
  const std::string used = absl::StrCat(
      kWrongAside,
      "node { name: 'user' op: 'AddV2' input: 'k' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } }");
  const RunResult needed = RunSluice({"check", "-"}, used);
  EXPECT_EQ(needed.status, 1);
  EXPECT_TRUE(absl::StrContains(needed.out, "1 error, 1 warning")) << needed.out;
  const RunResult shown = RunSluice({"show", "-"}, kWrongAside);
  EXPECT_EQ(shown.status, 0);
  EXPECT_TRUE(absl::StrContains(shown.err, "SLC3105")) << shown.err;
}

TEST(UnsoundModelsTest, ConvertKeepsNodesOfUnknownOps) {
  const std::string out = TestFile("kept.pb");
  const RunResult kept = RunSluice({"convert", "-", out}, kCustomOp);
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_TRUE(absl::StrContains(kept.err, "MyCustomOp")) << kept.err;
  const Json shown = Json::parse(RunSluice({"show", out, "--json"}).out);
  EXPECT_EQ(shown["nodes"], 3);
  EXPECT_EQ(shown["num_errors"], 1);
  EXPECT_EQ(RunSluice({"run", out}).status, 1) << "a session refuses it";
  const RunResult lost = RunSluice({"convert", "-", out}, "node { name: 'a' op: 'Relu' input: 'b' }");
  EXPECT_EQ(lost.status, 1) << "an edge would be lost";
}

TEST(UnsoundModelsTest, OfManyCausesTheFirstAreShown) {
  std::string model;
  for (int i = 0; i < 400; ++i) absl::StrAppend(&model, "node { name: 'n", i, "' op: 'MyOp", i, "' }\n");
  const RunResult run = RunSluice({"run", "-"}, model);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(CountOf(run.err, "SLC2003 NOT_FOUND"), 50u);
  EXPECT_TRUE(absl::StrContains(run.err, "400 errors; those of the first 50 causes are shown")) << run.err;
  const RunResult check = RunSluice({"check", "-"}, model);
  EXPECT_EQ(CountOf(check.out, "SLC2003 NOT_FOUND"), 200u);
  EXPECT_TRUE(absl::StrContains(check.out, "… and 200 more (--all)\n"));
  EXPECT_EQ(CountOf(RunSluice({"check", "-", "--all"}, model).out, "SLC2003 NOT_FOUND"), 400u);
}

TEST(UnsoundModelsTest, ShowGroupsToo) {
  const RunResult run = RunSluice({"show", "-"}, FunctionDump(437));
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(absl::StrContains(run.err, "437 x _Arg/_Retval")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.out, "438 nodes")) << run.out;
}

// A SavedModel directory whose variables cannot be read.
std::string ModelWithDamagedVariables() {
  const std::string directory = TestFile("damaged_variables");
  std::filesystem::create_directories(directory + "/variables");
  MakeTestFile("damaged_variables/saved_model.pb", SavedModelFile());
  MakeTestFile("damaged_variables/variables/variables.index", "not the index of a checkpoint");
  return directory;
}

TEST(UnsoundModelsTest, ACheckpointThatCannotBeReadLeavesTheGraphSound) {
  const std::string model = ModelWithDamagedVariables();
  const RunResult run = RunSluice({"check", model});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "graph    sound")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "values   those of the variables cannot be read")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "SLC5002")) << run.out;
  EXPECT_EQ(RunSluice({"check", model, "--graph-only"}).status, 0);
  const Json json = Json::parse(RunSluice({"check", model, "--json"}).out);
  EXPECT_EQ(json["graph_ok"], true);
  EXPECT_EQ(json["runnable"], false);
  EXPECT_EQ(json["num_errors"], 0);
  EXPECT_EQ(json["checkpoint_error"]["code"], "SLC5002");
}

TEST(UnsoundModelsTest, OpsWithoutAKernelHaveACodeToLookUp) {
  const RunResult run = RunSluice({"check", "-"}, PipelineModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "see   sluice explain SLC2504")) << run.out;
  const Json json = Json::parse(RunSluice({"check", "-", "--json"}, PipelineModel()).out);
  EXPECT_EQ(json["missing_kernels"]["PyFunc"]["code"], "SLC2504");
}

TEST(UnsoundModelsTest, ErrorsOfARunNameTheLineOfTheText) {
  const std::string model = MakeTestFile("assert.pbtxt", R"(node {
  name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
 node { name: 'sum' op: 'Sum' input: 'x' input: 'axis'
  attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'Tidx' value { type: DT_INT32 } } })");
  const RunResult run = RunSluice({"run", model, "--feed", "x=[[1.0,2.0]]", "--fetch", "sum"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "Sum 'sum'")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, absl::StrCat("at    '", model, "', node 2, line 5, column 2"))) << run.err;
  EXPECT_FALSE(absl::StrContains(run.err, "bytes")) << run.err;
}

TEST(UnsoundModelsTest, ErrorsOfARunNameTheLineInAFunctionsBody) {
  const std::string model = MakeTestFile("body.pbtxt", R"(node {
  name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'call' op: 'F' input: 'x' }
library { function {
  signature { name: 'F' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } }
  node_def { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
    attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
  node_def { name: 'sum' op: 'Sum' input: 'a' input: 'axis:output:0'
    attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'Tidx' value { type: DT_INT32 } } }
  ret { key: 'r' value: 'sum:output:0' } } })");
  const RunResult run = RunSluice({"run", model, "--feed", "x=[[1.0,2.0]]", "--fetch", "call"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "line 8, column 3")) << run.err;
  EXPECT_FALSE(absl::StrContains(run.err, "bytes")) << run.err;
}

}  // namespace
}  // namespace sluice

#include <filesystem>
#include <set>
#include <string>

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

RunResult Show(const std::string& bytes, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"show", "-"});
  return RunSluice(options, bytes);
}

Json ShowJson(const std::string& bytes, std::vector<std::string> options = {}) {
  options.push_back("--json");
  const RunResult run = Show(bytes, options);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(run.out);
}

TEST(ShowTest, InputsAndOutputsHaveDtypesAndShapes) {
  const Json json = ShowJson(SampleModel());
  EXPECT_EQ(json["nodes"], 9);
  EXPECT_EQ(json["inputs"], Json::parse(R"([{"name":"x","op":"Placeholder","dtype":"float32","shape":[null,2]}])"));
  EXPECT_EQ(json["outputs"], Json::parse(R"([{"name":"y","op":"Softmax","dtype":"float32","shape":[null,3]}])"));
  EXPECT_EQ(json["targets"], Json::parse(R"(["init"])"));
}

TEST(ShowTest, JsonHasAllFields) {
  const Json json = ShowJson(SampleModel());
  for (const char* field :
       {"model",     "format",      "bytes",         "memory_bytes", "versions",          "tensorflow_version",
        "nodes",     "data_edges",  "control_edges", "op_types",     "function_op_types", "inputs",
        "outputs",   "targets",     "tags",          "tag_sets",     "signatures",        "init_ops",
        "assets",    "collections", "functions",     "frames",       "variables",         "resources",
        "constants", "scopes",      "devices",       "warnings"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["op_types"]["Const"], 2);
  EXPECT_EQ(json["constants"]["bytes"], 28);
  EXPECT_EQ(json["devices"]["/device:CPU:0"], 1);
}

TEST(ShowTest, VariablesHaveKindShapeAndSize) {
  EXPECT_EQ(ShowJson(SampleModel())["variables"],
            Json::parse(R"([{"name":"v","kind":"ref","dtype":"float32","shape":[],"bytes":4,)"
                        R"("read_by_signature":false,"aliases":[]}])"));
}

// The collections in which a program of TensorFlow 1 describes its training.
TEST(ShowTest, TrainingNodesOfAMetaGraphAreNamed) {
  const std::string text = R"(
meta_info_def { tags: 'train' }
graph_def {
  node { name: 's' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }
  node { name: 'Merge/MergeSummary' op: 'MergeSummary' input: 's' attr { key: 'N' value { i: 1 } } }
  node { name: 'cost' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
  node { name: 'Adam' op: 'NoOp' input: '^cost' }
}
collection_def { key: 'train_op' value { node_list { value: 'Adam' } } }
collection_def { key: 'losses' value { node_list { value: 'cost:0' } } }
collection_def { key: 'others' value { node_list { value: 'cost:0' } } }
)";
  EXPECT_EQ(ShowJson(text)["training"],
            Json::parse(R"([{"role":"train op","name":"Adam"},{"role":"loss","name":"cost:0"},)"
                        R"({"role":"summary","name":"Merge/MergeSummary"}])"));
  const RunResult run = Show(text);
  EXPECT_TRUE(absl::StrContains(run.out, "Training (3)")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.out, "  train op  Adam\n")) << run.out;
  EXPECT_FALSE(absl::StrContains(Show(SampleModel()).out, "Training ("));
}

TEST(ShowTest, LoopsAreListedAsFrames) {
  EXPECT_EQ(
      ShowJson(LoopModel())["frames"],
      Json::parse(
          R"([{"name":"loop","parent":null,"nodes":9,"loop_variables":1,"constants":1,"parallel_iterations":4}])"));
}

TEST(ShowTest, FunctionsHaveArgumentsResultsAndOps) {
  const Json json = ShowJson(FunctionModel());
  EXPECT_EQ(json["functions"], Json::parse(R"([{"name":"Twice","args":[{"name":"a","type":"float32"}],
      "results":[{"name":"b","type":"float32"}],"nodes":1,"ops":{"AddV2":1}}])"));
  EXPECT_EQ(json["function_op_types"]["AddV2"], 1);
}

TEST(ShowTest, TagsChooseTheGraphOfASavedModel) {
  const Json serve = ShowJson(SavedModelFile());
  EXPECT_EQ(serve["format"], "SavedModel");
  EXPECT_EQ(serve["tag_sets"].size(), 2u);
  EXPECT_EQ(serve["signatures"]["serving_default"]["inputs"]["features"]["name"], "x:0");
  EXPECT_EQ(ShowJson(SavedModelFile(), {"--tags", "train"})["nodes"], 1);
  const RunResult none = Show(SavedModelFile(), {"--tags", "gpu"});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(absl::StrContains(none.err, "SLC1031 NOT_FOUND")) << none.err;
}

TEST(ShowTest, ErrorsGoToStandardErrorAndNothingElseAnywhere) {
  const RunResult run = Show("\x89PNG\r\n\x1a\n....");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(absl::StrContains(run.err, "SLC1003 INVALID_ARGUMENT: ")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "a PNG image"));
  EXPECT_EQ(Show("").status, 1) << "an empty file";
}

TEST(ShowTest, ListsAreCutUnlessAllIsAskedFor) {
  std::string text =
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }\n";
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&text, "node { name: 'out", i,
                    "' op: 'Relu' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }\n");
  }
  const RunResult cut = Show(text), all = Show(text, {"--all"});
  EXPECT_TRUE(absl::StrContains(cut.out, "… and 10 more (--all)")) << cut.out;
  EXPECT_FALSE(absl::StrContains(cut.out, "out29"));
  EXPECT_TRUE(absl::StrContains(all.out, "out29"));
}

TEST(ShowTest, DrawingsAreWrittenBesideTheReport) {
  const std::string svg = TestFile("a.svg"), html = TestFile("a.html");
  const RunResult run = Show(SampleModel(), {"--svg", svg, "--html", html});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, absl::StrCat("wrote ", svg)));
  EXPECT_TRUE(absl::StrContains(ReadTestFile(svg), "</svg>"));
  EXPECT_TRUE(absl::StrContains(ReadTestFile(html), "</html>"));
  EXPECT_EQ(Show(SampleModel(), {"--svg", svg, "--quiet"}).err, "");
  EXPECT_EQ(Show(SampleModel(), {"--svg", "/nowhere/a.svg"}).status, 1);
}

TEST(ShowTest, DrawingsAreNotWrittenUnderNamesOfOtherFormats) {
  for (const char* name : {"x.png", "x.dot", "x.html"}) {
    const std::string out = TestFile(name);
    const RunResult run = Show(SampleModel(), {"--svg", out});
    EXPECT_EQ(run.status, 2) << name;
    EXPECT_TRUE(absl::StrContains(run.err, "does not end in .svg: this is an SVG drawing")) << run.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  EXPECT_EQ(Show(SampleModel(), {"--html", TestFile("x.svg")}).status, 2);
}

TEST(ShowTest, TheDrawingOfASavedModelIsCalledAsItsDirectory) {
  std::filesystem::create_directories(TestFile("mobilenet/1"));
  MakeTestFile("mobilenet/1/saved_model.pb", SavedModelFile());
  const std::string svg = TestFile("title.svg");
  EXPECT_EQ(RunSluice({"show", TestFile("mobilenet/1"), "--svg", svg}).status, 0);
  EXPECT_TRUE(absl::StrContains(ReadTestFile(svg), "_mobilenet/1</text>"));
  EXPECT_EQ(RunSluice({"show", TestFile("mobilenet/1/saved_model.pb"), "--svg", svg}).status, 0);
  EXPECT_TRUE(absl::StrContains(ReadTestFile(svg), "_mobilenet/1/saved_model.pb</text>"));
}

TEST(ShowTest, LongNamesAreCutUnlessAllIsAskedFor) {
  const std::string name(300, 'n');
  const std::string text =
      absl::StrCat("node { name: '", name, "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }");
  const RunResult cut = Show(text), all = Show(text, {"--all"});
  for (const absl::string_view line : absl::StrSplit(cut.out, '\n')) EXPECT_LE(line.size(), 170u) << line;
  EXPECT_TRUE(absl::StrContains(all.out, name));
}

}  // namespace
}  // namespace sluice

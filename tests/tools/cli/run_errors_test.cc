// `sluice run`: what it says where a request is wrong, as text and as JSON.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"

namespace sluice {
namespace {

using ::absl::StrContains;
using Call = std::vector<std::string>;

// lin = LinSpace(start, 1, num), which fails where num is 0; both are fed.
std::string LinSpaceModel() {
  GraphBuilder b(NewOpRegistry());
  const Output start = b.Placeholder("y_float64_start", DType::kDouble, PartialShape::Scalar());
  const Output num = b.Placeholder("num", DType::kInt32);
  b.Op("LinSpace", "lin", {start, b.Const("stop", Tensor::Scalar(1.0)), num});
  return ExportGraph(*b.Build());
}

RunResult RunSaved(const Call& options) {
  Call call = {"run", "-", "--tags", "serve"};
  call.insert(call.end(), options.begin(), options.end());
  return RunSluice(call, SavedModelFile());
}

TEST(RunErrorsTest, AnUnknownFeedComesWithTheInputsAndTheirKeys) {
  const RunResult run = RunSaved({"--feed", "fetures=[[1,2]]"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "SLC4001")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "did you mean 'features'?")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "inputs of the model:\n  features  float32 [?,2]  x:0\n")) << run.err;
}

TEST(RunErrorsTest, AnUnknownFetchComesWithTheOutputsAndTheirKeys) {
  const RunResult run = RunSaved({"--feed", "features=[[1,2]]", "--fetch", "score"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "did you mean 'scores'?")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "outputs of the model:\n  scores  float32 [?,3]  y:0\n")) << run.err;
}

TEST(RunErrorsTest, AKernelsErrorNamesTheUsersTensorAndTheArgument) {
  const RunResult run = RunSluice({"run", "-", "--feed", "y_float64_start=1", "--feed", "num=[1,2]"}, LinSpaceModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "LinSpace 'lin': input 2 'num'")) << run.err;
  const std::string fill = [] {
    GraphBuilder b(NewOpRegistry());
    b.Op("Fill", "filled", {b.Placeholder("sizes", DType::kInt32), b.Const("one", Tensor::Scalar(1.0f))});
    return ExportGraph(*b.Build());
  }();
  const RunResult filled = RunSluice({"run", "-", "--feed", "sizes=[-1]"}, fill);
  EXPECT_TRUE(StrContains(filled.err, "Fill 'filled': input 0 'sizes' (argument 'dims'): found -1")) << filled.err;
}

TEST(RunErrorsTest, WithoutASignaturePlaceholdersAreListed) {
  const RunResult run = RunSluice({"run", "-", "--feed", "nun=1", "--fetch", "lin"}, LinSpaceModel());
  EXPECT_TRUE(StrContains(run.err, "did you mean 'num'?")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "\n  y_float64_start  float64 []\n  num              int32 of any shape\n"))
      << run.err;
}

TEST(RunErrorsTest, WrongShapesAndTypesAreSaidOfTheKeyThatWasFed) {
  for (const char* feed : {"features=[1,2,3]", "features=2x2xf64=0"}) {
    const RunResult run = RunSaved({"--feed", feed});
    EXPECT_EQ(run.status, 1);
    EXPECT_TRUE(StrContains(run.err, "feed 'features'")) << run.err;
    EXPECT_TRUE(StrContains(run.err, "inputs of the model:\n  features  float32 [?,2]")) << run.err;
  }
}

TEST(RunErrorsTest, WrongValuesComeWithTheirForms) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"y_float64_start=abc", "'abc' is not a value of float64"},
      {"y_float64_start=-1e400", "feed 'y_float64_start': '-1e400' is not a value of float64: it is out of range"},
      {"num=[1,2147483648]", "feed 'num': '2147483648' is not a value of int32: it is out of range"},
      {"num=-1xi32=1", "'-1' is not a size"},
      {"num=NaNx2xi32=1", "is not a dtype"},
      {"num=[1", "a bracket is missing"}};
  for (const auto& [feed, why] : values) {
    const RunResult run = RunSluice({"run", "-", "--feed", feed, "--fetch", "lin"}, LinSpaceModel());
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_TRUE(StrContains(run.err, why)) << run.err;
    EXPECT_TRUE(StrContains(run.err, "help  write 1.5, true, \"text\", a list [1,2,3]")) << run.err;
  }
}

TEST(RunErrorsTest, AllWrongFeedsAndFetchesAreNamedAtOnce) {
  const RunResult run =
      RunSluice({"run", "-", "--feed", "nun=1", "--feed", "y_float64_start=x", "--fetch", "lib"}, LinSpaceModel());
  EXPECT_NE(run.status, 0);
  for (const char* name : {"feed 'nun'", "feed 'y_float64_start'", "fetch 'lib'"}) {
    EXPECT_TRUE(StrContains(run.err, name)) << name << run.err;
  }
}

TEST(RunErrorsTest, TimesNeedAUnitAndAreLongerThanZero) {
  const std::vector<std::pair<std::string, std::string>> times = {
      {"5", "'5' has no unit"},          {"1.5", "'1.5' has no unit"},   {"-3", "'-3' has no unit"},
      {"0", "'0' is not longer than 0"}, {"0s", "is not longer than 0"}, {"-1s", "is not longer than 0"},
      {"soon", "'soon' is not a time"}};
  for (const char* option : {"--deadline", "--stall-timeout"}) {
    for (const auto& [time, why] : times) {
      const RunResult run = RunSluice({"run", "-", "--fetch", "lin", option, time}, LinSpaceModel());
      EXPECT_EQ(run.status, 2) << time;
      EXPECT_TRUE(StrContains(run.err, why)) << run.err;
      EXPECT_TRUE(StrContains(run.err, std::string("write ") + option + " 500ms, 2s or 1m30s")) << run.err;
    }
  }
}

TEST(RunErrorsTest, AnUnknownSignatureComesWithThoseThereAre) {
  const RunResult run = RunSaved({"--signature", "foo"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "SLC1034 NOT_FOUND: the model has no signature 'foo'\n")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "help  its signature is 'serving_default'")) << run.err;
  EXPECT_FALSE(StrContains(run.err, "expected 'foo'")) << run.err;
  const RunResult none = RunSluice({"run", "-", "--signature", "foo"}, LinSpaceModel());
  EXPECT_TRUE(StrContains(none.err, "the model has no signatures")) << none.err;
}

TEST(RunErrorsTest, WhereThereAreNoOutputsItSaysWhatThereIs) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b.AddControl(b.Op("NoOp", "init"), b.Op("Assign", "set", {v, b.Const("zero", Tensor::Scalar(0.0f))}));
  b.Const("answer", Tensor::Scalar(42.0f));
  const RunResult run = RunSluice({"run", "-"}, ExportGraph(*b.Build()));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "SLC4013")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "--fetch answer")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "--target init")) << run.err;
}

TEST(RunErrorsTest, AnOpWithoutAnyKernelIsSaidToBeMissing) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  // An op that models hardly ever have.
  constexpr const char* kOp = "KmeansPlusPlusInitialization";
  const Output n = b.Const("n", Tensor::Scalar(int64_t{1}));
  const Output missing = b.Op(kOp, "first", {x, n, n, n});
  b.SetDevice(missing, "/device:CPU:0");
  b.Op("Identity", "y", {b.Op(kOp, "second", {missing, n, n, n})});
  for (const bool placed : {true, false}) {
    if (!placed) b.SetDevice(missing, "");
    const RunResult run = RunSluice({"run", "-", "--feed", "x=1"}, ExportGraph(b.graph()));
    EXPECT_EQ(run.status, 1);
    for (const char* node : {"first", "second"}) {
      const std::string text = absl::StrCat(kOp, " '", node, "': Sluice has no kernel for ", kOp);
      EXPECT_TRUE(StrContains(run.err, text)) << run.err;
    }
    EXPECT_FALSE(StrContains(run.err, "expected a kernel on")) << run.err;
    EXPECT_FALSE(StrContains(run.err, "Cast")) << run.err;
  }
}

TEST(RunErrorsTest, AnOpWithoutAKernelForADTypeNamesItAndWhereTheOthersAre) {
  GraphBuilder b(NewOpRegistry());
  absl::StatusOr<Tensor> value = Tensor::Make(DType::kQInt8, Shape());
  ASSERT_TRUE(value.ok());
  b.Op("Relu", "y", {b.Const("x", *value)}, {{"T", DType::kQInt8}});
  const RunResult run = RunSluice({"run", "-"}, ExportGraph(*b.Build()));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "Relu 'y': Sluice has no kernel for Relu with T=qint8 on CPU")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "`sluice ops Relu` lists the types")) << run.err;
}

TEST(RunErrorsTest, ErrorsOfTheRunSpeakOfTheUsersTensors) {
  const RunResult run =
      RunSluice({"run", "-", "--feed", "y_float64_start=0", "--feed", "num=0", "--fetch", "lin"}, LinSpaceModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "LinSpace 'lin': input 2 'num'")) << run.err;
  EXPECT_FALSE(StrContains(run.err, "_arg_")) << run.err;
  const RunResult shape =
      RunSluice({"run", "-", "--feed", "y_float64_start=0", "--feed", "num=[[1]]", "--fetch", "lin"}, LinSpaceModel());
  EXPECT_TRUE(StrContains(shape.err, "'num'")) << shape.err;
  EXPECT_FALSE(StrContains(shape.err, "_arg_")) << shape.err;
}

TEST(RunErrorsTest, FailuresAreOneJsonDocumentToo) {
  const std::vector<std::pair<Call, std::string>> calls = {
      {{"run", "-", "--json"}, "SLC4005"},
      {{"run", "-", "--json", "--feed", "nun=1"}, "SLC4001"},
      {{"run", "-", "--json", "--feed", "num=abc"}, "SLC4015"},
      {{"run", "-", "--json", "--deadline", "5"}, "SLC4015"},
      {{"run", "nowhere.pb", "--json"}, "SLC1001"},
      {{"run", "-", "--json", "--steps", "0"}, "SLC4015"},
      {{"bench", "-", "--json"}, "SLC4005"},
      {{"bench", "nowhere.pb", "--json"}, "SLC1001"},
      {{"show", "nowhere.pb", "--json"}, "SLC1001"},
      {{"show", "--json"}, "SLC4015"},
  };
  for (const auto& [call, code] : calls) {
    const RunResult run = RunSluice(call, LinSpaceModel());
    Call plain = call;
    plain.erase(std::find(plain.begin(), plain.end(), "--json"));
    const RunResult text = RunSluice(plain, LinSpaceModel());
    EXPECT_EQ(run.status, text.status) << call[0] << code << run.err;
    EXPECT_NE(run.status, 0);
    EXPECT_EQ(run.err, text.err) << "standard error is the same";
    const nlohmann::json json = nlohmann::json::parse(run.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << code << ": " << run.out;
    EXPECT_EQ(json["command"], call[0]);
    ASSERT_GE(json["errors"].size(), 1u) << run.out;
    EXPECT_EQ(json["num_errors"], json["errors"].size());
    EXPECT_EQ(json["errors"][0]["code"], code) << run.out;
    EXPECT_TRUE(json["hints"].is_array());
  }
}

TEST(RunErrorsTest, BrokenModelsGiveAllTheirErrorsAsJson) {
  const RunResult run = RunSluice({"run", "-", "--json"}, BrokenModel());
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["num_errors"], 3);
  EXPECT_EQ(json["errors"][2]["node"], "c");
}

}  // namespace
}  // namespace sluice

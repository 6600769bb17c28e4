// `sluice run`: what goes in, what comes out, on which stream, with which exit status.

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

// x [?,2] float32 and k int32; sum = x + 1, twice = sum * 2, less = k < 3, said = the string s.
std::string Arithmetic() {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 2}));
  const Output k = b.Placeholder("k", DType::kInt32, PartialShape::Scalar());
  const Output s = b.Placeholder("s", DType::kString, PartialShape::Scalar());
  const Output sum = b.Op("AddV2", "sum", {x, b.Const("one", Tensor::Scalar(1.0f))});
  const Output twice = b.Op("Mul", "twice", {sum, b.Const("two", Tensor::Scalar(2.0f))});
  b.SetDevice(twice, "/device:GPU:0");
  b.Op("Less", "less", {k, b.Const("three", Tensor::Scalar(int32_t{3}))});
  b.Op("Identity", "said", {s});
  return ExportGraph(*b.Build());
}

// 0, 1, 2, ... up to `limit`.
std::string CountingLoop(float limit) {
  GraphBuilder b(NewOpRegistry());
  const GraphBuilder::Attrs frame = {{"frame_name", "loop"}, {"is_constant", false}};
  const GraphBuilder::Attrs constant = {{"frame_name", "loop"}, {"is_constant", true}};
  const Output enter = b.Op("Enter", "enter", {b.Const("zero", Tensor::Scalar(0.0f))}, frame);
  const Output last = b.Op("Enter", "last", {b.Const("limit", Tensor::Scalar(limit))}, constant);
  const Output one = b.Op("Enter", "one", {b.Const("step", Tensor::Scalar(1.0f))}, constant);
  const Output merge = b.Op("Merge", "merge", {enter, enter});
  const Output cond = b.Op("LoopCond", "cond", {b.Op("Less", "less", {merge, last})});
  const Output live = b.Op("Switch", "switch", {merge, cond});
  const Output next = b.Op("NextIteration", "next", {b.Op("AddV2", "add", {GraphBuilder::Nth(live, 1), one})});
  b.SetInput(merge, 1, next);
  b.Op("Exit", "exit", {live});
  return ExportGraph(*b.Build());
}

TEST(RunTest, ResultsGoToStandardOutputWithNameDTypeAndShape) {
  const RunResult run =
      RunSluice({"run", "-", "--feed", "x=[[1,2],[3,4]]", "--feed", "k=2", "--fetch", "sum,less"}, Arithmetic());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "sum  float32 [2,2]\n[[2, 3],\n [4, 5]]\nless  bool []  true\n");
  EXPECT_EQ(run.err, "");
}

TEST(RunTest, WithoutFetchTheModelsOutputsAreFetched) {
  const RunResult run =
      RunSluice({"run", "-", "--feed", "x=1x2xf32=1", "--feed", "k=7", "--feed", "s=\"hi\""}, Arithmetic());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(StrContains(run.out, "twice  float32 [1,2]\n[[4, 4]]\n")) << run.out;
  EXPECT_TRUE(StrContains(run.out, "less  bool []  false\n"));
  EXPECT_TRUE(StrContains(run.out, "said  string []  \"hi\"\n"));
}

TEST(RunTest, ADeviceThatIsNotHereIsReplacedAndANoteSaysSo) {
  const std::vector<std::string> call = {"run", "-", "--feed", "x=1x2xf32=1", "--fetch", "twice"};
  const RunResult run = RunSluice(call, Arithmetic());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(StrContains(run.err, "1 node asks for a device that is not here ('twice' wants /device:GPU:0)"))
      << run.err;
  std::vector<std::string> quiet = call;
  quiet.push_back("-q");
  EXPECT_EQ(RunSluice(quiet, Arithmetic()).err, "");
}

// A node of a distributed graph: `check`, `show` and `run` say the same of it.
TEST(RunTest, ATaskThatIsNotHereIsReplacedAndANoteSaysSo) {
  const std::string model = R"(
      node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } } }
      node { name: "y" op: "Square" input: "x" device: "/job:worker/task:3/device:CPU:7"
             attr { key: "T" value { type: DT_FLOAT } } })";
  constexpr char kNote[] =
      "1 node asks for a device that is not here ('y' wants /job:worker/task:3/device:CPU:7); the CPU";
  const RunResult run = RunSluice({"run", "-", "--fetch", "y"}, model);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(StrContains(run.out, "y  float32 []  9")) << run.out;
  EXPECT_TRUE(StrContains(run.err, kNote)) << run.err;
  const RunResult check = RunSluice({"check", "-"}, model);
  EXPECT_EQ(check.status, 0) << check.out;
  EXPECT_TRUE(StrContains(check.out, kNote)) << check.out;
  const RunResult show = RunSluice({"show", "-"}, model);
  EXPECT_TRUE(StrContains(show.out, "/job:worker/task:3/device:CPU:7  1 node  not here")) << show.out;
}

TEST(RunTest, AMissingFeedIsNamedWithDTypeShapeAndAnExample) {
  const RunResult run = RunSluice({"run", "-", "--fetch", "sum"}, Arithmetic());
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(StrContains(run.err, "SLC4005")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "--feed x=1x2xfloat32=random:7    (float32 [?,2])")) << run.err;
}

TEST(RunTest, JsonIsOneDocumentWithAllElements) {
  const RunResult run = RunSluice(
      {"run", "-", "--feed", "x=50x2xf32=0.1", "--fetch", "sum", "--json", "--stats", "--steps", "2"}, Arithmetic());
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["steps"], 2);
  ASSERT_EQ(json["results"].size(), 1u);
  EXPECT_EQ(json["results"][0]["name"], "sum");
  EXPECT_EQ(json["results"][0]["dtype"], "float32");
  EXPECT_EQ(json["results"][0]["shape"].dump(), "[50,2]");
  EXPECT_EQ(json["results"][0]["values"].size(), 50u);
  EXPECT_EQ(json["results"][0]["values"][49].dump(), "[1.1,1.1]");
  ASSERT_FALSE(json["stats"]["ops"].empty());
  EXPECT_EQ(json["stats"]["nodes"][0]["times"], 2);
}

TEST(RunTest, LongResultsAreCutUnlessFull) {
  const std::vector<std::string> call = {"run", "-", "--feed", "x=50x2xf32=0.1", "--fetch", "sum"};
  EXPECT_TRUE(StrContains(RunSluice(call, Arithmetic()).out, "..."));
  std::vector<std::string> full = call;
  full.push_back("--full");
  EXPECT_FALSE(StrContains(RunSluice(full, Arithmetic()).out, "..."));
}

TEST(RunTest, SavedResultsCanBeFedAgain) {
  const std::string npy = TestFile("sum.npy"), npz = TestFile("both.npz"), pb = TestFile("sum.pb");
  const RunResult run = RunSluice({"run", "-", "--feed", "x=[[1,2]]", "--fetch", "sum", "--save", "sum=" + npy,
                                   "--save", "sum=" + npz, "--save", "twice=" + npz, "--save", "sum=" + pb},
                                  Arithmetic());
  ASSERT_EQ(run.status, 0) << run.err;
  for (const std::string& file : {npy, npz + ":sum", pb}) {
    const RunResult again = RunSluice({"run", "-", "--feed", "x=@" + file, "--fetch", "sum"}, Arithmetic());
    EXPECT_EQ(again.out, "sum  float32 [1,2]\n[[3, 4]]\n") << again.err;
  }
}

TEST(RunTest, LoopsRunAndStatsCountEachIteration) {
  const RunResult run = RunSluice({"run", "-", "--fetch", "exit", "--stats"}, CountingLoop(10));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(StrContains(run.out, "exit  float32 []  10\n")) << run.out;
  EXPECT_TRUE(StrContains(run.out, "kernel calls, ")) << run.out;
  EXPECT_TRUE(StrContains(run.out, "add   AddV2 ")) << run.out;
}

TEST(RunTest, ConstantsAndEqualNodesAreComputedOnceUnlessToldOtherwise) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  const Output c = b.Op("Exp", "folded", {b.Const("c", Tensor::Scalar(0.0f))});
  b.Op("Sub", "y", {b.Op("Mul", "first", {x, c}), b.Op("Mul", "second", {x, c})});
  const std::string model = ExportGraph(*b.Build());
  const auto stats = [&](std::vector<std::string> more) {
    std::vector<std::string> call = {"run", "-", "--feed", "x=3", "--fetch", "y", "--stats"};
    call.insert(call.end(), more.begin(), more.end());
    const RunResult run = RunSluice(call, model);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_TRUE(StrContains(run.out, "y  float32 []  0\n")) << run.out;
    return run.out;
  };
  const std::string both = stats({}), unfolded = stats({"--no-fold"}), apart = stats({"--no-cse"});
  EXPECT_FALSE(StrContains(both, "Exp") || StrContains(both, "second")) << both;
  EXPECT_TRUE(StrContains(unfolded, "Exp")) << unfolded;
  EXPECT_FALSE(StrContains(unfolded, "second")) << unfolded;
  EXPECT_TRUE(StrContains(apart, "second")) << apart;
  EXPECT_FALSE(StrContains(apart, "Exp")) << apart;
}

TEST(RunTest, LayersAreFusedUnlessToldOtherwise) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({1, 1}));
  const Output w = b.Const("w", Tensor::Of<float>(Shape::Of({1, 1}), {2.0f}));
  const Output sum =
      b.Op("BiasAdd", "sum", {b.Op("MatMul", "product", {x, w}), b.Const("b", Tensor::Vector<float>({1}))});
  b.Op("Relu", "y", {sum});
  const std::string model = ExportGraph(*b.Build());
  const std::vector<std::string> call = {"run", "-", "--feed", "x=[[3]]", "--fetch", "y", "--stats"};
  std::vector<std::string> apart = call;
  apart.push_back("--no-fuse");
  const RunResult fused = RunSluice(call, model), plain = RunSluice(apart, model);
  EXPECT_TRUE(StrContains(fused.out, "_FusedMatMul") && !StrContains(fused.out, "BiasAdd")) << fused.out;
  EXPECT_TRUE(StrContains(plain.out, "BiasAdd") && !StrContains(plain.out, "_FusedMatMul")) << plain.out;
  EXPECT_TRUE(StrContains(fused.out, "7") && StrContains(plain.out, "7"));
}

TEST(RunTest, WhatOthersOnlyWaitForIsComputedOnRequest) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  const Output y = b.Op("Neg", "y", {x});
  b.AddControl(y, b.Op("Exp", "unread", {x}));
  const std::string model = ExportGraph(*b.Build());
  const RunResult run = RunSluice({"run", "-", "--feed", "x=3", "--fetch", "y", "--stats"}, model);
  EXPECT_FALSE(StrContains(run.out, "Exp")) << run.out;
  const RunResult all = RunSluice({"run", "-", "--feed", "x=3", "--fetch", "y", "--stats", "--no-drop"}, model);
  EXPECT_TRUE(StrContains(all.out, "Exp")) << all.out;
}

// Feeds and fetches are nodes of the graph that runs where it is not straight code: here two branches join that nothing
// says exclude each other.
TEST(RunTest, StatsNameFeedsAndFetchesAsTheUserDoes) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  const Output k = b.Placeholder("k", DType::kInt32, PartialShape::Scalar());
  const auto branch = [&](const std::string& name, int32_t value) {
    const Output is_it = b.Op("Equal", name + "_is", {k, b.Const(name + "_k", Tensor::Scalar(value))});
    return b.Op("Neg", name, {GraphBuilder::Nth(b.Op("Switch", name + "_switch", {x, is_it}), 1)});
  };
  b.Op("Merge", "m", {branch("first", 1), branch("second", 2)});
  const std::vector<std::string> call = {"run", "-", "--feed", "x=1", "--feed", "k=2", "--fetch", "m", "--stats"};
  const RunResult run = RunSluice(call, ExportGraph(*b.Build()));
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* made : {"_arg_", "_retval_", "_Arg", "_Retval"}) {
    EXPECT_FALSE(StrContains(run.out, made)) << run.out;
  }
  std::string words = run.out;
  absl::RemoveExtraAsciiWhitespace(&words);
  for (const char* part : {" feed 2 ", " fetch 1 ", " x feed 1 ", " k feed 1 ", " m fetch 1 "}) {
    EXPECT_TRUE(StrContains(words, part)) << part << run.out;
  }
}

TEST(RunTest, TracesAreWrittenInBothFormats) {
  const std::string json = TestFile("trace.json"), proto = TestFile("trace.pb");
  for (const std::string& file : {json, proto}) {
    const RunResult run = RunSluice({"run", "-", "--fetch", "exit", "--trace", file}, CountingLoop(10));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, "exit  float32 []  10\n");
    EXPECT_TRUE(StrContains(run.err, "wrote " + file));
  }
  const nlohmann::json trace = nlohmann::json::parse(ReadTestFile(json));
  std::vector<int> iterations;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["name"] == "add") iterations.push_back(event["args"]["iteration"].get<int>());
  }
  EXPECT_EQ(iterations, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_TRUE(StrContains(ReadTestFile(proto), "add = AddV2(switch:1, one)"));
}

TEST(RunTest, ADeadlineEndsALoopThatWouldGoOn) {
  const RunResult run = RunSluice({"run", "-", "--fetch", "exit", "--deadline", "50ms"}, CountingLoop(1e30f));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "DEADLINE_EXCEEDED")) << run.err;
}

TEST(RunTest, ADeadlineCoversPreparing) {
  const RunResult run = RunSluice({"run", "-", "--fetch", "exit", "--deadline", "1ns"}, CountingLoop(3));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "DEADLINE_EXCEEDED")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "while the graph was being prepared")) << run.err;
}

// Receives what is never sent.
std::string BlockedReceive() {
  const std::string device = "/job:localhost/replica:0/task:0/device:CPU:0";
  GraphBuilder b(NewOpRegistry());
  b.Op("_Recv", "r", {},
       {{"tensor_name", "edge"},
        {"send_device", device},
        {"send_device_incarnation", int64_t{1}},
        {"recv_device", device},
        {"tensor_type", DType::kFloat}});
  return ExportGraph(*b.Build());
}

TEST(RunTest, ARunThatHangsSaysOnWhat) {
  const RunResult run =
      RunSluice({"run", "-", "--fetch", "r", "--stall-timeout", "10ms", "--deadline", "1s"}, BlockedReceive());
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "_Recv 'r' for ")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "nothing was sent: 'edge'")) << run.err;
  EXPECT_TRUE(StrContains(run.err, "SLC4215 DEADLINE_EXCEEDED")) << run.err;
}

TEST(RunTest, CtrlCCancelsTheRun) {
  for (const int signal : {SIGINT, SIGTERM}) {
    // Its report says that the run is under way.
    const RunResult run =
        RunSluiceUntil({"run", "-", "--fetch", "r", "--stall-timeout", "10ms"}, BlockedReceive(), "hangs", signal);
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_TRUE(StrContains(run.err, "CANCELLED")) << run.err;
    EXPECT_TRUE(StrContains(run.err, "interrupted")) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST(RunTest, AnAbortInsideTheProgramIsAnErrorWithACode) {
  const RunResult run =
      RunSluiceUntil({"run", "-", "--fetch", "r", "--stall-timeout", "10ms"}, BlockedReceive(), "hangs", SIGABRT);
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "SLC9001 INTERNAL: ")) << run.err;
}

TEST(RunTest, VariablesLiveFromInitToTheLastStep) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b.Op("Assign", "set", {v, b.Const("zero", Tensor::Scalar(0.0f))});
  b.Op("AssignAdd", "count", {v, b.Const("one", Tensor::Scalar(1.0f))});
  const std::string model = ExportGraph(*b.Build());
  const RunResult run = RunSluice({"run", "-", "--init", "set", "--fetch", "count", "--steps", "5"}, model);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "count  float32 []  5\n");
  EXPECT_EQ(RunSluice({"run", "-", "--fetch", "count"}, model).status, 1);
}

TEST(RunTest, AVariableWithoutAValueNamesTheModelsInitNode) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  const Output set = b.Op("Assign", "set", {v, b.Const("zero", Tensor::Scalar(0.0f))});
  b.AddControl(b.Op("NoOp", "model/init_all", {}), set);
  b.Op("Neg", "y", {v});
  const std::string model = ExportGraph(*b.Build());
  const RunResult run = RunSluice({"run", "-", "--fetch", "y"}, model);
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(StrContains(run.err, "--init model/init_all\n")) << run.err;
  EXPECT_EQ(RunSluice({"run", "-", "--fetch", "y", "--init", "model/init_all"}, model).status, 0);
}

// Errors that can be known before the run are reported before it (output_files_test); a full disk shows on writing.
TEST(RunTest, AFileThatCannotBeWrittenDoesNotCostTheResults) {
  const RunResult run =
      RunSluice({"run", "-", "--feed", "x=1x2xf32=1", "--fetch", "sum", "--trace", "/dev/full"}, Arithmetic());
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "sum  float32 [1,2]\n[[2, 2]]\n");
  EXPECT_TRUE(StrContains(run.err, "cannot write '/dev/full'")) << run.err;
}

TEST(RunTest, TheTraceOfARunThatFailsHoldsWhatRanUntilThen) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape());
  b.Op("Reshape", "y", {b.Op("Neg", "first", {x}), b.Const("to", Tensor::Vector<int32_t>({7}))});
  const std::string file = TestFile("failed.json");
  const RunResult run = RunSluice({"run", "-", "--feed", "x=[1,2]", "--trace", file}, ExportGraph(*b.Build()));
  EXPECT_EQ(run.status, 1);
  const nlohmann::json trace = nlohmann::json::parse(ReadTestFile(file));
  bool has_first = false;
  for (const auto& event : trace["traceEvents"]) has_first |= event["name"] == "first";
  EXPECT_TRUE(has_first) << trace.dump();
}

TEST(RunTest, ASignatureGivesItsNames) {
  const RunResult run = RunSluice({"run", "-", "--tags", "serve", "--feed", "x=[[1,2]]", "--json"}, SavedModelFile());
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["results"].size(), 1u);
  const RunResult unknown = RunSluice({"run", "-", "--tags", "serve", "--signature", "nope"}, SavedModelFile());
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(StrContains(unknown.err, "no signature 'nope'")) << unknown.err;
}

TEST(RunTest, WrongValuesAreWrongUse) {
  const std::vector<std::vector<std::string>> calls = {
      {"--feed", "x=[[1,2],[3]]"}, {"--feed", "x"},      {"--deadline", "soon"}, {"--stall-timeout", "-1s"},
      {"--save", "sum=x.txt"},     {"--steps", "0"},     {"--trace", ""},        {"--deadline", ""},
      {"--restore", ""},           {"--max-nodes", "-1"}};
  for (const std::vector<std::string>& options : calls) {
    std::vector<std::string> call = {"run", "-", "--fetch", "sum"};
    call.insert(call.end(), options.begin(), options.end());
    const RunResult run = RunSluice(call, Arithmetic());
    EXPECT_EQ(run.status, 2) << options[1] << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST(RunTest, ErrorsOfTheRunAreStatusOne) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> calls = {
      {{"--feed", "xx=1", "--fetch", "sum"}, "did you mean 'x'?"},
      {{"--feed", "x=[1,2]", "--fetch", "sum"}, "SLC4004"},
      {{"--feed", "x=1x2xf64=0", "--fetch", "sum"}, "found float64, expected float32"},
      {{"--fetch", "none"}, "SLC4006"},
      {{"--fetch", "sum", "--feed", "x=@nowhere.npy"}, "nowhere.npy"},
  };
  for (const auto& [options, why] : calls) {
    std::vector<std::string> call = {"run", "-"};
    call.insert(call.end(), options.begin(), options.end());
    const RunResult run = RunSluice(call, Arithmetic());
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_TRUE(StrContains(run.err, why)) << run.err;
  }
}

// As in TensorFlow's Python sessions.
TEST(RunTest, WhatIsFedIsTheAnswerWhereItIsFetched) {
  const std::string model = R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } })";
  const RunResult run = RunSluice({"run", "-", "--feed", "x=[1.0,2.0]", "--fetch", "x,y"}, model);
  EXPECT_EQ(run.out, "x  float32 [2]  [1, 2]\ny  float32 [2]  [-1, -2]\n") << run.err;
  const RunResult given = RunSluice({"run", "-", "--feed", "y=[5.0]", "--fetch", "y"}, model);
  EXPECT_EQ(given.out, "y  float32 [1]  [5]\n") << given.err;
}

TEST(RunTest, FilesAreNotTouchedWhereThatIsForbidden) {
  const std::string model = R"(
    node { name: 'file' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }
    node { name: 'read' op: 'ReadFile' input: 'file' })";
  const std::string feed = "file=" + MakeTestFile("content.txt", "hello");
  EXPECT_EQ(RunSluice({"run", "-", "--feed", feed}, model).out, "read  string []  \"hello\"\n");
  const RunResult denied = RunSluice({"run", "-", "--feed", feed, "--no-files"}, model);
  EXPECT_EQ(denied.status, 1);
  EXPECT_TRUE(absl::StrContains(denied.err, "PERMISSION_DENIED: ReadFile 'read'")) << denied.err;
}

}  // namespace
}  // namespace sluice

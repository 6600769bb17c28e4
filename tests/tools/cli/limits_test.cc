// The limits of loading, as they stand on the command line: what they refuse, and what they let through.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"
#include "tools/cli/numpy/npz.h"

namespace sluice {
namespace {

// A command that refuses `model` and names the limit, and does not where the limit is `raised`.
void ExpectLimit(std::vector<std::string> arguments, const std::string& model, const std::string& flag,
                 const std::string& name, int raised) {
  const RunResult refused = RunSluice(arguments, model);
  EXPECT_EQ(refused.status, 1) << flag;
  const std::string text = absl::StrCat(refused.out, refused.err);
  EXPECT_TRUE(absl::StrContains(text, name)) << text;
  EXPECT_TRUE(absl::StrContains(text, absl::StrCat(flag, " N allows more"))) << text;
  arguments.insert(arguments.end(), {flag, absl::StrCat(raised)});
  const RunResult taken = RunSluice(arguments, model);
  EXPECT_EQ(taken.status, 0) << flag << taken.out.substr(0, 1000) << taken.err.substr(0, 1000);
}

// A NoOp with an attr of so many functions in one another, each of which takes three levels of messages.
std::string NestedAttr(int functions) {
  std::string open, close;
  for (int i = 0; i < functions; ++i) {
    absl::StrAppend(&open, "func { name: 'f' attr { key: 'k' value { ");
    absl::StrAppend(&close, "} } } ");
  }
  return absl::StrCat("node { name: 'n' op: 'NoOp' attr { key: '_nested' value { ", open, "i: 1 ", close, "} } }");
}

// It can be lowered alone: protobuf reads no more than 100.
TEST(LimitsTest, Nesting) {
  const std::string model = NestedAttr(20), file = TestFile("nested.pb");
  const auto run = [&](std::vector<std::string> arguments, const std::string& input, const std::string& limit) {
    arguments.insert(arguments.end(), {"--max-nesting", limit});
    return RunSluice(arguments, input);
  };
  EXPECT_EQ(run({"convert", "-", file}, model, "100").status, 0);
  for (const bool is_text : {true, false}) {
    const std::string path = is_text ? "-" : file;
    EXPECT_EQ(run({"check", path}, model, "80").status, 0) << path;
    const RunResult refused = run({"check", path}, model, "50");
    EXPECT_EQ(refused.status, 1) << path;
    EXPECT_TRUE(absl::StrContains(refused.out, "limit max_nesting = 50")) << refused.out << refused.err;
  }
  EXPECT_EQ(run({"check", "-", "--graph-only"}, NestedAttr(40), "100").status, 1);
}

constexpr char kFloats[] =
    "attr { key: 'Tin' value { list { type: DT_FLOAT } } } "
    "attr { key: 'Tout' value { list { type: DT_FLOAT } } } ";

// 'y' is x + 1 behind so many calls in one another.
std::string ChainOfCalls(int calls) {
  std::string text =
      absl::StrCat("node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } ",
                   "node { name: 'y' op: 'PartitionedCall' input: 'x' ", kFloats,
                   "attr { key: 'f' value { func { name: 'f1' } } } } library { ");
  for (int i = 1; i <= calls; ++i) {
    absl::StrAppend(&text, "function { signature { name: 'f", i,
                    "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } } ");
    if (i < calls) {
      absl::StrAppend(&text, "node_def { name: 'c' op: 'PartitionedCall' input: 'x' ", kFloats,
                      "attr { key: 'f' value { func { name: 'f", i + 1,
                      "' } } } } ret { key: 'r' value: 'c:output:0' } } ");
    } else {
      absl::StrAppend(&text, "node_def { name: 'c' op: 'Exp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } ",
                      "ret { key: 'r' value: 'c:y:0' } } ");
    }
  }
  return absl::StrCat(text, "}");
}

TEST(LimitsTest, CallDepth) {
  ExpectLimit({"run", "-", "--feed", "x=0", "--fetch", "y"}, ChainOfCalls(80), "--max-call-depth", "max_call_depth",
              80);
  EXPECT_EQ(RunSluice({"check", "-", "--max-call-depth", "80"}, ChainOfCalls(80)).status, 0);
  for (const char* const functions : {"inline", "call"}) {
    const RunResult run =
        RunSluice({"run", "-", "--feed", "x=0", "--fetch", "y", "--max-call-depth", "256", "--functions", functions},
                  ChainOfCalls(256));
    EXPECT_EQ(run.status, 0) << run.err.substr(0, 1000);
    EXPECT_EQ(run.out, "y  float32 []  1\n");
  }
}

// The same by kernels that call: For, once round. These nest on the stack.
std::string ChainOfLoops(int loops) {
  std::string numbers;
  for (const char* const number : {"from 0", "to 1", "step 1"}) {
    const std::vector<std::string> words = absl::StrSplit(number, ' ');
    absl::StrAppend(
        &numbers, "NODE { name: '", words[0], "' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } ",
        "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: ", words[1], " } } } } ");
  }
  const auto loop = [](absl::string_view suffix, int body) {
    return absl::StrCat("op: 'For' input: 'from", suffix, "' input: 'to", suffix, "' input: 'step", suffix,
                        "' input: 'x' attr { key: 'T' value { list { type: DT_FLOAT } } } ",
                        "attr { key: 'body' value { func { name: 'f", body, "' } } } } ");
  };
  std::string text =
      absl::StrCat("node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } ",
                   absl::StrReplaceAll(numbers, {{"NODE", "node"}}), "node { name: 'y' ", loop("", 1), "library { ");
  for (int i = 1; i <= loops; ++i) {
    absl::StrAppend(&text, "function { signature { name: 'f", i, "' input_arg { name: 'i' type: DT_INT32 } ",
                    "input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } } ");
    if (i < loops) {
      absl::StrAppend(&text, absl::StrReplaceAll(numbers, {{"NODE", "node_def"}}), "node_def { name: 'c' ",
                      loop(":output:0", i + 1), "ret { key: 'r' value: 'c:output:0' } } ");
    } else {
      absl::StrAppend(&text, "node_def { name: 'c' op: 'Exp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } ",
                      "ret { key: 'r' value: 'c:y:0' } } ");
    }
  }
  return absl::StrCat(text, "}");
}

TEST(LimitsTest, KernelsThatCallNestAsDeepAsMayBe) {
  for (const char* const threads : {"1", "4"}) {
    const RunResult run =
        RunSluice({"run", "-", "--feed", "x=0", "--fetch", "y", "--max-call-depth", "256", "--threads", threads},
                  ChainOfLoops(250));
    EXPECT_EQ(run.status, 0) << run.err.substr(0, 1000);
    EXPECT_EQ(run.out, "y  float32 []  1\n");
  }
}

TEST(LimitsTest, FrameDepth) {
  GraphBuilder b(NewOpRegistry());
  Output value = b.Placeholder("x", DType::kFloat);
  for (int i = 0; i < 80; ++i) {
    value = b.Op("Enter", absl::StrCat("enter", i), {value}, {{"frame_name", absl::StrCat("f", i)}});
  }
  for (int i = 0; i < 80; ++i) value = b.Op("Exit", absl::StrCat("exit", i), {value});
  b.Op("Neg", "y", {value});
  const std::string model = ExportGraph(*b.Build());
  ExpectLimit({"check", "-"}, model, "--max-frame-depth", "max_frame_depth", 80);
  ExpectLimit({"run", "-", "--feed", "x=0", "--fetch", "y"}, model, "--max-frame-depth", "max_frame_depth", 80);
}

// 'y' is a conditional on what is trained; beside it stand 80 frames in one another.
std::string ConditionalBesideFrames() {
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } } ";
  std::string text =
      "node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape { } } } attr { key: 'shared_name' value { s: 'v' } } } "
      "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } } "
      "node { name: 'start' op: 'AssignVariableOp' input: 'v' input: 'c' attr { key: 'dtype' value { type: DT_FLOAT } "
      "} } "
      "node { name: 'r' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } } "
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
      "attr { key: 'shape' value { shape { dim { size: -1 } } } } } "
      "node { name: 'on' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } "
      "attr { key: 'shape' value { shape { } } } } "
      "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { "
      "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } } ";
  const auto add = [&](const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                       const std::string& attrs = "") {
    absl::StrAppend(&text, "node { name: '", name, "' op: '", op, "' ", type, attrs);
    for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
    absl::StrAppend(&text, "} ");
  };
  add("p", "Mul", {"x", "r"});
  add("m", "Mean", {"p", "axis"}, "attr { key: 'Tidx' value { type: DT_INT32 } } ");
  add("gate", "Switch", {"m", "on"});
  add("no", "Neg", {"gate:0"});
  add("yes", "Square", {"gate:1"});
  add("y", "Merge", {"no", "yes"}, "attr { key: 'N' value { i: 2 } } ");
  for (int i = 0; i < 80; ++i) {
    add(absl::StrCat("enter", i), "Enter", {i == 0 ? "x" : absl::StrCat("enter", i - 1)},
        absl::StrCat("attr { key: 'frame_name' value { s: 'f", i, "' } } "));
  }
  for (int i = 0; i < 80; ++i) add(absl::StrCat("exit", i), "Exit", {i == 0 ? "enter79" : absl::StrCat("exit", i - 1)});
  return text;
}

// Gradients go by the same limits as what they are of.
TEST(LimitsTest, FrameDepthOfGradients) {
  const std::string model = ConditionalBesideFrames();
  ExpectLimit({"grad", "-", "--y", "y", "--x", "m", "-o", TestFile("deep.pb")}, model, "--max-frame-depth",
              "max_frame_depth", 80);
  const std::vector<NamedTensor> arrays = {{"x", Tensor::Vector<float>({1, 2, 3, 4})}};
  ExpectLimit({"train", "-", MakeTestFile("x.npz", *WriteNpz(arrays)), "--loss", "y", "--feed", "on=true", "--init",
               "start", "--epochs", "1", "-o", TestFile("trained")},
              model, "--max-frame-depth", "max_frame_depth", 80);
}

// What `sluice` says of a limit, of the model or the data.
std::string TextOfRefusal(const std::vector<std::string>& arguments, const std::string& model) {
  const RunResult run = RunSluice(arguments, model);
  EXPECT_EQ(run.status, 1);
  return absl::StrCat(run.out, run.err);
}

TEST(LimitsTest, NoMoreIsPromisedThanTheOptionTakes) {
  const std::string nested = TextOfRefusal({"check", "-"}, NestedAttr(40));
  EXPECT_TRUE(absl::StrContains(nested, "100 is the most that --max-nesting can allow")) << nested;
  const std::string lower = TextOfRefusal({"check", "-", "--max-nesting", "50"}, NestedAttr(20));
  EXPECT_TRUE(absl::StrContains(lower, "--max-nesting N allows more")) << lower;
  const std::string deep = TextOfRefusal({"check", "-", "--max-call-depth", "256"}, ChainOfCalls(257));
  EXPECT_TRUE(absl::StrContains(deep, "256 is the most that --max-call-depth can allow")) << deep;
  EXPECT_TRUE(absl::StrContains(deep, "found 257 levels")) << deep;
  const std::string deeper = TextOfRefusal({"check", "-", "--max-call-depth", "10"}, ChainOfCalls(100));
  EXPECT_TRUE(absl::StrContains(deeper, "found more than 11 levels")) << deeper;
  const std::string help = RunSluice({"run", "--help"}).out;
  EXPECT_TRUE(absl::StrContains(help, "--max-call-depth N [64], at most 256")) << help;
}

TEST(LimitsTest, OfDataTheArrayAndTheOptionAreNamed) {
  const std::vector<NamedTensor> arrays = {{"few", Tensor::Vector<float>({1})},
                                           {"many", Tensor::Vector<float>(std::vector<float>(4000, 1))}};
  const std::string npz = MakeTestFile("many.npz", *WriteNpz(arrays)), out = TestFile("not_trained");
  const std::string text = TextOfRefusal({"train", "-", npz, "--loss", "y", "--feed", "on=true", "--init", "start",
                                          "-o", out, "--max-frame-depth", "80", "--max-tensor-bytes", "16000"},
                                         ConditionalBesideFrames());
  EXPECT_TRUE(absl::StrContains(text, "'many")) << text;
  EXPECT_TRUE(absl::StrContains(text, "--max-tensor-bytes N allows more")) << text;
}

TEST(LimitsTest, ParallelIterations) {
  GraphBuilder b(NewOpRegistry());
  const Output enter =
      b.Op("Enter", "enter", {b.Placeholder("x", DType::kFloat)}, {{"frame_name", "f"}, {"parallel_iterations", 5000}});
  b.Op("Neg", "y", {b.Op("Exit", "exit", {enter})});
  const std::string model = ExportGraph(*b.Build());
  const auto shown = [&model](std::vector<std::string> arguments) -> int64_t {
    arguments.insert(arguments.begin(), {"show", "-", "--json"});
    const RunResult show = RunSluice(arguments, model);
    EXPECT_EQ(show.status, 0) << show.err;
    return nlohmann::json::parse(show.out)["frames"][0]["parallel_iterations"];
  };
  EXPECT_EQ(shown({}), 1024);
  EXPECT_EQ(shown({"--max-parallel-iterations", "8000"}), 5000);
  EXPECT_EQ(shown({"--max-parallel-iterations", "7"}), 7);
  EXPECT_EQ(RunSluice({"run", "-", "--feed", "x=1", "--max-parallel-iterations", "65536"}, model).out,
            "y  float32 []  -1\n");
}

}  // namespace
}  // namespace sluice

// What `show` lists as inputs and outputs, and `run` and `bench` take where nothing is named: one guess.

#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/function_defs.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"
#include "tests/tools/cli/trained_models.h"

namespace sluice {
namespace {

std::vector<std::string> Names(const nlohmann::json& list) {
  std::vector<std::string> names;
  for (const nlohmann::json& item : list) names.push_back(item["name"]);
  return names;
}
using Strings = std::vector<std::string>;

nlohmann::json Show(const std::string& model) {
  const RunResult show = RunSluice({"show", "-", "--json"}, model);
  EXPECT_EQ(show.status, 0) << show.err;
  return nlohmann::json::parse(show.out);
}

// 0, 1, 2, 3 in a loop as TensorFlow 1 wrote it, which leaves through 'last'; 'inside' is used by nothing.
std::string CountingLoop() {
  GraphBuilder b(NewOpRegistry());
  const GraphBuilder::Attrs constant = {{"frame_name", "loop"}, {"is_constant", true}};
  const Output enter = b.Op("Enter", "enter", {b.Const("zero", Tensor::Scalar(0.0f))}, {{"frame_name", "loop"}});
  const Output limit = b.Op("Enter", "limit", {b.Const("three", Tensor::Scalar(3.0f))}, constant);
  const Output one = b.Op("Enter", "one", {b.Const("step", Tensor::Scalar(1.0f))}, constant);
  const Output merge = b.Op("Merge", "merge", {enter, enter});
  const Output go = b.Op("LoopCond", "go", {b.Op("Less", "less", {merge, limit})});
  const Output live = b.Op("Switch", "live", {merge, go});
  const Output sum = b.Op("AddV2", "sum", {GraphBuilder::Nth(live, 1), one});
  b.SetInput(merge, 1, b.Op("NextIteration", "next", {sum}));
  b.Op("Exit", "last", {live});
  b.Op("Square", "inside", {sum});
  return ExportGraph(*b.Build());
}

TEST(EndpointsTest, OldLoopsRunWithoutFetchAndGiveWhatShowLists) {
  EXPECT_EQ(Names(Show(LoopModel())["outputs"]), Strings({"exit"}));
  EXPECT_EQ(Names(Show(CountingLoop())["outputs"]), Strings({"last"})) << "what is inside has a value per iteration";
  const RunResult run = RunSluice({"run", "-"}, CountingLoop());
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "last  float32 []  3\n");
  EXPECT_EQ(RunSluice({"bench", "-", "--runs", "2"}, CountingLoop()).status, 0);
}

TEST(EndpointsTest, NodesOfASaverAreNobodysInputsAndOutputs) {
  const nlohmann::json show = Show(TrainedGraph());
  EXPECT_EQ(Names(show["outputs"]), Strings({"y"}));
  EXPECT_EQ(Names(show["inputs"]), Strings({"x"}));
  const RunResult run =
      RunSluice({"run", "-", "--feed", "x=1x2=1", "--init", "init,local_init", "--json"}, TrainedGraph());
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Names(nlohmann::json::parse(run.out)["results"]), Strings({"y"}));
}

TEST(EndpointsTest, CallsOfFunctionsThatRestoreAreASavers) {
  const RunResult show = RunSluice({"show", MakeTrainedModelOfFunctions("endpoints"), "--json"});
  ASSERT_EQ(show.status, 0) << show.err;
  const nlohmann::json json = nlohmann::json::parse(show.out);
  EXPECT_EQ(Names(json["outputs"]), Strings({"y"}));
  EXPECT_EQ(Names(json["inputs"]), Strings({"x"}));
}

TEST(EndpointsTest, TextThatNoSaverHasMadeIsAnOutput) {
  GraphBuilder b(NewOpRegistry());
  const Output name = b.Placeholder("file", DType::kString, PartialShape::Scalar());
  b.Op("Identity", "echo", {name});
  const Output names = b.Const("names", Tensor::String("v"));
  b.AddControl(b.Op("NoOp", "store"), b.Op("SaveV2", "saved",
                                           {name, b.Op("ExpandDims", "n", {names, b.Const("d", Tensor::Scalar(0))}),
                                            b.Const("s", Tensor::Of<TString>(Shape::Of({1}), {TString("")})),
                                            b.Const("v", Tensor::Scalar(1.0f))},
                                           {{"dtypes", std::vector<DType>{DType::kFloat}}}));
  const nlohmann::json show = Show(ExportGraph(*b.Build()));
  EXPECT_EQ(Names(show["outputs"]), Strings({"echo"}));
  EXPECT_EQ(Names(show["inputs"]), Strings({"file"})) << "more than a saver uses it";
}

// A node that others only wait for counts as an effect, unless the graph has nothing else to fetch.
TEST(EndpointsTest, ACallThatANodeOnlyWaitsForIsAnOutputWhereThereIsNoOther) {
  for (const bool has_other : {false, true}) {
    GraphBuilder b(NewOpRegistry());
    SquarePlusOne().AddTo(b.graph());
    const Output x = b.Placeholder("x", DType::kFloat);
    const Output call = Call(b, "call", "SquarePlusOne", {x}, {DType::kFloat}, {}, "StatefulPartitionedCall");
    b.AddControl(b.Op("NoOp", "done"), call);
    if (has_other) b.Op("Neg", "other", {x});
    const std::string model = ExportGraph(*b.Build());
    EXPECT_EQ(Names(Show(model)["outputs"]), Strings({has_other ? "other" : "call"}));
    const RunResult run = RunSluice({"run", "-", "--feed", "x=3"}, model);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, has_other ? "other  float32 []  -3\n" : "call  float32 []  10\n");
  }
}

// A read of a variable for an update is not what a model gives, however little else there is.
TEST(EndpointsTest, NodesThatAreThereForTheirEffectAreNoOutputs) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  b.AddControl(b.Op("NoOp", "init"), b.Op("AssignVariableOp", "v/assign", {v, b.Const("zero", Tensor::Scalar(0.0f))}));
  EXPECT_EQ(Names(Show(ExportGraph(*b.Build()))["outputs"]), Strings());
}

}  // namespace
}  // namespace sluice

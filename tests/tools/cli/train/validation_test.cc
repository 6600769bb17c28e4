// Validation leaves no trace: `sluice train` gives the same bits with and without --validate, whatever the loss
// changes.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/training_models.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// (average, x) -> noise: a moving average of x, as batch normalisation keeps it, and a random number, as dropout takes
// one.
void AddEffects(Graph& graph, bool is_called) {
  const auto scalar = [](float value) {
    return FunctionText::Attrs{{"dtype", DType::kFloat}, {"value", Tensor::Scalar(value)}};
  };
  FunctionText text("Effects");
  text.Arg("average: resource").Arg("x: float").Result("noise: float", "random:output:0").Stateful();
  text.Node("axes = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({0, 1})}});
  text.Node("none = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({})}});
  text.Node("nine = Const()", scalar(0.9f)).Node("one = Const()", scalar(0.1f));
  text.Node("mean = Mean(x, axes:output:0)", {{"T", DType::kFloat}, {"Tidx", DType::kInt32}});
  text.Node("old = ReadVariableOp(average)", {{"dtype", DType::kFloat}});
  text.Node("kept = Mul(old:value:0, nine:output:0)", {{"T", DType::kFloat}});
  text.Node("added = Mul(mean:output:0, one:output:0)", {{"T", DType::kFloat}});
  text.Node("new = AddV2(kept:z:0, added:z:0)", {{"T", DType::kFloat}});
  text.Node("assign = AssignVariableOp(average, new:z:0)", {{"dtype", DType::kFloat}});
  text.Node("random = RandomUniform(none:output:0)",
            {{"T", DType::kInt32}, {"dtype", DType::kFloat}, {"seed", int64_t{5}}, {"seed2", int64_t{6}}});
  text.ControlResult("assign", "assign");
  if (is_called) text.FunctionAttr("_noinline", true);
  text.AddTo(graph);
}

Output ScalarVariable(GraphBuilder& b, const std::string& name, const Tensor& initial) {
  const Output handle = b.Op("VarHandleOp", name, {},
                             {{"dtype", initial.dtype()}, {"shape", PartialShape::Scalar()}, {"shared_name", name}});
  b.Op("AssignVariableOp", name + "/Assign", {handle, b.Const(name + "/initial", initial)},
       {{"dtype", initial.dtype()}});
  return handle;
}

// y = w * mean(x) * (1 + noise + 0.01 * entries + old), loss = (y - mean(wanted))^2, where the noise comes with an
// average in a function, `entries` counts what is in a table that each step adds to, and `old` is a reference variable
// that each step adds to.
std::string ModelWithEffects(bool is_called) {
  GraphBuilder b(NewOpRegistry());
  AddEffects(b.graph(), is_called);
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 4}));
  const Output wanted = b.Placeholder("wanted", DType::kFloat, PartialShape::Of({-1, 1}));
  const Output axes = b.Const("axes", Tensor::Vector<int32_t>({0, 1}));
  const Output mean = b.Op("Mean", "mean", {x, axes});
  const Output average = ScalarVariable(b, "average", Tensor::Scalar(0.0f));
  const Output w =
      b.Op("ReadVariableOp", "w/read", {ScalarVariable(b, "w", Tensor::Scalar(0.5f))}, {{"dtype", DType::kFloat}});
  const Output noise = b.Op("StatefulPartitionedCall", "effects", {average, x},
                            {{"f", AttrValue::Func("Effects", {})},
                             {"Tin", std::vector<DType>{DType::kResource, DType::kFloat}},
                             {"Tout", std::vector<DType>{DType::kFloat}}});
  const Output old = b.Op("VariableV2", "old", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b.Op("Assign", "old/Assign", {old, b.Const("old/initial", Tensor::Scalar(0.0f))});
  const Output tenth = b.Const("tenth", Tensor::Scalar(0.1f));
  const Output grown = b.Op("AssignAdd", "old/grow", {old, b.Op("Mul", "share", {mean, tenth})});
  const Output table = b.Op("MutableHashTableV2", "table", {},
                            {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kFloat}, {"shared_name", "table"}});
  const Output thousand = b.Const("thousand", Tensor::Scalar(1000.0f));
  const Output key = b.Op("Cast", "key", {b.Op("Mul", "scaled", {mean, thousand})}, {{"DstT", DType::kInt64}});
  const Output insert = b.Op("LookupTableInsertV2", "insert", {table, key, mean});
  const Output size = b.Op("LookupTableSizeV2", "size", {table});
  b.AddControl(size, insert);
  const Output entries =
      b.Op("Mul", "entries",
           {b.Op("Cast", "as_float", {size}, {{"DstT", DType::kFloat}}), b.Const("hundredth", Tensor::Scalar(0.01f))});
  const Output factor = b.Op("AddN", "factor", {noise, entries, b.Op("Identity", "grown", {grown})});
  const Output y = b.Op("Mul", "y", {b.Op("Mul", "product", {w, b.Op("AddV2", "shifted", {mean, thousand})}), factor});
  const Output off = b.Op("Sub", "off", {y, b.Op("Mean", "goal", {wanted, axes})});
  b.Op("Square", "loss", {off});
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return graph.ok() ? ExportGraph(*graph) : "";
}

class ValidationTest : public ::testing::TestWithParam<bool> {
 protected:
  RunResult Train(const std::string& model, const std::string& out, const std::vector<std::string>& more,
                  bool is_new = true) const {
    if (is_new) fs::remove_all(out);
    std::vector<std::string> line = {"train", model,  rows_,  "--loss",  "loss", "-o",
                                     out,     "--lr", "1e-7", "--batch", "7"};
    line.insert(line.end(), more.begin(), more.end());
    return RunSluice(line);
  }
  // All tensors of the two newest checkpoints are the same, bit for bit.
  static void ExpectEqual(const std::string& one, const std::string& other, const std::vector<std::string>& wanted) {
    ASSERT_OK_AND_ASSIGN(const TrainCheckpoints first, TrainCheckpoints::Open(one, 5, ""));
    ASSERT_OK_AND_ASSIGN(const TrainCheckpoints second, TrainCheckpoints::Open(other, 5, ""));
    ASSERT_OK_AND_ASSIGN(const NamedTensors a, ReadCheckpoint(first.newest()));
    ASSERT_OK_AND_ASSIGN(const NamedTensors b, ReadCheckpoint(second.newest()));
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      if (a[i].second.dtype() == DType::kString) continue;
      EXPECT_EQ(a[i].second.bytes(), b[i].second.bytes()) << a[i].first;
    }
    for (const std::string& name : wanted) {
      const bool has = std::any_of(a.begin(), a.end(), [&](const auto& entry) { return entry.first == name; });
      EXPECT_TRUE(has) << name;
    }
  }

  const std::string rows_ = MakeTestFile("rows.npz", TrainingRows(50));
  const std::string others_ = MakeTestFile("others.npz", TrainingRows(33));
  const std::string plain_ = TestFile("plain"), validated_ = TestFile("validated");
};

TEST_P(ValidationTest, TheBitsOfTrainingAreThoseWithoutIt) {
  const std::string model = MakeTestFile("effects.pb", ModelWithEffects(GetParam()));
  const RunResult plain = Train(model, plain_, {"--epochs", "3"});
  ASSERT_EQ(plain.status, 0) << plain.err;
  const RunResult validated = Train(model, validated_, {"--epochs", "3", "--validate", others_});
  ASSERT_EQ(validated.status, 0) << validated.err;
  ExpectEqual(plain_, validated_, {"average", "old", "w", "sluice_table/table/keys"});
}

TEST_P(ValidationTest, WhatItSaysDependsOnTheStateOfTrainingAlone) {
  const std::string model = MakeTestFile("effects.pb", ModelWithEffects(GetParam()));
  ASSERT_EQ(Train(model, plain_, {"--epochs", "4", "--validate", others_}).status, 0);
  ASSERT_EQ(Train(model, validated_, {"--epochs", "2", "--validate", others_}).status, 0);
  const RunResult rest = Train(model, validated_, {"--epochs", "4", "--validate", others_, "--resume"}, false);
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(ReadTestFile(plain_ + "/loss.csv"), ReadTestFile(validated_ + "/loss.csv"));
}

INSTANTIATE_TEST_SUITE_P(InFunctions, ValidationTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "called" : "inlined"; });

TEST_F(ValidationTest, DropoutTakesNoNumbersForIt) {
  const std::string model = MakeTestFile("dropout.pb", DropoutModel());
  const std::vector<std::string> plain = {"--epochs", "3", "--feed", "scale=1"};
  std::vector<std::string> validated = plain;
  validated.insert(validated.end(), {"--validate", others_});
  ASSERT_EQ(Train(model, plain_, plain).status, 0);
  ASSERT_EQ(Train(model, validated_, validated).status, 0);
  ExpectEqual(plain_, validated_, {"sluice_generator/dropout/random"});
}

// Validation would wait for ever for what only training puts in.
TEST_F(ValidationTest, ALossThatTakesFromAQueueIsRefused) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 4}));
  const Output queue = b.Op("FIFOQueueV2", "queue", {}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  const Output put = b.Op("QueueEnqueueV2", "put", {queue, x}, {{"Tcomponents", std::vector<DType>{DType::kFloat}}});
  const Output taken =
      b.Op("QueueDequeueV2", "taken", {queue}, {{"component_types", std::vector<DType>{DType::kFloat}}});
  b.AddControl(taken, put);
  const Output axes = b.Const("axes", Tensor::Vector<int32_t>({0, 1}));
  const Output w =
      b.Op("ReadVariableOp", "w/read", {ScalarVariable(b, "w", Tensor::Scalar(0.5f))}, {{"dtype", DType::kFloat}});
  b.Op("Square", "loss", {b.Op("Mul", "y", {w, b.Op("Mean", "mean", {taken, axes})})});
  const std::string model = MakeTestFile("queue.pb", ExportGraph(*b.Build()));
  const RunResult plain = Train(model, plain_, {"--epochs", "1"});
  EXPECT_EQ(plain.status, 0) << plain.err;
  const RunResult run = Train(model, validated_, {"--epochs", "1", "--validate", "0.2"});
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.err, "'taken'")) << run.err;
  EXPECT_TRUE(absl::StrContains(run.err, "nothing fills")) << run.err;
  EXPECT_FALSE(fs::exists(validated_));
}

}  // namespace
}  // namespace sluice

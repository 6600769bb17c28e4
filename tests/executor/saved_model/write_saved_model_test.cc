#include "executor/saved_model/write_saved_model.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "executor/saved_model/open_saved_model.h"
#include "executor/saved_model/saver_nodes.h"
#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// y = x * w + c, w a variable of a handle or a reference, which begins with 2 and 3; c has no first value.
Graph Model(bool is_resource) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 2}));
  const Output first = b.Const("w/initial", Tensor::Vector<float>({2, 3}));
  const GraphBuilder::Attrs attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}};
  Output w, c;
  if (is_resource) {
    w = b.Op("VarHandleOp", "w", {}, attrs);
    c = b.Op("VarHandleOp", "c", {}, attrs);
    b.Op("AssignVariableOp", "w/Assign", {w, first}, {{"dtype", DType::kFloat}});
    w = b.Op("ReadVariableOp", "w/read", {w}, {{"dtype", DType::kFloat}});
    c = b.Op("ReadVariableOp", "c/read", {c}, {{"dtype", DType::kFloat}});
  } else {
    w = b.Op("VariableV2", "w", {}, attrs);
    c = b.Op("VariableV2", "c", {}, attrs);
    b.Op("Assign", "w/Assign", {w, first});
    w = b.Op("Identity", "w/read", {w});
    c = b.Op("Identity", "c/read", {c});
  }
  const Output y = b.Op("AddV2", "y", {b.Op("Mul", "product", {x, w}), c});
  b.Op("Relu", "elsewhere", {y});
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

class WriteSavedModelTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { fs::remove_all(directory_); }

  ModelExport Export() const {
    ModelExport what;
    what.inputs = {{"features", {graph_.Find("x"), 0}}};
    what.outputs = {{"scores", {graph_.Find("y"), 0}}};
    what.trainable = {graph_.Find("w")};
    return what;
  }

  const Graph graph_ = Model(GetParam());
  const std::string directory_ = ::testing::TempDir() + "/written";
  const NamedTensors values_ = {{"w", Tensor::Vector<float>({5, 7})}, {"c", Tensor::Vector<float>({1, 1})}};
};

TEST_P(WriteSavedModelTest, WhatIsWrittenOpensAndAnswers) {
  ASSERT_OK(WriteSavedModel(directory_, graph_, Export(), values_));
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(directory_));
  EXPECT_FALSE(model.loaded->graph.Find("elsewhere").valid()) << "only what the outputs need";
  EXPECT_TRUE(model.loaded->graph.Find("w/Assign").valid()) << "and how variables begin";
  ASSERT_OK_AND_ASSIGN(const NamedTensors results,
                       model.Call("serving_default", {{"features", Tensor::Of<float>(Shape::Of({1, 2}), {1, 2})}}));
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0].first, "scores");
  EXPECT_EQ(results[0].second.flat<float>()[0], 6);
  EXPECT_EQ(results[0].second.flat<float>()[1], 15);
  const ModelSignature& signature = model.loaded->meta.signatures.at(0);
  EXPECT_EQ(signature.inputs.at(0).shape.ToString(), "[?,2]");
  EXPECT_EQ(model.loaded->meta.tags, std::vector<std::string>{"serve"});
  EXPECT_EQ(model.loaded->meta.FindCollection("variables")->count, 2);
  EXPECT_EQ(model.loaded->meta.FindCollection("trainable_variables")->count, 1);
}

// TensorFlow's loaders run what the collection names; a signature of the init op is one that users call, to them.
TEST_P(WriteSavedModelTest, TheInitOpIsNoSignature) {
  ModelExport what = Export();
  what.init_op = "elsewhere";
  ASSERT_OK(WriteSavedModel(directory_, graph_, what, values_));
  absl::StatusOr<LoadedGraph> written = LoadGraphFile(directory_, LoadOptions());
  ASSERT_OK(written);
  ASSERT_EQ(written->meta.signatures.size(), 1);
  EXPECT_EQ(written->meta.signatures[0].key, "serving_default");
  EXPECT_EQ(written->meta.init_ops, std::vector<std::string>{"elsewhere"});
}

TEST_P(WriteSavedModelTest, AVariableWithoutAValueIsAnError) {
  const absl::Status status = WriteSavedModel(directory_, graph_, Export(), {values_[0]});
  EXPECT_EQ(ErrorInfoOf(status)->code, ErrorCode::kUninitialized);
  EXPECT_FALSE(fs::exists(directory_ + "/saved_model.pb"));
}

TEST_P(WriteSavedModelTest, OutputsMustBeThere) {
  ModelExport what = Export();
  what.outputs.clear();
  EXPECT_EQ(ErrorInfoOf(WriteSavedModel(directory_, graph_, what, values_))->code, ErrorCode::kFetchUnknown);
  what.outputs = {{"scores", {graph_.Find("y"), 1}}};
  EXPECT_EQ(ErrorInfoOf(WriteSavedModel(directory_, graph_, what, values_))->code, ErrorCode::kFetchUnknown);
}

TEST_P(WriteSavedModelTest, SaversReadAndAssign) {
  Graph graph = graph_;
  const std::vector<NodeId> variables = VariablesNeededBy(graph, {graph.Find("y")});
  ASSERT_EQ(variables.size(), 2);
  EXPECT_EQ(VariablesNeededBy(graph, {graph.Find("product")}).size(), 1);
  ASSERT_OK_AND_ASSIGN(const SaverNodes saver, AddSaver(graph, variables));
  ASSERT_OK_AND_ASSIGN(const SaverNodes second, AddSaver(graph, variables));
  EXPECT_NE(saver.saver.restore_op, second.saver.restore_op) << "names of their own";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), graph));
  EXPECT_FALSE(ReadVariables(*session, saver).ok()) << "no values yet";
  NamedTensors more = values_;
  more.emplace_back("no variable", Tensor::Scalar(1.0f));
  ASSERT_OK(AssignVariables(*session, saver, more));
  ASSERT_OK(AssignVariables(*session, saver, {{"w", Tensor::Vector<float>({8, 9})}}));
  ASSERT_OK_AND_ASSIGN(const NamedTensors read, ReadVariables(*session, saver));
  ASSERT_EQ(read.size(), 2);
  for (const auto& [name, value] : read) EXPECT_EQ(value.flat<float>()[0], name == "w" ? 8 : 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, WriteSavedModelTest, ::testing::Bool());

}  // namespace
}  // namespace sluice

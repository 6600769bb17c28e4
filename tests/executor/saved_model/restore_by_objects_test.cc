#include "executor/saved_model/restore_by_objects.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "executor/saved_model/freeze.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/object_graph.h"
#include "executor/saved_model/open_saved_model.h"
#include "executor/saved_model/restored_variables.h"
#include "graph/base/file.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::AttrBytes;
using graph_bytes::FunctionBytes;
using graph_bytes::MessageBytes;
using graph_bytes::NodeDefBytes;

MessageBytes Strings(const char* name, const std::string& value) {
  return graph_bytes::ConstNode(name, graph_bytes::kString,
                                graph_bytes::TensorBytes(graph_bytes::kString, {1}).Bytes(8, value));
}

AttrBytes Call(const char* function, const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
  return {{"f", graph_bytes::FuncAttr(function)},
          {"Tin", graph_bytes::TypeListAttr(in)},
          {"Tout", out.empty() ? graph_bytes::EmptyListAttr() : graph_bytes::TypeListAttr(out)}};
}

// variable = the tensor "layer/kernel" of the checkpoint.
FunctionBytes RestoreFunction() {
  using namespace graph_bytes;  // NOLINT
  FunctionBytes restore;
  restore.name = "restore_all";
  restore.args = {{"file", kString}, {"variable", kResource}};
  const AttrBytes floats = {{"dtype", TypeAttr(kFloat)}};
  restore.nodes = {Strings("names", "layer/kernel"), Strings("slices", ""),
                   NodeDefBytes("read", "RestoreV2", {"file", "names:output:0", "slices:output:0"},
                                {{"dtypes", TypeListAttr({kFloat})}}),
                   UnaryNode("same", "Identity", {"read:tensors:0"}),
                   NodeDefBytes("assign", "AssignVariableOp", {"variable", "same:output:0"}, floats)};
  restore.control_ret = {{"assign", "assign"}};
  return restore;
}

// y = x * w + w_1, both captured and both called "w" where the model's objects are described. The restore fills a third
// variable, as in what Keras 3 is saved as.
std::string Graph() {
  using namespace graph_bytes;  // NOLINT
  const AttrBytes floats = {{"dtype", TypeAttr(kFloat)}};
  const auto variable = [](const char* name) {
    return NodeDefBytes(name, "VarHandleOp", {},
                        {{"dtype", TypeAttr(kFloat)}, {"shape", ShapeAttr({2})}, {"shared_name", StringAttr(name)}});
  };
  FunctionBytes predict;
  predict.name = "predict";
  predict.args = {{"x", kFloat}, {"w", kResource}, {"w_1", kResource}};
  predict.results = {{"y", kFloat}};
  predict.nodes = {NodeDefBytes("a", "ReadVariableOp", {"w"}, floats),
                   NodeDefBytes("b", "ReadVariableOp", {"w_1"}, floats), UnaryNode("m", "Mul", {"x", "a:value:0"}),
                   UnaryNode("s", "AddV2", {"m:z:0", "b:value:0"})};
  predict.ret = {{"y", "s:z:0"}};
  const std::vector<MessageBytes> nodes = {variable("w"),
                                           variable("w_1"),
                                           variable("Variable"),
                                           variable("by_name"),
                                           PlaceholderNode("x"),
                                           PlaceholderNode("file", kString),
                                           NodeDefBytes("y", "StatefulPartitionedCall", {"x", "w", "w_1"},
                                                        Call("predict", {kFloat, kResource, kResource}, {kFloat})),
                                           NodeDefBytes("restore", "StatefulPartitionedCall", {"file", "Variable"},
                                                        Call("restore_all", {kString, kResource}, {})),
                                           NodeDefBytes("by_name/read", "ReadVariableOp", {"by_name"}, floats)};
  return GraphDefBytes(nodes, LibraryBytes({predict.Message(), RestoreFunction().Message()}));
}

MessageBytes Child(int64_t object, const char* name) { return MessageBytes().Int(1, object).Bytes(2, name); }
MessageBytes Variable(const char* name) { return MessageBytes().Sub(7, MessageBytes().Int(1, 1).Bytes(6, name)); }
MessageBytes Value(const char* key) {
  return MessageBytes().Sub(2, MessageBytes().Bytes(1, "VARIABLE_VALUE").Bytes(3, key));
}

// Objects of the model: 1 is the layer, 2 and 3 its variables, 4 another. Children of the root, 0, come from the
// caller.
std::string SavedObjects(const MessageBytes& root) {
  MessageBytes objects, layer;
  layer.Sub(1, Child(2, "kernel")).Sub(1, Child(3, "bias")).Sub(1, Child(0, "owner"));
  objects.Sub(1, root).Sub(1, layer).Sub(1, Variable("w")).Sub(1, Variable("w")).Sub(1, Variable("by_name"));
  return objects.Entry(2, "predict", MessageBytes().Packed(2, {2, 3})).str();
}

MessageBytes SoundRoot() { return MessageBytes().Sub(1, Child(1, "layer")).Sub(1, Child(4, "named")); }

// The same objects as the checkpoint numbers them.
std::string StoredObjects() {
  MessageBytes objects, root, layer;
  root.Sub(1, Child(4, "named")).Sub(1, Child(2, "layer")).Sub(1, Child(9, "gone"));
  layer.Sub(1, Child(3, "bias")).Sub(1, Child(1, "kernel")).Sub(1, Child(0, "owner"));
  objects.Sub(1, root).Sub(1, Value("layer/kernel")).Sub(1, layer).Sub(1, Value("layer/bias"));
  return objects.Sub(1, Value("named")).str();
}

BundleValues SoundValues() {
  return {{"layer/kernel", Tensor::Vector<float>({2, 3})},
          {"layer/bias", Tensor::Vector<float>({10, 20})},
          {"named", Tensor::Vector<float>({5, 6})},
          {"_CHECKPOINTABLE_OBJECT_GRAPH", Tensor::String(StoredObjects())}};
}

std::string MakeModel(const std::string& objects, const BundleValues& values) {
  const std::string directory =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory + "/variables");
  MessageBytes meta, in, out, call;
  meta.Sub(1, MessageBytes().Bytes(4, "serve")).Bytes(2, Graph());
  meta.Sub(3, MessageBytes().Bytes(1, "file:0").Bytes(2, "file:0").Bytes(3, "restore").Int(7, 2));
  call.Entry(1, "in", in.Bytes(1, "x:0").Int(2, 1)).Entry(2, "out", out.Bytes(1, "y:0").Int(2, 1));
  meta.Entry(5, "serving_default", call).Bytes(7, objects);
  EXPECT_OK(WriteFile(directory + "/saved_model.pb", MessageBytes().Int(1, 1).Sub(2, meta).str()));
  EXPECT_OK(WriteBundle(directory + "/variables/variables", values));
  return directory;
}

const NamedTensors kArgument = {{"in", Tensor::Vector<float>({1, 10})}};

TEST(RestoreByObjectsTest, WhatTheRestoreLeavesOutIsFoundByObjects) {
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), SoundValues())));
  ASSERT_OK_AND_ASSIGN(const NamedTensors out, model.Call("serving_default", kArgument));
  EXPECT_TRUE(AreEqual(out[0].second, Tensor::Vector<float>({12, 50})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> named, model.session->Run({}, {"by_name/read"}, {}));
  EXPECT_TRUE(AreEqual(named[0], Tensor::Vector<float>({5, 6}))) << "no function captures it: its name is unique";
}

TEST(RestoreByObjectsTest, FrozenModelsHaveTheseValues) {
  const std::string directory = MakeModel(SavedObjects(SoundRoot()), SoundValues());
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, LoadGraphFile(directory, LoadOptions()));
  ASSERT_OK_AND_ASSIGN(const FrozenGraph frozen, FreezeModel(model, {"y"}));
  EXPECT_EQ(frozen.variables, 2);
  EXPECT_EQ(frozen.bytes, 16);
  std::filesystem::remove_all(directory + "/variables");
  EXPECT_THAT(FreezeModel(model, {"y"}), IsError(ErrorCode::kUninitialized, "the trained values are missing"));
}

TEST(RestoreByObjectsTest, ASessionIsRestoredOverAndOver) {
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), SoundValues())));
  const size_t num_nodes = model.session->CopyGraph()->num_nodes();
  BundleValues others = SoundValues();
  others["layer/kernel"] = Tensor::Vector<float>({4, 4});
  others["layer/bias"] = Tensor::Vector<float>({1, 1});
  const std::string prefix = ::testing::TempDir() + "/others";
  ASSERT_OK(WriteBundle(prefix, others));
  EXPECT_THAT(RestoreVariables(*model.session, *model.loaded, prefix, {}), IsError(ErrorCode::kPathEscape));
  OpenModelOptions options;
  options.session.files = FileAccess::All();
  ASSERT_OK_AND_ASSIGN(const OpenModel trusted, OpenSavedModel(ModelDirectory(*model.loaded), options));
  ASSERT_OK(RestoreVariables(*trusted.session, *trusted.loaded, prefix, {}));
  ASSERT_OK_AND_ASSIGN(const NamedTensors out, trusted.Call("serving_default", kArgument));
  EXPECT_TRUE(AreEqual(out[0].second, Tensor::Vector<float>({5, 41})));
  EXPECT_EQ(trusted.session->CopyGraph()->num_nodes(), num_nodes);
}

TEST(RestoreByObjectsTest, ValuesThatAreThereAreNotReadAgain) {
  const std::string directory = MakeModel(SavedObjects(SoundRoot()), SoundValues());
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, LoadGraphFile(directory, LoadOptions()));
  const HashMap<std::string, NodeId> restored = RestoredVariables(model.graph, model.graph.Find("restore"));
  ASSERT_EQ(restored.size(), 1u);
  EXPECT_EQ(restored.at("layer/kernel"), model.graph.Find("Variable"));
  EXPECT_TRUE(RestoredVariables(model.graph, model.graph.Find("y")).empty()) << "a function that restores nothing";
  EXPECT_TRUE(RestoredVariables(model.graph, model.graph.Find("x")).empty()) << "not a call";
}

TEST(RestoreByObjectsTest, AValueThatDoesNotFitIsAnError) {
  BundleValues values = SoundValues();
  values["layer/bias"] = Tensor::Vector<int32_t>({10, 20});
  EXPECT_THAT(OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), values)), IsError(ErrorCode::kCheckpointEntry));
  values["layer/bias"] = Tensor::Vector<float>({10, 20, 30});
  EXPECT_THAT(OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), values)), IsError(ErrorCode::kCheckpointEntry));
  values.erase("layer/bias");
  EXPECT_THAT(OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), values)), IsError(ErrorCode::kCheckpointName));
  values = SoundValues();
  values["named"] = Tensor::Vector<float>({5});
  EXPECT_OK(OpenSavedModel(MakeModel(SavedObjects(SoundRoot()), values))) << "a name alone may mean something else";
}

TEST(RestoreByObjectsTest, WhatObjectsDoNotTellOfHasNoValue) {
  std::vector<std::pair<std::string, BundleValues>> models = {
      {"", SoundValues()},
      {"damage", SoundValues()},
      {SavedObjects(MessageBytes()), SoundValues()},
      {SavedObjects(MessageBytes().Sub(1, Child(1, "other"))), SoundValues()},
      {SavedObjects(MessageBytes().Sub(1, Child(-1, "layer"))), SoundValues()},
      {SavedObjects(MessageBytes().Sub(1, Child(77, "layer"))), SoundValues()},
      {SavedObjects(MessageBytes().Sub(1, Child(0, "layer"))), SoundValues()}};
  const Tensor none[] = {Tensor::String(""), Tensor::String("damage"), Tensor::Scalar(1.0f), Tensor::Strings({})};
  for (const Tensor& stored : none) {
    models.emplace_back(SavedObjects(SoundRoot()), SoundValues());
    models.back().second["_CHECKPOINTABLE_OBJECT_GRAPH"] = stored;
  }
  models.emplace_back(SavedObjects(SoundRoot()), SoundValues());
  models.back().second.erase("_CHECKPOINTABLE_OBJECT_GRAPH");
  for (const auto& [objects, values] : models) {
    ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel(objects, values)));
    EXPECT_THAT(model.Call("serving_default", kArgument), IsError(ErrorCode::kUninitialized));
  }
}

TEST(ObjectGraphTest, CirclesAndManyWaysEnd) {
  // Each of 2,000 objects has the same 100 children, the root among them, and there are 100,000 more.
  MessageBytes object, saved;
  for (int i = 0; i < 100; ++i) object.Sub(1, Child(i * 20, ("c" + std::to_string(i)).c_str()));
  for (int i = 0; i < 2000; ++i) saved.Sub(1, object);
  for (int i = 0; i < 100000; ++i) saved.Sub(1, MessageBytes());
  const ObjectGraph objects(saved.str(), saved.str());
  EXPECT_EQ(objects.KeyOf(20), "");
  EXPECT_EQ(objects.KeyOf(-1), "");
  EXPECT_EQ(objects.KeyOf(200000), "");
  EXPECT_EQ(objects.VariableCalled("w"), ObjectGraph::kNone);
  EXPECT_TRUE(objects.CapturesOf("f").empty());
}

TEST(ObjectGraphTest, NamesOfChildrenTellWhichObjectsAreTheSame) {
  const std::string saved = SavedObjects(SoundRoot()), stored = StoredObjects();
  const ObjectGraph objects(saved, stored);
  EXPECT_EQ(objects.KeyOf(0), "");
  EXPECT_EQ(objects.KeyOf(2), "layer/kernel");
  EXPECT_EQ(objects.KeyOf(3), "layer/bias");
  EXPECT_EQ(objects.VariableCalled("by_name"), 4);
  EXPECT_EQ(objects.VariableCalled("w"), ObjectGraph::kNone) << "two have it";
  EXPECT_THAT(objects.CapturesOf("predict"), ::testing::ElementsAre(2, 3));
}

}  // namespace
}  // namespace sluice

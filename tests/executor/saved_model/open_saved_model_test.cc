#include "executor/saved_model/open_saved_model.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "executor/saved_model/model_state.h"
#include "graph/base/file.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::MessageBytes;

// y = x * v, where the checkpoint holds v; the init op keeps the content of an asset in the variable 'word'.
std::string Graph() {
  GraphBuilder b(NewOpRegistry());
  const auto variable = [&b](const char* name, DType dtype) {
    return b.Op("VarHandleOp", name, {}, {{"dtype", dtype}, {"shape", PartialShape()}, {"shared_name", name}});
  };
  const Output v = variable("v", DType::kFloat), word = variable("word", DType::kString);
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1}));
  b.Op("Mul", "y", {x, b.Op("ReadVariableOp", "v/read", {v}, {{"dtype", DType::kFloat}})});
  b.Op("ReadVariableOp", "word/read", {word}, {{"dtype", DType::kString}});
  const Output asset = b.Const("asset", Tensor::String("not fed"));
  b.Op("AssignVariableOp", "init", {word, b.Op("ReadFile", "content", {asset})}, {{"dtype", DType::kString}});
  const Output file = b.Placeholder("file", DType::kString, PartialShape::Scalar());
  const Output names = b.Const("names", Tensor::Strings({"v"})), slices = b.Const("slices", Tensor::Strings({""}));
  const GraphBuilder::Attrs floats = {{"dtypes", std::vector<DType>{DType::kFloat}}};
  b.Op("AssignVariableOp", "restore", {v, b.Op("RestoreV2", "read", {file, names, slices}, floats)},
       {{"dtype", DType::kFloat}});
  const Output value = b.Op("ReadVariableOp", "v/save", {v}, {{"dtype", DType::kFloat}});
  b.AddControl(b.Op("Identity", "saved", {file}), b.Op("SaveV2", "save", {file, names, slices, value}, floats));
  EXPECT_OK(b.status());
  return ExportGraph(*b.Build());
}

// Writes the model, with `asset` as the name of its asset's file; its directory.
std::string MakeModel(const std::string& asset) {
  const std::string directory =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory + "/variables");
  std::filesystem::create_directories(directory + "/assets");
  MessageBytes meta, in, out, call, op, init;
  meta.Sub(1, MessageBytes().Bytes(4, "serve")).Bytes(2, Graph());
  meta.Sub(3, MessageBytes().Bytes(1, "file:0").Bytes(2, "saved:0").Bytes(3, "restore").Int(7, 2));
  call.Entry(1, "in", in.Bytes(1, "x:0").Int(2, 1)).Entry(2, "out", out.Bytes(1, "y:0").Int(2, 1));
  meta.Entry(5, "serving_default", call);
  MessageBytes echo, same;
  meta.Entry(5, "echo", echo.Entry(1, "in", in).Entry(2, "out", out).Entry(2, "same", same.Bytes(1, "x").Int(2, 1)));
  meta.Entry(5, "__saved_model_init_op", init.Entry(2, "__saved_model_init_op", op.Bytes(1, "init")));
  meta.Sub(6, MessageBytes().Sub(1, MessageBytes().Bytes(1, "asset:0")).Bytes(2, asset));
  EXPECT_OK(WriteFile(directory + "/saved_model.pb", MessageBytes().Int(1, 1).Sub(2, meta).str()));
  EXPECT_OK(WriteFile(directory + "/assets/word.txt", "hello"));
  EXPECT_OK(WriteBundle(directory + "/variables/variables", {{"v", Tensor::Vector<float>({2, 3})}}));
  return directory;
}

TEST(OpenSavedModelTest, OneCallMakesAModelReady) {
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel("word.txt")));
  ASSERT_OK_AND_ASSIGN(const NamedTensors results,
                       model.Call("serving_default", {{"in", Tensor::Vector<float>({10, 100})}}));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].first, "out");
  EXPECT_TRUE(AreEqual(results[0].second, Tensor::Vector<float>({20, 300})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> word, model.session->Run({}, {"word/read"}, {}));
  EXPECT_TRUE(AreEqual(word[0], Tensor::String("hello"))) << "the init op has read the asset";
}

TEST(OpenSavedModelTest, WhatTheSignatureDoesNotHaveIsNamed) {
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel("word.txt")));
  EXPECT_THAT(model.Call("train", {}), IsError(ErrorCode::kSavedModelSignatureUnknown, "'train'"));
  EXPECT_THAT(model.Call("serving_default", {{"x", Tensor::Scalar(1.0f)}}), IsError(ErrorCode::kFeedUnknown, "'x'"));
}

TEST(OpenSavedModelTest, AnArgumentMayBeAResult) {
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(MakeModel("word.txt")));
  ASSERT_OK_AND_ASSIGN(const NamedTensors results, model.Call("echo", {{"in", Tensor::Vector<float>({10, 100})}}));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(AreEqual(results[0].second, Tensor::Vector<float>({20, 300})));
  EXPECT_EQ(results[1].first, "same");
  EXPECT_TRUE(AreEqual(results[1].second, Tensor::Vector<float>({10, 100})));
}

TEST(OpenSavedModelTest, AssetsOutsideOfTheModelAreRefused) {
  for (const char* asset : {"../assets/word.txt", "/etc/hostname", "a/../../word.txt", ""}) {
    EXPECT_THAT(OpenSavedModel(MakeModel(asset)), IsError(ErrorCode::kPathEscape)) << asset;
  }
  EXPECT_THAT(OpenSavedModel(MakeModel("missing.txt")), StatusIs(absl::StatusCode::kNotFound));
}

TEST(OpenSavedModelTest, AModelWhoseCheckpointIsNotWholeDoesNotOpen) {
  const std::string directory = MakeModel("word.txt");
  ASSERT_OK(WriteFile(directory + "/variables/variables.data-00000-of-00001", "1234567"));
  EXPECT_THAT(OpenSavedModel(directory), StatusIs(absl::StatusCode::kOutOfRange));
  ASSERT_OK(WriteFile(directory + "/variables/variables.data-00000-of-00001", "12345678"));
  EXPECT_THAT(OpenSavedModel(directory), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(OpenSavedModel(directory + "/nowhere"), IsError(ErrorCode::kSavedModelMissing));
}

TEST(OpenSavedModelTest, AFolderWithoutACheckpointHoldsNoValues) {
  const std::string directory = MakeModel("word.txt");
  std::filesystem::remove_all(directory + "/variables");
  std::filesystem::create_directories(directory + "/variables");
  ASSERT_OK(WriteFile(directory + "/variables/.keep", ""));
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(directory));
  EXPECT_OK(model.session->Run({}, {"word/read"}, {}).status());
  EXPECT_FALSE(model.Call("serving_default", {{"in", Tensor::Vector<float>({1})}}).ok());
}

TEST(OpenSavedModelTest, TrainedValuesStandBesideAMetaGraphInBothForms) {
  const std::string directory = MakeModel("word.txt");
  LoadedGraph model;
  model.format = GraphFormat::kMetaGraph;
  model.source = directory + "/model.meta";
  EXPECT_EQ(TrainedValuesPrefix(model), "");
  ASSERT_OK(WriteFile(directory + "/model", "the first form"));
  EXPECT_EQ(TrainedValuesPrefix(model), directory + "/model");
  std::filesystem::rename(directory + "/model", directory + "/model.index");
  EXPECT_EQ(TrainedValuesPrefix(model), directory + "/model");
}

TEST(OpenSavedModelTest, OtherFilesAreTheHostsToGrant) {
  const std::string directory = MakeModel("word.txt");
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(directory));
  const auto content = [](const OpenModel& open, const std::string& file) {
    return open.session->Run({{"asset", Tensor::String(file)}}, {"content"}, {}).status();
  };
  EXPECT_OK(content(model, directory + "/assets/word.txt"));
  EXPECT_THAT(content(model, "/etc/hostname"), IsError(ErrorCode::kPathEscape, "ReadFile 'content'"));
  EXPECT_THAT(SaveVariables(*model.session, *model.loaded, directory + "/new", CallOptions()),
              StatusIs(absl::StatusCode::kPermissionDenied, "SaveV2 'save'"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/checkpoint"));
  OpenModelOptions options;
  options.session.files = FileAccess::All();
  ASSERT_OK_AND_ASSIGN(const OpenModel trusted, OpenSavedModel(directory, options));
  EXPECT_OK(content(trusted, "/etc/hostname"));
}

TEST(OpenSavedModelTest, VariablesAreSavedAndTheNewestIsKnown) {
  const std::string directory = MakeModel("word.txt");
  OpenModelOptions options;
  options.session.files.Write(directory);
  ASSERT_OK_AND_ASSIGN(const OpenModel model, OpenSavedModel(directory, options));
  EXPECT_THAT(CheckpointPrefix(directory), IsError(ErrorCode::kCheckpointMissing));
  for (int i = 0; i < 7; ++i) {
    const std::string prefix = directory + "/model \"" + std::to_string(i);
    ASSERT_OK(SaveVariables(*model.session, *model.loaded, prefix, CallOptions()));
    ASSERT_OK_AND_ASSIGN(const std::string newest, CheckpointPrefix(directory));
    EXPECT_EQ(newest, prefix);
    EXPECT_OK(RestoreVariables(*model.session, *model.loaded, directory, CallOptions()));
  }
  EXPECT_EQ(*CheckpointPrefix(directory + "/model"), directory + "/model");
}

}  // namespace
}  // namespace sluice

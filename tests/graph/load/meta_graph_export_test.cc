#include "graph/load/meta_graph_export.h"

#include <memory>
#include <string>

#include "graph/ir/builder.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Graph OneRelu() {
  GraphBuilder b(NewOpRegistry());
  b.Op("Relu", "y", {b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 3}))});
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

LoadOptions Unchecked() {
  LoadOptions options;
  options.check_meta_graph = false;
  return options;
}

TEST(MetaGraphExportTest, WhatIsWrittenIsRead) {
  MetaGraphInfo info;
  info.tags = {"serve", "gpu"};
  info.tensorflow_version = "2.19.1";
  info.saver = SaverInfo{"save/Const:0", "save/done:0", "save/restore_all", false, 2};
  info.assets = {{"path:0", "words.txt"}};
  ModelSignature signature;
  signature.key = "serving_default";
  signature.method_name = "predict";
  signature.inputs = {{"in", "x:0", DType::kFloat, PartialShape::Of({-1, 3}), {}}};
  signature.outputs = {{"out", "y:0", DType::kFloat, PartialShape(), {}}};
  info.signatures = {signature};
  ModelCollection nodes, bytes;
  nodes.key = "a";
  nodes.kind = ModelCollection::Kind::kNodes;
  nodes.items = {"x:0", "y:0"};
  bytes.key = "b";
  bytes.kind = ModelCollection::Kind::kBytes;
  bytes.items = {std::string("\0\1", 2)};
  info.collections = {nodes, bytes};

  const std::string file = ExportSavedModel(ExportMetaGraph(OneRelu(), info));
  ASSERT_OK_AND_ASSIGN(const LoadedGraph read,
                       LoadGraphBytes(file, std::make_shared<std::string>(file), "m.pb", Unchecked()));
  EXPECT_TRUE(IsSavedModel(read.format));
  EXPECT_EQ(read.graph.num_nodes(), 2);
  EXPECT_EQ(read.meta.tags, info.tags);
  EXPECT_EQ(read.meta.tensorflow_version, "2.19.1");
  EXPECT_EQ(read.meta.saver->filename_tensor, "save/Const:0");
  EXPECT_EQ(read.meta.saver->save_tensor, "save/done:0");
  EXPECT_EQ(read.meta.saver->restore_op, "save/restore_all");
  EXPECT_EQ(read.meta.saver->version, 2);
  EXPECT_EQ(read.meta.assets.at(0).filename, "words.txt");
  const ModelSignature* const found = read.meta.FindSignature("serving_default");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->method_name, "predict");
  EXPECT_EQ(found->inputs.at(0).name, "x:0");
  EXPECT_EQ(found->inputs.at(0).dtype, DType::kFloat);
  EXPECT_EQ(found->inputs.at(0).shape.ToString(), "[?,3]");
  EXPECT_FALSE(found->outputs.at(0).shape.has_rank());
  EXPECT_EQ(read.meta.FindCollection("a")->items, nodes.items);
  EXPECT_EQ(read.meta.FindCollection("b")->items, bytes.items);
}

TEST(MetaGraphExportTest, FactsOfVariables) {
  const VariableFacts facts = {"w:0", "w/Assign", "w/initial:0", "w/read:0", true, true};
  const VariableFacts read = DecodeVariableFacts(EncodeVariableFacts(facts));
  EXPECT_EQ(read.variable, "w:0");
  EXPECT_EQ(read.initializer, "w/Assign");
  EXPECT_EQ(read.initial_value, "w/initial:0");
  EXPECT_EQ(read.snapshot, "w/read:0");
  EXPECT_TRUE(read.is_resource);
  EXPECT_TRUE(read.is_trainable);
  EXPECT_EQ(DecodeVariableFacts("\xff\xff").variable, "") << "damaged bytes say nothing";
}

}  // namespace
}  // namespace sluice

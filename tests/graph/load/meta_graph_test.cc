#include "graph/load/meta_graph.h"

#include <memory>
#include <string>

#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/proto/saved_model.pb.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

proto::MetaGraphDef SampleMetaGraph() {
  proto::MetaGraphDef def;
  def.mutable_meta_info_def()->add_tags("serve");
  def.mutable_meta_info_def()->set_tensorflow_version("2.19.1");
  auto& signature = (*def.mutable_signature_def())["serving_default"];
  auto& input = (*signature.mutable_inputs())["b"];
  input.set_name("x:0");
  input.set_dtype(proto::DT_FLOAT);
  input.mutable_tensor_shape()->add_dim()->set_size(-1);
  (*signature.mutable_outputs())["y"].set_name("y:0");
  auto& init = (*def.mutable_signature_def())["__saved_model_init_op"];
  (*init.mutable_outputs())["__saved_model_init_op"].set_name("init");
  (*def.mutable_collection_def())["legacy_init_op"].mutable_node_list()->add_value("old");
  def.mutable_saver_def()->set_restore_op_name("restore");
  def.add_asset_file_def()->set_filename("vocab.txt");
  def.mutable_graph_def()->add_node()->set_name("x");
  return def;
}

Graph SampleGraph() {
  GraphBuilder builder(NewOpRegistry());
  const sluice::Output x = builder.Placeholder("x", DType::kFloat);
  builder.Op("Relu", "y", {x});
  builder.Op("NoOp", "init");
  absl::StatusOr<Graph> graph = builder.Build();
  return *std::move(graph);
}

TEST(ReadMetaGraphTest, FindsTheGraphAndWhatStandsAroundIt) {
  const std::string bytes = SampleMetaGraph().SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const MetaGraphParts parts, ReadMetaGraph(bytes, 100));
  EXPECT_EQ(parts.num_graph_defs, 1);
  EXPECT_EQ(parts.graph_def, SampleMetaGraph().graph_def().SerializeAsString());
  EXPECT_EQ(parts.graph_offset, 100 + (parts.graph_def.data() - bytes.data()));
  EXPECT_EQ(parts.info.tensorflow_version, "2.19.1");
  ASSERT_EQ(parts.info.tags.size(), 1u);
  EXPECT_EQ(parts.info.assets.at(0).filename, "vocab.txt");
  EXPECT_EQ(parts.info.saver->restore_op, "restore");
}

TEST(ReadMetaGraphTest, SignaturesKeepDtypesAndShapes) {
  ASSERT_OK_AND_ASSIGN(const MetaGraphParts parts, ReadMetaGraph(SampleMetaGraph().SerializeAsString(), 0));
  const ModelSignature* signature = parts.info.FindSignature("serving_default");
  ASSERT_NE(signature, nullptr);
  EXPECT_EQ(signature->inputs.at(0).key, "b");
  EXPECT_EQ(signature->inputs.at(0).dtype, DType::kFloat);
  EXPECT_EQ(signature->inputs.at(0).shape, PartialShape::Of({-1}));
  EXPECT_FALSE(signature->outputs.at(0).shape.has_rank());
  EXPECT_EQ(parts.info.FindSignature("nope"), nullptr);
}

TEST(ReadMetaGraphTest, TheInitSignatureComesBeforeCollections) {
  proto::MetaGraphDef def = SampleMetaGraph();
  ASSERT_OK_AND_ASSIGN(const MetaGraphParts with_signature, ReadMetaGraph(def.SerializeAsString(), 0));
  EXPECT_EQ(with_signature.info.init_ops, std::vector<std::string>{"init"});
  def.mutable_signature_def()->erase("__saved_model_init_op");
  ASSERT_OK_AND_ASSIGN(const MetaGraphParts without, ReadMetaGraph(def.SerializeAsString(), 0));
  EXPECT_EQ(without.info.init_ops, std::vector<std::string>{"old"});
}

TEST(ReadMetaGraphTest, SeveralGraphFieldsAreJoinedAsProtobufMergesThem) {
  proto::MetaGraphDef second;
  second.mutable_graph_def()->add_node()->set_name("z");
  const std::string bytes = SampleMetaGraph().SerializeAsString() + second.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const MetaGraphParts parts, ReadMetaGraph(bytes, 0));
  proto::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(parts.joined_graph_def));
  EXPECT_EQ(graph.node_size(), 2);
}

TEST(ReadMetaGraphTest, DamagedBytesAreErrors) {
  const std::string bytes = SampleMetaGraph().SerializeAsString();
  EXPECT_THAT(ReadMetaGraph(bytes.substr(0, bytes.size() - 1), 0), IsError(ErrorCode::kFileTruncated));
}

TEST(CheckMetaGraphTest, AcceptsWhatIsThere) {
  MetaGraphInfo info;
  info.signatures = {{"s", "", {{"x", "x:0", DType::kFloat, {}, {}}}, {{"y", "y:0", DType::kInvalid, {}, {}}}}};
  info.init_ops = {"init"};
  EXPECT_OK(CheckMetaGraph(SampleGraph(), info));
}

TEST(CheckMetaGraphTest, MissingTensorsAreNamedAllAtOnce) {
  MetaGraphInfo info;
  info.signatures = {{"s", "", {{"x", "nope:0", DType::kFloat, {}, {}}}, {{"y", "y:3", DType::kFloat, {}, {}}}}};
  const absl::Status status = CheckMetaGraph(SampleGraph(), info);
  EXPECT_THAT(status, IsError(ErrorCode::kSavedModelSignature, "signature 's', input 'x': no node 'nope'"));
  EXPECT_EQ(AllErrors(status).size(), 2u);
}

TEST(CheckMetaGraphTest, ADtypeThatDiffersIsAnError) {
  MetaGraphInfo info;
  info.signatures = {{"s", "", {{"x", "x:0", DType::kInt32, {}, {}}}, {}}};
  EXPECT_THAT(CheckMetaGraph(SampleGraph(), info),
              IsError(ErrorCode::kSavedModelSignature, "found float32, expected int32"));
}

TEST(CheckMetaGraphTest, TwoInitOpsAreAnError) {
  MetaGraphInfo info;
  info.init_ops = {"init", "y"};
  EXPECT_THAT(CheckMetaGraph(SampleGraph(), info), IsError(ErrorCode::kSavedModelSignature, "2 init ops"));
}

}  // namespace
}  // namespace sluice

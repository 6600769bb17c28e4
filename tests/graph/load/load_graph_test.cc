#include "graph/load/load_graph.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/stop_poll.h"
#include "graph/functions/inliner.h"
#include "graph/functions/instantiate.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/load/text_export.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using graph_bytes::GraphDefBytes;
using graph_bytes::MessageBytes;
using graph_bytes::PlaceholderNode;
using graph_bytes::ScalarNode;
using graph_bytes::UnaryNode;

std::string SampleGraphDef() { return GraphDefBytes({PlaceholderNode("x"), UnaryNode("y", "Relu", {"x"})}); }

// A meta graph under `tag` whose graph has one node called `node`.
MessageBytes MetaGraph(absl::string_view tag, absl::string_view node) {
  return MessageBytes().Sub(1, MessageBytes().Bytes(4, tag)).Bytes(2, GraphDefBytes({ScalarNode(node)}));
}

std::string SavedModelBytes(const std::vector<MessageBytes>& graphs) {
  MessageBytes model;
  model.Int(1, 1);
  for (const MessageBytes& graph : graphs) model.Sub(2, graph);
  return model.str();
}

absl::StatusOr<LoadedGraph> Load(absl::string_view bytes, const LoadOptions& options = {},
                                 const std::string& name = "model") {
  return LoadGraphBytes(bytes, nullptr, name, options);
}

std::string TempFile(const std::string& name) { return absl::StrCat(::testing::TempDir(), "/", name); }

TEST(LoadGraphTest, BinaryGraphDef) {
  const std::string bytes = SampleGraphDef();
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(bytes));
  EXPECT_EQ(model.format, GraphFormat::kGraphDef);
  EXPECT_EQ(model.graph.num_nodes(), 2u);
  EXPECT_EQ(model.source_bytes, static_cast<int64_t>(bytes.size()));
  ASSERT_TRUE(model.shapes.has_value());
}

TEST(LoadGraphTest, StopsAtADeadlineAndWhenItIsCancelled) {
  CancellationManager manager;
  StopPoll none(absl::InfiniteFuture(), &manager);
  LoadOptions options;
  options.stop = &none;
  EXPECT_OK(Load(SampleGraphDef(), options));
  StopPoll late(absl::Now() - absl::Seconds(1), nullptr);
  options.stop = &late;
  EXPECT_THAT(Load(SampleGraphDef(), options), IsError(ErrorCode::kDeadline));
  manager.StartCancelWithStatus(absl::CancelledError("no longer wanted"));
  StopPoll cancelled(absl::InfiniteFuture(), &manager);
  options.stop = &cancelled;
  EXPECT_EQ(Load(SampleGraphDef(), options).status().code(), absl::StatusCode::kCancelled);
}

// The import itself, not only what follows it; and the graph is as before.
TEST(LoadGraphTest, AnImportThatIsStoppedLeavesTheGraph) {
  ASSERT_OK_AND_ASSIGN(LoadedGraph model, Load(SampleGraphDef()));
  StopPoll late(absl::Now() - absl::Seconds(1), nullptr);
  ImportOptions options;
  options.ops = model.graph.ops();
  options.prefix = "more";
  options.stop = &late;
  const std::string more = GraphDefBytes({PlaceholderNode("a"), UnaryNode("b", "Relu", {"a"})});
  EXPECT_THAT(ImportInto(model.graph, GraphSource::Copy(more), options).status(), IsError(ErrorCode::kDeadline));
  EXPECT_EQ(model.graph.num_nodes(), 2u);
  options.stop = nullptr;
  EXPECT_OK(ImportInto(model.graph, GraphSource::Copy(more), options));
  EXPECT_EQ(model.graph.num_nodes(), 4u);
}

TEST(LoadGraphTest, TextGivesTheSameGraphAsBinary) {
  const std::string bytes = SampleGraphDef();
  ASSERT_OK_AND_ASSIGN(const GraphText text, GraphDefToText(bytes));
  ASSERT_OK_AND_ASSIGN(const LoadedGraph from_text, Load(text.text));
  ASSERT_OK_AND_ASSIGN(const LoadedGraph from_binary, Load(bytes));
  EXPECT_EQ(from_text.format, GraphFormat::kGraphDefText);
  std::string why;
  EXPECT_TRUE(GraphsEqual(from_text.graph, from_binary.graph, &why)) << why;
}

TEST(LoadGraphTest, ErrorsInTextNameLineAndColumnOfTheNode) {
  const absl::Status status = Load("node { name: 'a' op: 'NoOp' }\n  node { name: 'b' op: 'Nope' }\n").status();
  ASSERT_THAT(status, IsError(ErrorCode::kOpUnknown));
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  EXPECT_EQ(info->node, "b");
  EXPECT_EQ(info->line, 2);
  EXPECT_EQ(info->column, 3);
  EXPECT_EQ(info->byte_begin, -1) << "bytes of what the text was turned into say nothing";
  EXPECT_EQ(info->file, "model");
}

TEST(LoadGraphTest, TextThatIsNotUtf8HasItsLine) {
  const absl::Status status =
      Load("node { name: 'a' op: 'NoOp' }\nnode { name: 'b' op: 'NoOp' device: '\\377' }\n").status();
  ASSERT_THAT(status, IsError(ErrorCode::kFileWire, "NodeDef.device is not UTF-8"));
  EXPECT_EQ(ErrorInfoOf(status)->node, "b");
  EXPECT_EQ(ErrorInfoOf(status)->line, 2);
}

TEST(LoadGraphTest, ErrorsInAMetaGraphCountBytesFromTheStartOfTheFile) {
  const std::string graph = GraphDefBytes({UnaryNode("y", "Relu", {"missing"})});
  const std::string bytes = MessageBytes().Sub(1, MessageBytes().Bytes(4, "serve")).Bytes(2, graph).str();
  const absl::Status status = Load(bytes).status();
  ASSERT_THAT(status, IsError(ErrorCode::kInputUnknown));
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  EXPECT_EQ(info->byte_begin, static_cast<int64_t>(bytes.find("\x0a\x01y")));
}

TEST(LoadGraphTest, ErrorsFoundAfterLoadingKnowTheirLineInTheText) {
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model,
                       Load("node { name: 'a' op: 'NoOp' }\n  node { name: 'b' op: 'NoOp' }\n"));
  const absl::Status late = Error(ErrorCode::kOpValue).Text("does not work");
  const Graph copy = model.graph;
  const std::optional<ErrorInfo> info = ErrorInfoOf(copy.Locate(copy.Find("b"), late));
  EXPECT_EQ(info->node, "b");
  EXPECT_EQ(info->node_index, 1);
  EXPECT_EQ(info->line, 2);
  EXPECT_EQ(info->column, 3);
  EXPECT_EQ(info->byte_begin, -1) << "bytes of what the text was turned into say nothing";
  EXPECT_EQ(info->file, "model");
}

constexpr absl::string_view kFunctionText = R"(node {
  name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
node { name: 'call' op: 'F' input: 'x' }
library { function {
  signature { name: 'F' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } }
  node_def { name: 'twice' op: 'AddV2' input: 'a' input: 'a'
    attr { key: 'T' value { type: DT_FLOAT } } }
  ret { key: 'r' value: 'twice:z:0' } } })";

TEST(LoadGraphTest, NodesOfExpandedFunctionsKnowTheirLineInTheText) {
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(kFunctionText));
  ASSERT_OK_AND_ASSIGN(const FunctionGraph body, InstantiateFunction(model.graph, "F", {}, /*prune=*/false));
  const absl::Status late = Error(ErrorCode::kOpValue).Text("does not work");
  const std::optional<ErrorInfo> in_body = ErrorInfoOf(body.graph.Locate(body.graph.Find("twice"), late));
  EXPECT_EQ(in_body->line, 6);
  EXPECT_EQ(in_body->column, 3);
  EXPECT_EQ(in_body->byte_begin, -1);
  EXPECT_EQ(in_body->node_index, -1) << "the node is not one of the graph's";
  Graph inlined = model.graph;
  ASSERT_OK(InlineFunctionCalls(inlined, InlineOptions()).status());
  const std::optional<ErrorInfo> in_graph = ErrorInfoOf(inlined.Locate(inlined.Find("call/twice"), late));
  EXPECT_EQ(in_graph->line, 6);
}

TEST(LoadGraphTest, BodiesTellTheShapesOfCallsWhereAskedTo) {
  const std::string text = absl::StrReplaceAll(kFunctionText, {{"'x' op: 'Placeholder'",
                                                                "'x' op: 'Placeholder' attr { key: 'shape' value { "
                                                                "shape { dim { size: 3 } } } }"}});
  for (const bool asks : {false, true}) {
    LoadOptions options;
    options.shapes_of_calls = asks;
    ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(text, options));
    EXPECT_EQ(model.shapes->shape({model.graph.Find("call"), 0}).ToString(), asks ? "[3]" : "?");
  }
}

TEST(LoadGraphTest, ErrorsInFunctionBodiesNameTheirLineInTheText) {
  const std::string text = absl::StrReplaceAll(kFunctionText, {{"input: 'a' input: 'a'", "input: 'a' input: 'nix'"}});
  ASSERT_OK_AND_ASSIGN(const LoadedGraph odd_node, Load(text));
  const absl::Status of_node = odd_node.deferred;
  ASSERT_THAT(of_node, IsError(ErrorCode::kFunctionBody));
  EXPECT_EQ(ErrorInfoOf(of_node)->line, 6);
  EXPECT_EQ(ErrorInfoOf(of_node)->byte_begin, -1);
  LoadOptions options;
  options.refuse_deferred = true;
  const std::string odd_result = absl::StrReplaceAll(kFunctionText, {{"twice:z:0", "nix:z:0"}});
  const absl::Status of_result = Load(odd_result, options).status();
  ASSERT_THAT(of_result, IsError(ErrorCode::kFunctionRet));
  EXPECT_EQ(ErrorInfoOf(of_result)->line, 4) << "what is wrong with the results is wrong with the function";
}

TEST(LoadGraphTest, ErrorsFoundLaterInAMetaGraphCountBytesFromTheStartOfTheFile) {
  const std::string bytes = MetaGraph("serve", "a").str();
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(bytes));
  const absl::Status late = Error(ErrorCode::kOpValue).Text("does not work");
  const std::optional<ErrorInfo> info = ErrorInfoOf(model.graph.Locate(model.graph.Find("a"), late));
  EXPECT_EQ(info->byte_begin, static_cast<int64_t>(bytes.find("\x0a\x01"
                                                              "a")));
}

TEST(LoadGraphTest, ForeignFilesAreNamed) {
  const absl::Status status = Load("\x89PNG\r\n\x1a\n0000", {}, "cat.png").status();
  ASSERT_THAT(status, IsError(ErrorCode::kFileNotGraph, "a PNG image"));
  EXPECT_EQ(ErrorInfoOf(status)->file, "cat.png");
}

TEST(LoadGraphTest, FilesThatOnlyTheirNameTellsAreNamedToo) {
  EXPECT_THAT(Load(std::string("\x07\x00\x01garbage", 10), {}, "net.tflite"),
              IsError(ErrorCode::kFileNotGraph, "a TFLite model"));
  EXPECT_THAT(Load("import os\nprint(os.name)\n", {}, "export.py"), IsError(ErrorCode::kFileNotGraph, "a text"));
  EXPECT_THAT(Load(std::string("\x07\x00\x01garbage", 10), {}, "net.pb"), IsError(ErrorCode::kFileWire));
}

TEST(LoadGraphTest, MissingFilesAndDirectoriesSayWhatMayBeMeant) {
  const std::string above = TempFile("exports"), below = above + "/1700000000";
  std::filesystem::create_directories(below);
  ASSERT_OK(WriteFile(below + "/saved_model.pb", SavedModelBytes({MetaGraph("serve", "a")})));
  const absl::Status status = LoadGraphFile(above, {}).status();
  ASSERT_THAT(status, IsError(ErrorCode::kSavedModelMissing));
  EXPECT_EQ(ErrorInfoOf(status)->suggestion, absl::StrCat("did you mean '", below, "'?"));
  ASSERT_OK(WriteFile(above + "/model.ckpt-7.index", "x"));
  const absl::Status prefix = LoadGraphFile(above + "/model.ckpt-7", {}).status();
  ASSERT_THAT(prefix, IsError(ErrorCode::kFileMissing));
  EXPECT_THAT(ErrorInfoOf(prefix)->suggestion, ::testing::HasSubstr("the prefix of a checkpoint"));
  ASSERT_OK(WriteFile(above + "/model.ckpt-7.meta", "x"));
  EXPECT_THAT(ErrorInfoOf(LoadGraphFile(above + "/model.ckpt-7", {}).status())->suggestion,
              ::testing::HasSubstr("model.ckpt-7.meta"));
}

TEST(LoadGraphTest, UnsoundGraphsCanBeLoadedToBeLookedAt) {
  const std::string text = R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'odd' op: 'MyCustomOp' input: 'x' input: 'gone' input: '^x' }
    node { name: 'y' op: 'Relu' input: 'odd:2' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'bare' op: 'Relu' input: 'x' }
    node { name: 'arg' op: '_Arg' attr { key: 'T' value { type: DT_INT32 } } attr { key: 'index' value { i: 0 } } }
    node { name: 'bad' op: 'Relu' input: 'x' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'bad' op: 'NoOp' })";
  EXPECT_FALSE(Load(text).ok());
  LoadOptions options;
  options.keep_unsound = true;
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(text, options));
  const Graph& graph = model.graph;
  EXPECT_EQ(graph.num_nodes(), 6u);
  const NodeId odd = graph.Find("odd");
  EXPECT_EQ(graph.op_name(odd), "MyCustomOp");
  ASSERT_EQ(graph.inputs(odd).size(), 1u);
  EXPECT_EQ(graph.controls(odd).size(), 1u);
  EXPECT_EQ(graph.num_outputs(odd), 3);
  EXPECT_EQ(graph.output_type(odd, 2), DType::kInvalid);
  EXPECT_EQ(graph.OutputName(graph.inputs(graph.Find("y"))[0]), "odd:2");
  EXPECT_EQ(graph.output_type(graph.Find("arg"), 0), DType::kInt32);
  EXPECT_EQ(graph.inputs(graph.Find("bad")).size(), 2u);
  std::set<std::string> at_fault;
  for (const absl::Status& error : AllErrors(model.unsound)) at_fault.insert(ErrorInfoOf(error)->node);
  EXPECT_EQ(at_fault, (std::set<std::string>{"odd", "bare", "bad"}));
  EXPECT_THAT(model.deferred, IsError(ErrorCode::kOpInternal, "_Arg 'arg'"));
  EXPECT_FALSE(model.shapes.has_value()) << "types of known ops are wrong";
}

TEST(LoadGraphTest, UnknownOpsDoNotHideTheShapesOfOthers) {
  const std::string text = R"(
    node { name: 'odd' op: 'MyCustomOp' }
    node { name: 'k' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor {
      dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 } } } }
    node { name: 'y' op: 'AddV2' input: 'k' input: 'odd' attr { key: 'T' value { type: DT_FLOAT } } })";
  LoadOptions options;
  options.keep_unsound = true;
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(text, options));
  ASSERT_TRUE(model.shapes.has_value());
  EXPECT_EQ(model.shapes->shape({model.graph.Find("k"), 0}).ToString(), "[3]");
  EXPECT_THAT(model.unsound, IsError(ErrorCode::kOpUnknown));
}

TEST(LoadGraphTest, AllErrorsAreKeptWhenAskedFor) {
  std::string text;
  for (int i = 0; i < 437; ++i) absl::StrAppend(&text, "node { name: 'n", i, "' op: 'Relu' }\n");
  EXPECT_EQ(AllErrors(Load(text).status()).size(), 50u);
  LoadOptions options;
  options.limits.max_kept_errors = 1000;
  const absl::Status status = Load(text, options).status();
  EXPECT_EQ(AllErrors(status).size(), 437u);
  EXPECT_EQ(ErrorInfoOf(AllErrors(status)[436])->line, 437);
}

TEST(LoadGraphTest, SignaturesCanBeLeftToTheirUsers) {
  const std::string text = R"(meta_info_def { tags: 'serve' } graph_def { node { name: 'x' op: 'Placeholder'
      attr { key: 'dtype' value { type: DT_FLOAT } } } }
    signature_def { key: 'good' value { inputs { key: 'a' value { name: 'x:0' dtype: DT_FLOAT } } } }
    signature_def { key: 'wrong' value { inputs { key: 'a' value { name: 'x:0' dtype: DT_INT32 } } } })";
  ASSERT_OK_AND_ASSIGN(const LoadedGraph checked, Load(text));
  EXPECT_THAT(checked.deferred, IsError(ErrorCode::kSavedModelSignature, "signature 'wrong'"));
  LoadOptions options;
  options.check_signatures = false;
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(text, options));
  EXPECT_THAT(model.deferred, IsOk());
  EXPECT_THAT(CheckSignature(model.graph, *model.meta.FindSignature("good")), IsOk());
  EXPECT_THAT(CheckSignature(model.graph, *model.meta.FindSignature("wrong")),
              IsError(ErrorCode::kSavedModelSignature, "another dtype"));
}

TEST(LoadGraphTest, NoBytesAreAGraphWithoutNodesUnlessThatIsRefused) {
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(""));
  EXPECT_EQ(model.graph.num_nodes(), 0u);
  EXPECT_EQ(model.warnings.size(), 1u);
  LoadOptions options;
  options.allow_empty = false;
  EXPECT_THAT(Load("", options), IsError(ErrorCode::kFileEmpty));
}

TEST(LoadGraphTest, TagsSelectTheGraphOfASavedModel) {
  const std::string bytes = SavedModelBytes({MetaGraph("serve", "a"), MetaGraph("train", "b")});
  ASSERT_OK_AND_ASSIGN(const LoadedGraph by_default, Load(bytes));
  EXPECT_TRUE(by_default.graph.Find("a").valid()) << "serve is the default";
  LoadOptions options;
  options.tags = std::vector<std::string>{"train"};
  ASSERT_OK_AND_ASSIGN(const LoadedGraph by_tag, Load(bytes, options));
  EXPECT_TRUE(by_tag.graph.Find("b").valid());
  EXPECT_EQ(by_tag.tag_sets.size(), 2u);
}

TEST(LoadGraphTest, TheOnlyGraphNeedsNoTags) { EXPECT_THAT(Load(SavedModelBytes({MetaGraph("gpu", "a")})), IsOk()); }

TEST(LoadGraphTest, UnknownTagsListThoseThatThereAre) {
  LoadOptions options;
  options.tags = std::vector<std::string>{"serv"};
  const absl::Status status =
      Load(SavedModelBytes({MetaGraph("serve", "a"), MetaGraph("train", "b")}), options).status();
  ASSERT_THAT(status, IsError(ErrorCode::kSavedModelTags, "{serve} and {train}"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorInfoOf(status)->suggestion, "did you mean 'serve'?");
}

TEST(LoadGraphTest, ASubsetOfTheTagsIsNotEnough) {
  MessageBytes both;
  both.Sub(1, MessageBytes().Bytes(4, "serve").Bytes(4, "gpu")).Bytes(2, GraphDefBytes({ScalarNode("a")}));
  LoadOptions options;
  options.tags = std::vector<std::string>{"gpu"};
  EXPECT_THAT(Load(SavedModelBytes({both}), options), IsError(ErrorCode::kSavedModelTags));
  options.tags = std::vector<std::string>{"gpu", "serve"};
  EXPECT_THAT(Load(SavedModelBytes({both}), options), IsOk());
}

TEST(LoadGraphTest, AFrozenGraphIsNoSavedModelAndTheReverse) {
  LoadOptions saved_model;
  saved_model.accepted = AcceptedKind::kSavedModel;
  EXPECT_THAT(Load(SampleGraphDef(), saved_model), IsError(ErrorCode::kSavedModelKind, "not a SavedModel"));
  LoadOptions graph;
  graph.accepted = AcceptedKind::kGraph;
  const absl::Status status = Load(SavedModelBytes({MetaGraph("serve", "a")}), graph).status();
  EXPECT_THAT(status, IsError(ErrorCode::kSavedModelKind, "this is a SavedModel"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LoadGraphTest, ASignatureThatNamesAMissingTensorIsForItsCallers) {
  MessageBytes tensor_info, signature;
  tensor_info.Bytes(1, "nope:0").Int(2, 1);
  signature.Entry(2, "y", tensor_info);
  MessageBytes graph = MetaGraph("serve", "a");
  graph.Entry(5, "serving_default", signature);
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, Load(SavedModelBytes({graph})));
  EXPECT_THAT(model.deferred, IsError(ErrorCode::kSavedModelSignature, "no node 'nope'"));
  LoadOptions options;
  options.refuse_deferred = true;
  EXPECT_THAT(Load(SavedModelBytes({graph}), options), IsError(ErrorCode::kSavedModelSignature));
  options.check_meta_graph = false;
  EXPECT_THAT(Load(SavedModelBytes({graph}), options), IsOk());
}

TEST(LoadGraphTest, ADeviceThatIsNotThereIsAnErrorOnlyWhenPlaced) {
  const std::string bytes = GraphDefBytes({graph_bytes::NodeDefBytes("n", "NoOp", {}, {}, "/device:GPU:0")});
  EXPECT_THAT(Load(bytes), IsOk());
  LoadOptions options;
  options.place_on_one_cpu = true;
  EXPECT_THAT(Load(bytes, options), IsError(ErrorCode::kDeviceUnknown));
}

TEST(LoadGraphTest, LimitsHoldForMemoryToo) {
  LoadOptions options;
  options.limits.max_file_bytes = 10;
  const absl::Status status = Load(SampleGraphDef(), options).status();
  ASSERT_THAT(status, IsError(ErrorCode::kLimitFileSize));
  EXPECT_EQ(ErrorInfoOf(status)->limit, "max_file_bytes");
}

TEST(LoadGraphTest, TruncatedAnywhereItIsAnErrorOrASmallerGraph) {
  const std::string bytes = SavedModelBytes({MetaGraph("serve", "a"), MetaGraph("train", "b")});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::Status status = Load(bytes.substr(0, size)).status();
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument ||
                status.code() == absl::StatusCode::kNotFound)
        << size << ": " << status;
  }
}

TEST(LoadGraphFileTest, FilesAreMappedAndOutliveTheCall) {
  const std::string path = TempFile("sample.pb");
  ASSERT_OK(WriteFile(path, SampleGraphDef()));
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, LoadGraphFile(path, {}));
  EXPECT_EQ(model.source, path);
  EXPECT_EQ(ExportGraph(model.graph), SampleGraphDef());
}

// The damage is located after the load has dropped the bytes, so the file must still be mapped then.
TEST(LoadGraphFileTest, DamagedFilesAreStillMappedWhenTheErrorIsMade) {
  const std::string path = TempFile("cut.pb"), whole = SampleGraphDef();
  ASSERT_OK(WriteFile(path, whole.substr(0, whole.size() - 1)));
  EXPECT_FALSE(LoadGraphFile(path, {}).ok());
}

TEST(LoadGraphFileTest, ADirectoryStandsForTheSavedModelInIt) {
  const std::string directory = TempFile("saved");
  ASSERT_EQ(std::system(absl::StrCat("mkdir -p ", directory).c_str()), 0);
  EXPECT_THAT(LoadGraphFile(directory, {}), IsError(ErrorCode::kSavedModelMissing));
  ASSERT_OK(WriteFile(directory + "/saved_model.pb", SavedModelBytes({MetaGraph("serve", "a")})));
  ASSERT_OK_AND_ASSIGN(const LoadedGraph model, LoadGraphFile(directory, {}));
  EXPECT_EQ(model.format, GraphFormat::kSavedModel);
  EXPECT_EQ(model.source, directory);
}

TEST(LoadGraphFileTest, MissingFilesAreNotFound) {
  const absl::Status status = LoadGraphFile(TempFile("nowhere.pb"), {}).status();
  EXPECT_THAT(status, IsError(ErrorCode::kFileMissing));
}

}  // namespace
}  // namespace sluice

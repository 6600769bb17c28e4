#include "graph/load/text_model.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "graph/proto/graph.pb.h"
#include "graph/proto/saved_model.pb.h"

namespace sluice {
namespace {

using google::protobuf::Message;
using google::protobuf::TextFormat;

// Turns protobuf's complaints into ours.
class TextErrors : public google::protobuf::io::ErrorCollector {
 public:
  explicit TextErrors(int max_nesting) : max_nesting_(max_nesting) {}

  // Lines and columns count from 0 here.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    ErrorInfo info;
    info.line = line < 0 ? -1 : line + 1;
    info.column = column < 0 ? -1 : column + 1;
    if (absl::StrContains(message, "too deep")) {
      info.code = ErrorCode::kLimitDepth;
      info.text = "messages are nested too deeply";
      info.limit = "max_nesting";
      info.limit_value = max_nesting_;
    } else {
      info.code = ErrorCode::kFileText;
      info.text = absl::StrReplaceAll(message, {{"sluice.proto.", ""}});
      if (absl::EndsWith(info.text, ".")) info.text.pop_back();
    }
    errors_.Add(MakeError(info));
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}

  absl::Status Finish() {
    if (errors_.empty()) return Error(ErrorCode::kFileText).Text("the text cannot be read");
    return errors_.Finish();
  }

 private:
  const int max_nesting_;
  sluice::ErrorCollector errors_;
};

using Places = std::vector<std::pair<int32_t, int32_t>>;

// Where the nodes of the GraphDef described by `tree` stand.
Places NodePlaces(const proto::GraphDef& graph, const TextFormat::ParseInfoTree* tree) {
  Places places;
  if (tree == nullptr) return places;
  const auto* field = proto::GraphDef::descriptor()->FindFieldByNumber(proto::GraphDef::kNodeFieldNumber);
  places.reserve(static_cast<size_t>(graph.node_size()));
  for (int i = 0; i < graph.node_size(); ++i) {
    const TextFormat::ParseLocation location = tree->GetLocation(field, i);
    places.emplace_back(location.line + 1, location.column + 1);
  }
  return places;
}

const TextFormat::ParseInfoTree* GraphTree(const TextFormat::ParseInfoTree* meta_graph) {
  if (meta_graph == nullptr) return nullptr;
  const auto* field = proto::MetaGraphDef::descriptor()->FindFieldByNumber(proto::MetaGraphDef::kGraphDefFieldNumber);
  return meta_graph->GetTreeForNested(field, -1);
}

std::vector<Places> AllPlaces(const Message& message, GraphFormat format, const TextFormat::ParseInfoTree& tree) {
  if (format == GraphFormat::kGraphDefText) return {NodePlaces(static_cast<const proto::GraphDef&>(message), &tree)};
  if (format == GraphFormat::kMetaGraphText) {
    return {NodePlaces(static_cast<const proto::MetaGraphDef&>(message).graph_def(), GraphTree(&tree))};
  }
  const auto& model = static_cast<const proto::SavedModel&>(message);
  const auto* field = proto::SavedModel::descriptor()->FindFieldByNumber(proto::SavedModel::kMetaGraphsFieldNumber);
  std::vector<Places> places;
  for (int i = 0; i < model.meta_graphs_size(); ++i) {
    places.push_back(NodePlaces(model.meta_graphs(i).graph_def(), GraphTree(tree.GetTreeForNested(field, i))));
  }
  return places;
}

std::unique_ptr<Message> NewMessage(GraphFormat format) {
  if (format == GraphFormat::kGraphDefText) return std::make_unique<proto::GraphDef>();
  if (format == GraphFormat::kMetaGraphText) return std::make_unique<proto::MetaGraphDef>();
  return std::make_unique<proto::SavedModel>();
}

}  // namespace

absl::StatusOr<TextModel> ParseTextModel(absl::string_view text, GraphFormat format, const LoadLimits& limits) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return Error(ErrorCode::kLimitFileSize).Limit("max_file_bytes", std::numeric_limits<int>::max());
  }
  if (absl::StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  const std::unique_ptr<Message> message = NewMessage(format);
  TextErrors errors(limits.max_nesting);
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(limits.max_nesting);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&input, message.get())) return errors.Finish();
  TextModel model;
  if (!message->SerializeToString(&model.binary)) {
    return Error(ErrorCode::kLimitFileSize).Limit("max_file_bytes", std::numeric_limits<int>::max());
  }
  model.node_places = AllPlaces(*message, format, tree);
  return model;
}

}  // namespace sluice

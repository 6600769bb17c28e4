#include "graph/load/text_model.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <memory>

#include "absl/strings/match.h"
#include "graph/base/error.h"
#include "graph/load/text_errors.h"
#include "graph/proto/graph.pb.h"
#include "graph/proto/saved_model.pb.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

using google::protobuf::Message;
using google::protobuf::TextFormat;

// Turns protobuf's complaints into ours.
class TextErrors : public google::protobuf::io::ErrorCollector {
 public:
  TextErrors(const google::protobuf::Descriptor& root, absl::string_view text, int max_nesting)
      : root_(root), text_(text), max_nesting_(max_nesting) {}

  // Lines and columns count from 0 here.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (errors_.full()) return;  // Each one reads the text again, for what surrounds it.
    if (absl::StrContains(message, "too deep")) {
      const absl::Status deep =
          Error(ErrorCode::kLimitDepth).Text("messages are nested too deeply").Limit("max_nesting", max_nesting_);
      errors_.Add(WithLine(deep, line + 1, column + 1));
    } else {
      errors_.Add(DescribeTextError(root_, text_, line, column, message));
    }
  }
  void AddWarning(int, google::protobuf::io::ColumnNumber, const std::string&) override {}

  absl::Status Finish() {
    if (errors_.empty()) return Error(ErrorCode::kFileText).Text("the text cannot be read");
    return errors_.Finish();
  }

 private:
  const google::protobuf::Descriptor& root_;
  const absl::string_view text_;
  const int max_nesting_;
  sluice::ErrorCollector errors_;
};

TextPlace PlaceOf(const TextFormat::ParseInfoTree& tree, const google::protobuf::FieldDescriptor* field, int index) {
  const TextFormat::ParseLocation location = tree.GetLocation(field, index);
  return {location.line + 1, location.column + 1};
}

// Where the `count` elements of `field` stand in the message described by `tree`.
std::vector<TextPlace> PlacesOf(const TextFormat::ParseInfoTree& tree, const google::protobuf::FieldDescriptor* field,
                                int count) {
  std::vector<TextPlace> places;
  places.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) places.push_back(PlaceOf(tree, field, i));
  return places;
}

// Where the nodes of the GraphDef described by `tree` stand, those of its functions too.
GraphPlaces NodePlaces(const proto::GraphDef& graph, const TextFormat::ParseInfoTree* tree) {
  const auto field_of = [](const google::protobuf::Descriptor* message, int number) {
    return message->FindFieldByNumber(number);
  };
  GraphPlaces places;
  if (tree == nullptr) return places;
  const auto* node = field_of(proto::GraphDef::descriptor(), proto::GraphDef::kNodeFieldNumber);
  const auto* library = field_of(proto::GraphDef::descriptor(), proto::GraphDef::kLibraryFieldNumber);
  const auto* function =
      field_of(proto::FunctionDefLibrary::descriptor(), proto::FunctionDefLibrary::kFunctionFieldNumber);
  const auto* body_node = field_of(proto::FunctionDef::descriptor(), proto::FunctionDef::kNodeDefFieldNumber);
  places.nodes = PlacesOf(*tree, node, graph.node_size());
  const TextFormat::ParseInfoTree* const functions = tree->GetTreeForNested(library, -1);
  if (functions == nullptr) return places;
  for (int i = 0; i < graph.library().function_size(); ++i) {
    GraphPlaces::Function& added = places.functions.emplace_back();
    added.place = PlaceOf(*functions, function, i);
    const TextFormat::ParseInfoTree* const body = functions->GetTreeForNested(function, i);
    if (body != nullptr) added.nodes = PlacesOf(*body, body_node, graph.library().function(i).node_def_size());
  }
  return places;
}

void Mark(size_t byte, const TextPlace& place, std::vector<LineMark>* marks) {
  marks->push_back({static_cast<uint32_t>(byte), place.line, place.column});
}

// Marks one FunctionDef: what is not in a node of the body belongs to the function as a whole.
void MarkFunction(WireReader reader, const GraphPlaces::Function& places, std::vector<LineMark>* marks) {
  size_t node = 0;
  while (reader.Next()) {
    if (reader.tag() != WireTag(3, WireType::kBytes) || node >= places.nodes.size()) continue;
    Mark(reader.payload_offset(), places.nodes[node++], marks);
    Mark(reader.payload_offset() + reader.bytes().size(), places.place, marks);
  }
}

const TextFormat::ParseInfoTree* GraphTree(const TextFormat::ParseInfoTree* meta_graph) {
  if (meta_graph == nullptr) return nullptr;
  const auto* field = proto::MetaGraphDef::descriptor()->FindFieldByNumber(proto::MetaGraphDef::kGraphDefFieldNumber);
  return meta_graph->GetTreeForNested(field, -1);
}

std::vector<GraphPlaces> AllPlaces(const Message& message, GraphFormat format, const TextFormat::ParseInfoTree& tree) {
  if (format == GraphFormat::kGraphDefText) return {NodePlaces(static_cast<const proto::GraphDef&>(message), &tree)};
  if (format == GraphFormat::kMetaGraphText) {
    return {NodePlaces(static_cast<const proto::MetaGraphDef&>(message).graph_def(), GraphTree(&tree))};
  }
  const auto& model = static_cast<const proto::SavedModel&>(message);
  const auto* field = proto::SavedModel::descriptor()->FindFieldByNumber(proto::SavedModel::kMetaGraphsFieldNumber);
  std::vector<GraphPlaces> places;
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
  TextErrors errors(*message->GetDescriptor(), text, limits.max_nesting);
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(limits.max_nesting);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&input, message.get())) return errors.Finish();
  TextModel model;
  const google::protobuf::LogSilencer silent;  // Of text that is not UTF-8 the import speaks, with its place.
  if (!message->SerializeToString(&model.binary)) {
    return Error(ErrorCode::kLimitFileSize).Limit("max_file_bytes", std::numeric_limits<int>::max());
  }
  model.graphs = AllPlaces(*message, format, tree);
  return model;
}

std::vector<LineMark> MarkLines(absl::string_view graph_def, const GraphPlaces& places) {
  size_t count = places.nodes.size();
  for (const GraphPlaces::Function& function : places.functions) count += 2 * function.nodes.size() + 2;
  std::vector<LineMark> marks;
  marks.reserve(count + 1);
  size_t node = 0, function = 0;
  WireReader reader(graph_def);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes) && node < places.nodes.size()) {
      Mark(reader.payload_offset(), places.nodes[node++], &marks);
    } else if (reader.tag() == WireTag(2, WireType::kBytes)) {
      Mark(reader.offset(), TextPlace(), &marks);
      WireReader library = reader.Message();
      while (library.Next()) {
        if (library.tag() != WireTag(1, WireType::kBytes) || function >= places.functions.size()) continue;
        Mark(library.payload_offset(), places.functions[function].place, &marks);
        MarkFunction(library.Message(), places.functions[function++], &marks);
        Mark(library.payload_offset() + library.bytes().size(), TextPlace(), &marks);
      }
    }
  }
  return marks;
}

}  // namespace sluice

#include "graph/load/text_export.h"

#include <google/protobuf/text_format.h>

#include <limits>

#include "graph/base/error.h"
#include "graph/proto/graph.pb.h"

namespace sluice {

absl::StatusOr<GraphText> GraphDefToText(absl::string_view graph_def) {
  proto::GraphDef graph;
  if (graph_def.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !graph.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size()))) {
    return Error(ErrorCode::kFileWire).Text("the graph cannot be read as one protobuf message");
  }
  GraphText out;
  const size_t before = graph.ByteSizeLong();
  graph.DiscardUnknownFields();
  out.dropped_bytes = static_cast<int64_t>(before) - static_cast<int64_t>(graph.ByteSizeLong());
  google::protobuf::TextFormat::Printer printer;
  if (!printer.PrintToString(graph, &out.text)) {
    return Error(ErrorCode::kInternal).Text("the graph has no text form");
  }
  return out;
}

}  // namespace sluice

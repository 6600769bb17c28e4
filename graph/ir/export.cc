#include "graph/ir/export.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/node_def.h"
#include "graph/ir/registered_gradients.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

void AppendNode(const Graph& graph, NodeId id, std::string* out) {
  WireWriter writer(out);
  writer.Bytes(1, graph.name(id));
  writer.Bytes(2, graph.op_name(id));
  for (const Output& input : graph.all_inputs(id)) writer.Bytes(3, graph.OutputName(input));
  if (!graph.device(id).empty()) writer.Bytes(4, graph.device(id));
  for (const NamedAttr& attr : graph.attrs(id)) {
    const size_t entry = writer.BeginMessage(5);
    writer.Bytes(1, attr.name);
    writer.Bytes(2, attr.value.bytes());
    writer.EndMessage(entry);
  }
  if (!graph.source_bytes(id).empty()) writer.Raw(UnknownNodeFields(graph.source_bytes(id)));
}

void AppendLibrary(const FunctionLibrary& library, std::string* out) {
  if (library.empty()) return;
  WireWriter writer(out);
  const size_t mark = writer.BeginMessage(2);
  for (const std::string& name : library.NamesAsAdded()) writer.Bytes(1, library.Find(name)->bytes);
  for (const auto& gradient : library.gradients()) {
    const bool is_registered = IsRegisteredGradientKey(gradient.first);
    const size_t entry = writer.BeginMessage(is_registered ? 3 : 2);
    writer.Bytes(1, is_registered ? absl::string_view(gradient.second) : absl::string_view(gradient.first));
    writer.Bytes(2, is_registered ? OpTypeOfKey(gradient.first) : absl::string_view(gradient.second));
    writer.EndMessage(entry);
  }
  writer.EndMessage(mark);
}

void AppendVersions(const GraphVersions& versions, std::string* out) {
  WireWriter writer(out);
  const size_t mark = writer.BeginMessage(4);
  if (versions.producer != 0) writer.Int(1, versions.producer);
  if (versions.min_consumer != 0) writer.Int(2, versions.min_consumer);
  std::string packed;
  for (int32_t version : versions.bad_consumers) WireWriter(&packed).RawVarint(static_cast<uint64_t>(int64_t{version}));
  if (!packed.empty()) writer.Bytes(3, packed);
  writer.EndMessage(mark);
}

}  // namespace

std::string ExportNode(const Graph& graph, NodeId id) {
  std::string out;
  AppendNode(graph, id, &out);
  return out;
}

std::string ExportGraph(const Graph& graph) {
  std::string out;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    WireWriter writer(&out);
    const size_t mark = writer.BeginMessage(1);
    AppendNode(graph, NodeId(i), &out);
    writer.EndMessage(mark);
  }
  AppendLibrary(graph.library(), &out);
  AppendVersions(graph.versions(), &out);
  absl::StrAppend(&out, graph.unknown_fields());
  return out;
}

}  // namespace sluice

#include "graph/placement/incarnations.h"

#include <memory>
#include <string>
#include <vector>

#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/ir/function_library.h"
#include "graph/ir/node_def.h"
#include "graph/ir/op_class.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

constexpr absl::string_view kIncarnation = "send_device_incarnation";

// Field numbers of FunctionDef, NodeDef and of map entries.
constexpr uint32_t kFunctionNode = 3, kNodeAttr = 5, kMapKey = 1, kMapValue = 2;

// The incarnation that a node with these attrs lacks, or 0 when it lacks none that is known.
int64_t Missing(const DeviceList& devices, const AttrView& sender, const AttrView& incarnation) {
  const absl::StatusOr<int64_t> have = incarnation.AsInt();
  const absl::StatusOr<absl::string_view> device = sender.AsString();
  if (!device.ok() || (have.ok() && *have != 0)) return 0;
  const int32_t index = devices.Find(*device);
  return index < 0 ? 0 : devices.devices()[static_cast<size_t>(index)].incarnation;
}

int64_t MissingInBody(const DeviceList& devices, const NodeDefView& node) {
  if (!IsTransfer(OpClassOf(node.op))) return 0;
  const NamedAttr* const sender = node.FindAttr("send_device");
  const NamedAttr* const incarnation = node.FindAttr(kIncarnation);
  if (sender == nullptr) return 0;
  return Missing(devices, sender->value, incarnation == nullptr ? AttrView() : incarnation->value);
}

// The NodeDef `bytes` with another incarnation.
std::string WithIncarnation(absl::string_view bytes, int64_t incarnation) {
  std::string out;
  WireWriter writer(&out);
  for (WireReader reader(bytes); reader.Next();) {
    bool replaced = false;
    if (reader.tag() == WireTag(kNodeAttr, WireType::kBytes)) {
      for (WireReader entry = reader.Message(); entry.Next();) {
        replaced |= entry.tag() == WireTag(kMapKey, WireType::kBytes) && entry.bytes() == kIncarnation;
      }
    }
    if (!replaced) writer.Raw(reader.raw());
  }
  const size_t mark = writer.BeginMessage(kNodeAttr);
  writer.Bytes(kMapKey, kIncarnation);
  writer.Bytes(kMapValue, AttrValue(incarnation).bytes());
  writer.EndMessage(mark);
  return out;
}

// The FunctionDef of `function` with incarnations filled in; empty if it needs none.
std::string PatchedFunction(const DeviceList& devices, const FunctionDefinition& function) {
  std::string out;
  WireWriter writer(&out);
  bool changed = false;
  size_t next = 0;  // Bodies are parsed in the order of the wire.
  for (WireReader reader(function.bytes); reader.Next();) {
    const bool is_node = reader.tag() == WireTag(kFunctionNode, WireType::kBytes);
    const int64_t incarnation =
        is_node && next < function.nodes.size() ? MissingInBody(devices, function.nodes[next++]) : 0;
    if (incarnation == 0) {
      writer.Raw(reader.raw());
    } else {
      writer.Bytes(kFunctionNode, WithIncarnation(reader.bytes(), incarnation));
      changed = true;
    }
  }
  return changed ? out : std::string();
}

absl::Status PatchFunctions(const DeviceList& devices, FunctionLibrary& library) {
  for (const std::string& name : library.Names()) {
    const std::string patched = PatchedFunction(devices, *library.Find(name));
    if (patched.empty()) continue;
    const auto owner = std::make_shared<const std::string>(patched);
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const FunctionDefinition> function,
                            ParseFunctionDef(owner, *owner, 0, LoadLimits()));
    library.Remove(name);
    SLUICE_RETURN_IF_ERROR(library.Add(std::move(function)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetIncarnations(const DeviceList& devices, Graph& graph) {
  for (NodeId id : graph.Nodes()) {
    if (!IsTransfer(graph.op(id).op_class)) continue;
    AttrView sender, incarnation;
    if (!graph.FindAttr(id, "send_device", &sender)) continue;
    graph.FindAttr(id, kIncarnation, &incarnation);
    const int64_t missing = Missing(devices, sender, incarnation);
    if (missing != 0) SLUICE_RETURN_IF_ERROR(graph.SetAttr(id, kIncarnation, missing));
  }
  return PatchFunctions(devices, graph.library());
}

}  // namespace sluice

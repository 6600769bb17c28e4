#include "tools/cli/report/variable_aliases.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

// The key that two handles of one variable share: "conv/kernel float32 [3,3]" of "conv/kernel_1".
std::string KeyOf(const Graph& graph, NodeId id) {
  absl::string_view name = graph.name(id);
  absl::string_view base = name;
  while (!base.empty() && absl::ascii_isdigit(static_cast<unsigned char>(base.back()))) base.remove_suffix(1);
  if (base.size() < name.size() && absl::ConsumeSuffix(&base, "_") && !base.empty()) name = base;
  const absl::StatusOr<DType> dtype = graph.GetType(id, "dtype");
  const absl::StatusOr<PartialShape> shape = graph.GetShape(id, "shape");
  return absl::StrCat(name, " ", dtype.ok() ? DTypeName(*dtype) : "", " ", shape.ok() ? shape->ToString() : "");
}

}  // namespace

VariableAliases FindVariableAliases(const LoadedGraph& model) {
  const Graph& graph = model.graph;
  VariableAliases aliases;
  std::vector<NodeId> open;
  for (const ModelSignature& signature : model.meta.signatures) {
    for (const SignatureTensor& result : signature.outputs) {
      const absl::StatusOr<Output> output = graph.FindOutput(result.name);
      if (output.ok()) open.push_back(output->node);
    }
  }
  if (open.empty()) return aliases;
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()));
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (seen[static_cast<size_t>(id.value())]) continue;
    seen[static_cast<size_t>(id.value())] = true;
    if (graph.Is(id, "VarHandleOp")) aliases.read.insert(id);
    for (const Output& input : graph.all_inputs(id)) {
      if (input.is_set()) open.push_back(input.node);
    }
  }
  absl::flat_hash_map<std::string, std::pair<NodeId, int>> read_by_key;  // And how many there are.
  for (const NodeId id : aliases.read) {
    std::pair<NodeId, int>& entry = read_by_key[KeyOf(graph, id)];
    entry.first = id;
    ++entry.second;
  }
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, "VarHandleOp") || aliases.read.contains(id)) continue;
    const auto found = read_by_key.find(KeyOf(graph, id));
    if (found != read_by_key.end() && found->second.second == 1) aliases.meant[id] = found->second.first;
  }
  return aliases;
}

}  // namespace sluice

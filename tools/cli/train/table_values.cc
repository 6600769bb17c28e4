#include "tools/cli/train/table_values.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"

namespace sluice {
namespace {

bool IsMutableTable(absl::string_view op) {
  return absl::StartsWith(op, "MutableHashTable") || absl::StartsWith(op, "MutableDenseHashTable");
}

std::string KeysName(absl::string_view table) { return absl::StrCat("sluice_table/", table, "/keys"); }
std::string ValuesName(absl::string_view table) { return absl::StrCat("sluice_table/", table, "/values"); }

absl::StatusOr<DType> TypeAttr(const Graph& graph, NodeId id, absl::string_view attr) {
  AttrView value;
  return graph.FindAttr(id, attr, &value) ? value.AsType() : DType::kInvalid;
}

std::vector<NodeId> TablesNeededBy(const Graph& graph, absl::Span<const NodeId> roots) {
  std::vector<bool> seen(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> needed, tables;
  const auto add = [&](NodeId id) {
    if (!graph.Contains(id) || seen[static_cast<size_t>(id.value())]) return;
    seen[static_cast<size_t>(id.value())] = true;
    needed.push_back(id);
  };
  for (const NodeId root : roots) add(root);
  for (size_t next = 0; next < needed.size(); ++next) {
    if (IsMutableTable(graph.op_name(needed[next]))) tables.push_back(needed[next]);
    for (const Output& input : graph.all_inputs(needed[next])) add(input.node);
  }
  return tables;
}

}  // namespace

absl::StatusOr<TableNodes> AddTableNodes(Graph& graph, absl::Span<const NodeId> roots) {
  TableNodes nodes;
  GraphEditor edit(graph);
  const GraphEditor::Scope scope = edit.InName("table_entries");
  for (const NodeId table : TablesNeededBy(graph, roots)) {
    SLUICE_ASSIGN_OR_RETURN(const DType key, TypeAttr(graph, table, "key_dtype"));
    SLUICE_ASSIGN_OR_RETURN(const DType value, TypeAttr(graph, table, "value_dtype"));
    const bool is_resource = absl::EndsWith(graph.op_name(table), "V2");
    const auto op = [is_resource](absl::string_view name) { return absl::StrCat(name, is_resource ? "V2" : ""); };
    const Output handle = {table, 0};
    const Output entries = edit.Add(op("LookupTableExport"), "export", {handle}, {{"Tkeys", key}, {"Tvalues", value}});
    const Output keys = entries, values = GraphEditor::Nth(entries, 1);
    const Output import =
        edit.Add(op("LookupTableImport"), "import", {handle, keys, values}, {{"Tin", key}, {"Tout", value}});
    SLUICE_RETURN_IF_ERROR(edit.status());
    nodes.tables.emplace_back(graph.name(table));
    nodes.keys.push_back(graph.OutputName(keys));
    nodes.values.push_back(graph.OutputName(values));
    nodes.imports.emplace_back(graph.name(import.node));
  }
  return nodes;
}

absl::StatusOr<NamedTensors> ReadTables(Session& session, const TableNodes& nodes) {
  if (nodes.tables.empty()) return NamedTensors();
  std::vector<std::string> fetches = nodes.keys;
  fetches.insert(fetches.end(), nodes.values.begin(), nodes.values.end());
  SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> read, session.Run({}, fetches, {}));
  NamedTensors entries;
  for (size_t i = 0; i < nodes.tables.size(); ++i) {
    entries.emplace_back(KeysName(nodes.tables[i]), std::move(read[i]));
    entries.emplace_back(ValuesName(nodes.tables[i]), std::move(read[i + nodes.tables.size()]));
  }
  return entries;
}

absl::Status AssignTables(Session& session, const TableNodes& nodes, const NamedTensors& entries) {
  std::map<absl::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : entries) by_name.emplace(name, &tensor);
  NamedTensors feeds;
  std::vector<std::string> targets;
  for (size_t i = 0; i < nodes.tables.size(); ++i) {
    const auto keys = by_name.find(KeysName(nodes.tables[i])), values = by_name.find(ValuesName(nodes.tables[i]));
    if (keys == by_name.end() || values == by_name.end()) continue;
    feeds.emplace_back(nodes.keys[i], *keys->second);
    feeds.emplace_back(nodes.values[i], *values->second);
    targets.push_back(nodes.imports[i]);
  }
  return targets.empty() ? absl::OkStatus() : session.Run(feeds, {}, targets).status();
}

}  // namespace sluice

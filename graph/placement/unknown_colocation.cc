#include "graph/placement/unknown_colocation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr absl::string_view kLocation = "loc:@";

// The groups that `id` lists; none if it has no such attr, or one that is not a list of strings.
std::vector<absl::string_view> GroupsOf(const Graph& graph, NodeId id) {
  AttrView value;
  if (!graph.FindAttr(id, "_class", &value)) return {};
  absl::StatusOr<std::vector<absl::string_view>> groups = value.AsStringList();
  return groups.ok() ? *std::move(groups) : std::vector<absl::string_view>();
}

// Whether `group` names a node that `graph` does not have; that name is then in `*name`.
bool IsUnknown(const Graph& graph, absl::string_view group, absl::string_view* name) {
  *name = group;
  return absl::ConsumePrefix(name, kLocation) && !graph.Contains(graph.Find(*name));
}

}  // namespace

std::vector<UnknownColocation> FindUnknownColocations(const Graph& graph) {
  std::vector<UnknownColocation> unknown;
  HashMap<std::string, size_t> places;  // In `unknown`, by name.
  for (const NodeId id : graph.Nodes()) {
    for (const absl::string_view group : GroupsOf(graph, id)) {
      absl::string_view name;
      if (!IsUnknown(graph, group, &name)) continue;
      const auto place = places.emplace(std::string(name), unknown.size());
      if (place.second) unknown.push_back({std::string(name), id, 0});
      ++unknown[place.first->second].nodes;
    }
  }
  return unknown;
}

absl::Status TieUnknownColocations(Graph& graph) {
  HashMap<std::string, NodeId> firsts;  // By the name of the node that is not there.
  for (const NodeId id : graph.Nodes()) {
    std::vector<std::string> tied;
    bool is_changed = false;
    for (const absl::string_view group : GroupsOf(graph, id)) {
      absl::string_view name;
      if (!IsUnknown(graph, group, &name)) {
        tied.emplace_back(group);
        continue;
      }
      is_changed = true;
      const auto first = firsts.emplace(std::string(name), id);
      if (first.first->second != id) tied.push_back(absl::StrCat(kLocation, graph.name(first.first->second)));
    }
    if (!is_changed) continue;
    SLUICE_RETURN_IF_ERROR(tied.empty() ? graph.RemoveAttr(id, "_class")
                                        : graph.SetAttr(id, "_class", AttrValue(std::move(tied))));
  }
  return absl::OkStatus();
}

}  // namespace sluice

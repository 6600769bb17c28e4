#include "tools/cli/report/scope_tree.h"

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

using ScopeKey = std::pair<int32_t, absl::string_view>;  // Parent and name.

// Adds the scopes of `name` and returns the innermost; creates what is missing.
int32_t ScopeOf(absl::string_view name, int max_depth, absl::flat_hash_map<ScopeKey, int32_t>* index,
                std::vector<NameScope>* scopes) {
  int32_t scope = 0;
  for (int depth = 0; depth < max_depth; ++depth) {
    const size_t slash = name.find('/');
    if (slash == absl::string_view::npos) break;
    const absl::string_view part = name.substr(0, slash);
    name.remove_prefix(slash + 1);
    const auto [entry, is_new] = index->try_emplace({scope, part}, static_cast<int32_t>(scopes->size()));
    if (is_new) {
      NameScope child;
      child.name = std::string(part);
      child.parent = scope;
      (*scopes)[static_cast<size_t>(scope)].scopes.push_back(entry->second);
      scopes->push_back(std::move(child));
    }
    scope = entry->second;
  }
  return scope;
}

// Adds up the contents: children come after their parents, so one pass from the end suffices.
void AddUp(const Graph& graph, std::vector<NameScope>* scopes) {
  for (size_t i = scopes->size(); i-- > 0;) {
    NameScope& scope = (*scopes)[i];
    scope.num_nodes += static_cast<int64_t>(scope.nodes.size());
    for (const NodeId id : scope.nodes) scope.constant_bytes += ConstantBytes(graph, id);
    if (scope.parent < 0) continue;
    NameScope& parent = (*scopes)[static_cast<size_t>(scope.parent)];
    parent.num_nodes += scope.num_nodes;
    parent.constant_bytes += scope.constant_bytes;
  }
}

// Joins chains and drops the scopes that they made superfluous; fills in the paths.
std::vector<NameScope> JoinChains(std::vector<NameScope> scopes) {
  std::vector<NameScope> out;
  std::vector<std::pair<int32_t, int32_t>> todo = {{0, -1}};  // Old scope, new parent. Last in, first out.
  while (!todo.empty()) {
    auto [old, parent] = todo.back();
    todo.pop_back();
    std::string name = scopes[static_cast<size_t>(old)].name;
    while (old != 0) {
      const NameScope& scope = scopes[static_cast<size_t>(old)];
      if (!scope.nodes.empty() || scope.scopes.size() != 1) break;
      old = scope.scopes[0];
      absl::StrAppend(&name, "/", scopes[static_cast<size_t>(old)].name);
    }
    const int32_t self = static_cast<int32_t>(out.size());
    NameScope scope = std::move(scopes[static_cast<size_t>(old)]);
    for (auto child = scope.scopes.rbegin(); child != scope.scopes.rend(); ++child) todo.emplace_back(*child, self);
    scope.scopes.clear();
    scope.parent = parent;
    if (parent >= 0) {
      NameScope& above = out[static_cast<size_t>(parent)];
      above.scopes.push_back(self);
      scope.path = above.path.empty() ? name : absl::StrCat(above.path, "/", name);
    }
    scope.name = std::move(name);
    out.push_back(std::move(scope));
  }
  return out;
}

}  // namespace

std::vector<NameScope> BuildScopeTree(const Graph& graph, int max_depth) {
  std::vector<NameScope> scopes(1);
  absl::flat_hash_map<ScopeKey, int32_t> index;
  for (const NodeId id : graph.Nodes()) {
    const int32_t scope = ScopeOf(graph.name(id), max_depth, &index, &scopes);
    scopes[static_cast<size_t>(scope)].nodes.push_back(id);
  }
  AddUp(graph, &scopes);
  return JoinChains(std::move(scopes));
}

int64_t ConstantBytes(const Graph& graph, NodeId id) {
  if (!graph.Is(id, "Const") || graph.num_outputs(id) != 1) return 0;
  AttrView value;
  if (!graph.FindAttr(id, "value", &value)) return 0;
  const absl::StatusOr<absl::string_view> bytes = value.AsTensorBytes();
  if (!bytes.ok()) return 0;
  const DType dtype = graph.output_type(id, 0);
  if (!IsTrivial(dtype)) return static_cast<int64_t>(bytes->size());
  std::vector<int64_t> dims;
  WireReader tensor(*bytes);
  while (tensor.Next()) {
    if (tensor.tag() != WireTag(2, WireType::kBytes)) continue;  // tensor_shape
    WireReader shape = tensor.Message();
    while (shape.Next()) {
      if (shape.tag() != WireTag(2, WireType::kBytes)) continue;  // dim
      WireReader dim = shape.Message();
      dims.push_back(0);
      while (dim.Next()) {
        if (dim.tag() == WireTag(1, WireType::kVarint)) dims.back() = static_cast<int64_t>(dim.varint());
      }
    }
  }
  int64_t size = 0;
  if (!CheckedNumElements(dims, &size)) return 0;
  return CheckedMul(size, static_cast<int64_t>(DTypeSize(dtype)), &size) ? size : 0;
}

}  // namespace sluice

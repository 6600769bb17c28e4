#include "tools/cli/draw/box_builder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/consumers.h"
#include "tools/cli/draw/drawn_graph.h"
#include "tools/cli/draw/gradient_scope.h"

namespace sluice {
namespace {

size_t Index(NodeId id) { return static_cast<size_t>(id.value()); }
size_t Index(int32_t i) { return static_cast<size_t>(i); }

absl::string_view LastPart(absl::string_view name, absl::string_view scope_path) {
  return scope_path.empty() ? name : name.substr(scope_path.size() + 1);
}

}  // namespace

BoxBuilder::BoxBuilder(const Graph& graph, int max_children)
    : graph_(graph),
      max_children_(static_cast<size_t>(std::max(max_children, 2))),
      box_of_(Index(graph.id_limit()), -1),
      fold_into_(Index(graph.id_limit())) {
  const std::vector<NameScope> scopes = BuildScopeTree(graph);
  FoldConstants(scopes);
  CountShown(scopes);
  ScopeList todo;
  todo.emplace_back(0, AddBox(Box::Kind::kScope, "", -1));
  for (size_t next = 0; next < todo.size(); ++next) {
    const auto [scope, box] = todo[next];
    AddMembers(MembersOf(scopes, scope), box, &todo);
  }
  for (const NodeId id : graph.Nodes()) {
    NodeId user = fold_into_[Index(id)];
    if (!user.valid()) continue;
    while (fold_into_[Index(user)].valid()) user = fold_into_[Index(user)];  // A variable into its read into its user.
    box_of_[Index(id)] = box_of_[Index(user)];
    boxes_[Index(box_of_[Index(user)])].folded.push_back(id);
  }
  for (const auto& [id, user] : also_into_) {
    NodeId end = user;
    while (fold_into_[Index(end)].valid()) end = fold_into_[Index(end)];
    boxes_[Index(box_of_[Index(end)])].folded.push_back(id);
  }
  CountNodes();
  MarkGradients();
}

void BoxBuilder::FoldConstants(const std::vector<NameScope>& scopes) {
  std::vector<int32_t> scope_of(Index(graph_.id_limit()), -1);
  for (size_t s = 0; s < scopes.size(); ++s) {
    for (const NodeId id : scopes[s].nodes) scope_of[Index(id)] = static_cast<int32_t>(s);
  }
  const Consumers consumers(graph_);
  FoldVariables(consumers);
  for (const NodeId id : graph_.Nodes()) {
    if (!graph_.Is(id, "Const")) continue;
    const NodeId user = OnlyUser(consumers, id);
    if (!user.valid() || graph_.Is(user, "Const")) continue;
    // A weight of a frozen graph: the constant, the former read of a variable, and the node that uses it.
    const NodeId reader = graph_.Is(user, "Identity") ? OnlyUser(consumers, user) : NodeId();
    const NodeId end = reader.valid() ? reader : user;
    // In its user's scope or inside ("add/y" of "add"), so that the names show that it belongs to it; or with a
    // meaningless name, such as "unknown_3" in graphs that TensorFlow has frozen.
    const std::string& path = scopes[Index(scope_of[Index(end)])].path;
    const bool has_scope = absl::StrContains(graph_.name(id), "/");
    if (has_scope && !path.empty() && !absl::StartsWith(graph_.name(id), absl::StrCat(path, "/"))) continue;
    FoldInto(id, user);
    if (reader.valid()) FoldInto(user, reader);
  }
}

void BoxBuilder::FoldInto(NodeId from, NodeId to) {
  for (NodeId at = to; at.valid(); at = fold_into_[Index(at)]) {
    if (at == from) return;
  }
  fold_into_[Index(from)] = to;
}

NodeId BoxBuilder::OnlyUser(const Consumers& consumers, NodeId id) {
  const absl::Span<const Use> uses = consumers.of(id);
  if (uses.empty()) return NodeId();
  const NodeId user = uses[0].node;
  return std::all_of(uses.begin(), uses.end(), [user](const Use& use) { return use.node == user; }) ? user : NodeId();
}

// Variables that layers read or keep moving averages in are their weights, wherever the handles are: a handle goes into
// every node that reads it, and a read into its only user.
void BoxBuilder::FoldVariables(const Consumers& consumers) {
  const auto users_of = [&](NodeId id) {
    std::vector<NodeId> users;
    const bool is_plumbing = IsPlumbing(graph_.name(id));
    for (const Use& use : consumers.of(id)) {
      const bool counts = is_plumbing == IsPlumbing(graph_.name(use.node));
      if (counts && (users.empty() || users.back() != use.node)) users.push_back(use.node);
    }
    return users;
  };
  for (const NodeId id : graph_.Nodes()) {
    const std::vector<NodeId> users = graph_.Is(id, "VarHandleOp") ? users_of(id) : std::vector<NodeId>();
    if (users.empty() || IsPlumbing(graph_.name(id))) continue;
    const bool only_reads = std::all_of(users.begin(), users.end(), [this](NodeId user) {
      constexpr absl::string_view kOps[] = {"ReadVariableOp",
                                            "ResourceGather",
                                            "ResourceGatherNd",
                                            "AssignVariableOp",
                                            "AssignSubVariableOp",
                                            "AssignAddVariableOp",
                                            "While",
                                            "StatelessWhile",
                                            "If",
                                            "StatelessIf",
                                            "Case",
                                            "StatelessCase"};
      return std::find(std::begin(kOps), std::end(kOps), graph_.op_name(user)) != std::end(kOps);
    });
    if (!only_reads) continue;
    FoldInto(id, users[0]);
    for (size_t i = 1; i < users.size(); ++i) also_into_.emplace_back(id, users[i]);
    for (const NodeId read : users) {
      const std::vector<NodeId> readers = graph_.Is(read, "ReadVariableOp") ? users_of(read) : std::vector<NodeId>();
      if (readers.size() == 1) FoldInto(read, readers[0]);
    }
  }
}

// Scopes come after their parents.
void BoxBuilder::CountShown(const std::vector<NameScope>& scopes) {
  shown_.assign(scopes.size(), 0);
  for (size_t s = scopes.size(); s-- > 0;) {
    for (const NodeId id : scopes[s].nodes) shown_[s] += fold_into_[Index(id)].valid() ? 0 : 1;
    if (s > 0) shown_[Index(scopes[s].parent)] += shown_[s];
  }
}

std::vector<BoxBuilder::Member> BoxBuilder::MembersOf(const std::vector<NameScope>& scopes, int32_t scope) const {
  const NameScope& self = scopes[Index(scope)];
  std::vector<Member> members;
  for (const int32_t child : self.scopes) {
    if (shown_[Index(child)] == 0) continue;
    Member member;
    member.scope = child;
    member.label = scope == 0 ? ShownName(scopes[Index(child)].name) : scopes[Index(child)].name;
    // A scope is ordered by its first node: good enough, and cheap.
    int32_t inner = child;
    while (scopes[Index(inner)].nodes.empty()) inner = scopes[Index(inner)].scopes[0];
    const NodeId first = scopes[Index(inner)].nodes[0];
    member.order = first.value() + (IsPlumbing(graph_.name(first)) ? int64_t{graph_.id_limit()} : 0);
    members.push_back(std::move(member));
  }
  for (const NodeId id : self.nodes) {
    if (fold_into_[Index(id)].valid()) continue;
    Member member;
    member.node = id;
    member.label = std::string(LastPart(graph_.name(id), self.path));
    member.order = id.value();
    members.push_back(std::move(member));
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.order < b.order; });
  return members;
}

void BoxBuilder::AddMember(Member member, int32_t parent, ScopeList* todo) {
  const bool is_scope = member.scope >= 0;
  const int32_t box = AddBox(is_scope ? Box::Kind::kScope : Box::Kind::kNode, std::move(member.label), parent);
  boxes_[Index(box)].node = member.node;
  if (is_scope) todo->emplace_back(member.scope, box);
  if (!is_scope) box_of_[Index(member.node)] = box;
}

void BoxBuilder::AddMembers(std::vector<Member> members, int32_t parent, ScopeList* todo) {
  std::vector<std::pair<std::vector<Member>, int32_t>> work;  // Members and the boxes they go into.
  work.emplace_back(std::move(members), parent);
  for (size_t next = 0; next < work.size(); ++next) {
    std::vector<Member> group = std::move(work[next].first);
    const int32_t into = work[next].second;
    if (group.size() <= max_children_) {
      for (Member& member : group) AddMember(std::move(member), into, todo);
      continue;
    }
    // Bundles runs of neighbours, which were made together, so that edges lead from run to run.
    const auto root = static_cast<size_t>(std::sqrt(static_cast<double>(group.size())));
    const size_t num_runs = std::min(max_children_, std::max(root, group.size() / max_children_ + 1));
    const size_t step = (group.size() + num_runs - 1) / num_runs;
    for (size_t begin = 0; begin < group.size(); begin += step) {
      const size_t end = std::min(begin + step, group.size());
      std::string label = absl::StrCat(group[begin].label, " … ", group[end - 1].label);
      const int32_t run = AddBox(Box::Kind::kBundle, std::move(label), into);
      const auto at = [&group](size_t i) {
        return std::make_move_iterator(group.begin() + static_cast<std::ptrdiff_t>(i));
      };
      work.emplace_back(std::vector<Member>(at(begin), at(end)), run);
    }
  }
}

int32_t BoxBuilder::AddBox(Box::Kind kind, std::string label, int32_t parent) {
  const int32_t index = static_cast<int32_t>(boxes_.size());
  Box box;
  box.kind = kind;
  box.label = std::move(label);
  box.parent = parent;
  if (parent >= 0) {
    box.depth = boxes_[Index(parent)].depth + 1;
    boxes_[Index(parent)].children.push_back(index);
  }
  boxes_.push_back(std::move(box));
  return index;
}

// Children come after their parents.
void BoxBuilder::CountNodes() {
  for (Box& box : boxes_) {
    const int64_t self = box.kind == Box::Kind::kNode ? 1 : 0;
    box.num_nodes = self + static_cast<int64_t>(box.folded.size());
  }
  for (size_t i = boxes_.size(); i-- > 1;) boxes_[Index(boxes_[i].parent)].num_nodes += boxes_[i].num_nodes;
}

// Children come after their parents.
void BoxBuilder::MarkGradients() {
  for (Box& box : boxes_) {
    const bool is_node = box.kind == Box::Kind::kNode;
    box.is_gradient = !is_node || IsInGradientScope(graph_.name(box.node));
  }
  for (size_t i = boxes_.size(); i-- > 1;) {
    if (!boxes_[i].is_gradient) boxes_[Index(boxes_[i].parent)].is_gradient = false;
  }
  boxes_[0].is_gradient = false;
}

}  // namespace sluice

#ifndef SLUICE_TOOLS_CLI_DRAW_BOX_BUILDER_H_
#define SLUICE_TOOLS_CLI_DRAW_BOX_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/consumers.h"
#include "graph/ir/graph.h"
#include "tools/cli/draw/box_tree.h"
#include "tools/cli/report/scope_tree.h"

namespace sluice {

// Makes the boxes of a BoxTree: one per scope and node, small constants folded into their only user, crowded scopes
// divided into bundles. Lives for one BoxTree's construction. Not thread-safe.
class BoxBuilder {
 public:
  BoxBuilder(const Graph& graph, int max_children);

  std::vector<Box> TakeBoxes() { return std::move(boxes_); }
  // The box of each node, by id.
  std::vector<int32_t> TakeBoxOf() { return std::move(box_of_); }

 private:
  // A member of a scope before it is divided: a scope or a node.
  struct Member {
    int32_t scope = -1;
    NodeId node;
    std::string label;
    int64_t order = 0;  // Of the first node inside.
  };

  using ScopeList = std::vector<std::pair<int32_t, int32_t>>;  // Scopes and their boxes.

  void FoldConstants(const std::vector<NameScope>& scopes);
  // Notes that `from` is drawn inside `to`, unless `to` is inside `from` already (in an unsound graph).
  void FoldInto(NodeId from, NodeId to);
  // Returns the only user of `id`, or an invalid id.
  static NodeId OnlyUser(const Consumers& consumers, NodeId id);
  void FoldVariables(const Consumers& consumers);
  void CountShown(const std::vector<NameScope>& scopes);
  std::vector<Member> MembersOf(const std::vector<NameScope>& scopes, int32_t scope) const;
  // Adds boxes for `members` to `parent`, bundled if there are too many. `*todo` gets the scopes among them.
  void AddMembers(std::vector<Member> members, int32_t parent, ScopeList* todo);
  void AddMember(Member member, int32_t parent, ScopeList* todo);
  int32_t AddBox(Box::Kind kind, std::string label, int32_t parent);
  void CountNodes();
  void MarkGradients();

  const Graph& graph_;
  const size_t max_children_;
  std::vector<Box> boxes_;
  std::vector<int32_t> box_of_;
  std::vector<NodeId> fold_into_;                     // By node id: the user, or an invalid id.
  std::vector<std::pair<NodeId, NodeId>> also_into_;  // Further users of variables that several nodes read.
  std::vector<int64_t> shown_;                        // By scope: nodes inside that are not folded.
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_BOX_BUILDER_H_

#include "graph/placement/reachable_functions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/ir/function_library.h"

namespace sluice {
namespace {

// A walk over a library from what a graph names. Lives for one call.
class FunctionWalk {
 public:
  explicit FunctionWalk(const FunctionLibrary& library) : library_(library) {}

  // `name` is an op or a function that something names.
  void Visit(absl::string_view name) {
    if (!library_.Contains(name) || !seen_.insert(std::string(name)).second) return;
    queue_.emplace_back(name);
  }

  // Visits all functions that `attr` names, at any depth.
  void VisitAttr(AttrView attr) {
    std::vector<AttrView> open = {attr};
    while (!open.empty()) {
      const AttrView view = open.back();
      open.pop_back();
      if (view.kind() == AttrKind::kFunc) {
        const absl::StatusOr<FuncView> function = view.AsFunc();
        if (function.ok()) VisitFunc(*function, &open);
      } else if (view.kind() == AttrKind::kList) {
        const absl::StatusOr<std::vector<FuncView>> functions = view.AsFuncList();
        if (!functions.ok()) continue;
        for (const FuncView& function : *functions) VisitFunc(function, &open);
      }
    }
  }

  // Follows the bodies of what was visited.
  void Finish() {
    for (size_t next = 0; next < queue_.size(); ++next) {
      const std::string name = queue_[next];
      const std::shared_ptr<const FunctionDefinition> function = library_.Find(name);
      for (const NodeDefView& node : function->nodes) {
        Visit(node.op);
        for (const NamedAttr& attr : node.attrs) VisitAttr(attr.value);
      }
      Visit(library_.FindGradient(name));
    }
  }
  bool Reached(absl::string_view name) const { return seen_.contains(name); }

 private:
  void VisitFunc(const FuncView& function, std::vector<AttrView>* open) {
    Visit(function.name);
    for (const auto& attr : function.attrs) open->push_back(attr.second);
  }

  const FunctionLibrary& library_;
  absl::flat_hash_set<std::string> seen_;
  std::vector<std::string> queue_;
};

}  // namespace

void KeepReachableFunctions(Graph& graph) {
  if (graph.library().empty()) return;
  FunctionWalk walk(graph.library());
  for (NodeId id : graph.Nodes()) {
    walk.Visit(graph.op_name(id));
    for (const NamedAttr& attr : graph.attrs(id)) walk.VisitAttr(attr.value);
  }
  walk.Finish();
  graph.library().RemoveUnless([&](absl::string_view name) { return walk.Reached(name); });
}

}  // namespace sluice

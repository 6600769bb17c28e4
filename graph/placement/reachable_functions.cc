#include "graph/placement/reachable_functions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"

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
    attr.ForEachFunction([this](absl::string_view name) { Visit(name); });
  }

  // Visits all functions that the nodes of `graph` need.
  void VisitGraph(const Graph& graph) {
    for (int32_t i = 0; i < graph.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph.Contains(id)) continue;
      if (ops_.insert(&graph.op(id)).second) Visit(graph.op_name(id));
      graph.ForEachAttr(id, [this](absl::string_view, absl::string_view value) {
        const AttrView attr(value);
        if (attr.kind() == AttrKind::kFunc || attr.kind() == AttrKind::kList) VisitAttr(attr);
      });
    }
    Finish();
  }
  void VisitAll(absl::Span<const std::string> names) {
    for (const std::string& name : names) Visit(name);
    Finish();
  }
  // Adds all that were reached to `to`, which has no functions.
  void CopyTo(FunctionLibrary& to) const {
    for (const std::string& name : queue_) {
      to.Add(library_.Find(name)).IgnoreError();  // No other one has the name.
      const absl::string_view gradient = library_.FindGradient(name);
      if (Reached(gradient)) to.AddGradient(name, gradient).IgnoreError();
    }
  }
  bool Reached(absl::string_view name) const { return seen_.contains(name); }
  // Whose nodes the graph has.
  const HashSet<const OpSchema*>& ops() const { return ops_; }
  // Names of all that were reached.
  const std::vector<std::string>& reached() const { return queue_; }

 private:
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
  const FunctionLibrary& library_;
  HashSet<const OpSchema*> ops_;
  HashSet<std::string> seen_;
  std::vector<std::string> queue_;
};

}  // namespace

void KeepReachableFunctions(Graph& graph) {
  if (graph.library().empty()) return;
  FunctionWalk walk(graph.library());
  walk.VisitGraph(graph);
  graph.library().RemoveUnless([&](absl::string_view name) { return walk.Reached(name); });
}

bool AddReachableFunctions(const Graph& whole, Graph& part) {
  FunctionWalk walk(whole.library());
  walk.VisitGraph(part);
  const auto is_known = [&](const OpSchema* op) { return whole.FindOp(op->name) == op; };
  if (!std::all_of(walk.ops().begin(), walk.ops().end(), is_known)) return false;
  walk.CopyTo(part.library());
  return true;
}

FunctionLibrary ReachableFrom(const FunctionLibrary& whole, absl::Span<const std::string> names) {
  FunctionWalk walk(whole);
  walk.VisitAll(names);
  FunctionLibrary reached;
  walk.CopyTo(reached);
  return reached;
}

ReachableFunctions::ReachableFunctions(const FunctionLibrary& library) : library_(library) {
  for (const std::string& name : library.NamesAsAdded()) {
    functions_.push_back(library.Find(name));
    positions_.emplace(functions_.back()->name(), static_cast<int32_t>(positions_.size()));
  }
}

absl::Status ReachableFunctions::AddTo(Graph& part) const {
  if (library_.empty()) return absl::OkStatus();
  FunctionWalk walk(library_);
  walk.VisitGraph(part);
  std::vector<int32_t> positions;
  for (const std::string& name : walk.reached()) positions.push_back(positions_.at(name));
  std::sort(positions.begin(), positions.end());
  for (int32_t i : positions) {
    SLUICE_RETURN_IF_ERROR(part.library().Add(functions_[static_cast<size_t>(i)]));
  }
  for (const std::string& name : walk.reached()) {
    const absl::string_view gradient = library_.FindGradient(name);
    if (!walk.Reached(gradient)) continue;
    SLUICE_RETURN_IF_ERROR(part.library().AddGradient(name, gradient));
  }
  return absl::OkStatus();
}

}  // namespace sluice

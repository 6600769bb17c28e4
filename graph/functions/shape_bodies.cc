#include "graph/functions/shape_bodies.h"

#include <utility>
#include <vector>

#include "graph/functions/attr_binding.h"
#include "graph/functions/instantiate.h"

namespace sluice {

ShapeBodies::ShapeBodies(const Graph& graph, const LoadLimits& limits)
    : graph_(graph), nodes_left_(limits.max_expanded_nodes) {}

const Graph* ShapeBodies::Find(const Graph& /*caller*/, const FuncView& function) {
  const absl::StatusOr<BoundFunction> bound = BindFunction(graph_.library(), function.name, function.attrs);
  if (!bound.ok()) return nullptr;
  const auto [it, is_new] = bodies_.try_emplace(Canonicalize(bound->name(), bound->attrs));
  if (!is_new) return it->second.get();
  // A body without nodes costs something too.
  const int64_t nodes = static_cast<int64_t>(bound->definition->nodes.size()) + 1;
  if (nodes > nodes_left_) return nullptr;
  nodes_left_ -= nodes;
  InstantiateOptions options;
  options.with_library = false;
  options.versions = graph_.versions();
  absl::StatusOr<FunctionGraph> body = InstantiateFunction(graph_.library(), graph_.ops(), *bound, options);
  if (body.ok()) it->second = std::make_unique<const Graph>(std::move(body->graph));
  return it->second.get();
}

}  // namespace sluice

#include "graph/shapes/shape_map.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

// Outputs that get room of their own, for a graph of `nodes` nodes. A few bytes of a file can state 65,536 outputs.
size_t MaxOutputs(size_t nodes) { return (size_t{1} << 22) + 8 * nodes; }

// The mark of a constant that was looked at and is of no use: a scalar without an element.
bool IsUseless(const ShapeValue& value) { return value.is_scalar && value.elements.empty(); }

}  // namespace

ShapeMap::ShapeMap(const Graph& graph) {
  const size_t limit = static_cast<size_t>(graph.id_limit());
  first_.reserve(limit + 1);
  size_t total = 0;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    first_.push_back(static_cast<uint32_t>(total));
    if (!graph.Contains(NodeId(i))) continue;
    const size_t outputs = static_cast<size_t>(graph.num_outputs(NodeId(i)));
    if (total + outputs <= MaxOutputs(limit)) total += outputs;
  }
  first_.push_back(static_cast<uint32_t>(total));
  shapes_.resize(total);
  assumed_.resize(limit);
  conditional_.resize(limit);
  value_budget_ = dim_budget_ = handle_budget_ = ValueBudget(graph);
}

int64_t ShapeMap::ValueBudget(const Graph& graph) { return (int64_t{1} << 22) + 8 * int64_t{graph.id_limit()}; }

PartialShape* ShapeMap::Slot(const Output& output) {
  const size_t node = static_cast<size_t>(output.node.value());
  const size_t i = first_[node] + static_cast<size_t>(output.index);
  return i < first_[node + 1] ? &shapes_[i] : nullptr;
}

const PartialShape& ShapeMap::shape(const Output& output) const {
  static const PartialShape unknown;
  const PartialShape* slot = const_cast<ShapeMap*>(this)->Slot(output);
  return slot != nullptr ? *slot : unknown;
}

const ShapeValue* ShapeMap::value(const Output& output) const {
  const auto it = values_.find(output);
  return it == values_.end() || IsUseless(it->second) ? nullptr : &it->second;
}

void ShapeMap::SetValue(const Output& output, ShapeValue value) {
  const int64_t cost = static_cast<int64_t>(value.size()) + 1;
  if (value.size() > kMaxValueElements || value_budget_ < cost) return;
  value_budget_ -= cost;
  values_[output] = std::move(value);
}

void ShapeMap::SetShape(const Output& output, const PartialShape& shape) {
  constexpr int kLowRank = 8;  // Always kept: their number is bounded already.
  const auto cost = [](const PartialShape& s) { return s.rank() > kLowRank ? s.rank() : 0; };
  PartialShape* const slot = Slot(output);
  if (slot == nullptr) return;
  dim_budget_ += cost(*slot);
  if (cost(shape) > dim_budget_) {
    *slot = PartialShape();
    return;
  }
  dim_budget_ -= cost(shape);
  *slot = shape;
}

void ShapeMap::SetHandle(const Output& output, std::vector<PartialShape> shapes) {
  int64_t cost = 1;
  for (const PartialShape& shape : shapes) cost += 2 + std::max(shape.rank(), 0);
  if (cost > handle_budget_) {
    handles_.erase(output);
    return;
  }
  handle_budget_ -= cost;
  handles_[output] = std::move(shapes);
}

const std::vector<PartialShape>* ShapeMap::handle(const Output& output) const {
  const auto it = handles_.find(output);
  return it == handles_.end() ? nullptr : &it->second;
}

absl::Status ShapeMap::FirstCertainProblem() const {
  for (const ShapeProblem& problem : problems_) {
    if (problem.certain) return problem.status;
  }
  return absl::OkStatus();
}

}  // namespace sluice

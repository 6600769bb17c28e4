#include "graph/shapes/shape_map.h"

#include <algorithm>
#include <utility>

#include "graph/shapes/dims.h"

namespace sluice {

namespace {

// Outputs that get room of their own, for a graph of `nodes` nodes. A few bytes of a file can state 65,536 outputs.
size_t MaxOutputs(size_t nodes) { return (size_t{1} << 22) + 8 * nodes; }

// The mark of a constant that was looked at and is of no use: a scalar without an element.
bool IsUseless(const ShapeValue& value) { return value.is_scalar && value.elements.empty(); }

// The cost of a handle in the budget for these.
int64_t CostOf(const HandleData& parts) {
  int64_t cost = 1;
  for (const HandlePart& part : parts) cost += 2 + std::max(part.shape.rank(), 0);
  return cost;
}

}  // namespace

ShapeMap::ShapeMap(const Graph& graph) {
  first_.reserve(static_cast<size_t>(graph.id_limit()) + 1);
  Grow(graph);
  value_budget_ = dim_budget_ = handle_budget_ = ValueBudget(graph);
}

void ShapeMap::Grow(const Graph& graph) {
  const size_t limit = static_cast<size_t>(graph.id_limit());
  size_t total = first_.back();
  while (first_.size() <= limit) {
    const NodeId id(static_cast<int32_t>(first_.size()) - 1);
    if (graph.Contains(id)) {
      const size_t outputs = static_cast<size_t>(graph.num_outputs(id));
      if (total + outputs <= MaxOutputs(limit)) total += outputs;
    }
    first_.push_back(static_cast<uint32_t>(total));
  }
  const int64_t budget = 8 * (static_cast<int64_t>(limit) - static_cast<int64_t>(assumed_.size()));
  value_budget_ += budget;
  dim_budget_ += budget;
  handle_budget_ += budget;
  shapes_.resize(total);
  assumed_.resize(limit);
  conditional_.resize(limit);
}

bool ShapeMap::HasRoomFor(const Graph& graph, NodeId id) const {
  const size_t i = static_cast<size_t>(id.value());
  return first_[i] + static_cast<size_t>(graph.num_outputs(id)) == first_[i + 1];
}

int64_t ShapeMap::DimIdOf(const Output& output, int axis, int64_t base) const {
  const size_t node = static_cast<size_t>(output.node.value());
  const size_t i = first_[node] + static_cast<size_t>(output.index);
  return i < first_[node + 1] ? kFirstDimId - base - static_cast<int64_t>(i) * kIdsPerOutput - axis : 0;
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
  return it == values_.end() || IsUseless(it->second.value) ? nullptr : &it->second.value;
}

void ShapeMap::SetValue(const Output& output, ShapeValue value) {
  const int64_t cost = static_cast<int64_t>(value.size()) + 1;
  if (value.size() > kMaxValueElements || value_budget_ < cost) return;
  EraseValue(output);
  value_budget_ -= cost;
  values_[output] = {std::move(value), cost};
}

void ShapeMap::EraseValue(const Output& output) {
  const auto it = values_.find(output);
  if (it == values_.end()) return;
  value_budget_ += it->second.cost;
  values_.erase(it);
}

void ShapeMap::ClearAllButShapes(const Graph& graph) {
  values_.clear();
  handles_.clear();
  problems_.clear();
  problem_at_.clear();
  value_budget_ = handle_budget_ = ValueBudget(graph);
}

void ShapeMap::AddProblem(ShapeProblem problem) {
  EraseProblemOf(problem.node);
  problem_at_[problem.node] = problems_.size();
  problems_.push_back(std::move(problem));
}

void ShapeMap::EraseProblemOf(NodeId id) {
  const auto it = problem_at_.find(id);
  if (it == problem_at_.end()) return;
  const size_t at = it->second;
  problem_at_.erase(it);
  if (at + 1 != problems_.size()) {
    problems_[at] = std::move(problems_.back());
    problem_at_[problems_[at].node] = at;
  }
  problems_.pop_back();
}

bool ShapeMap::HaveSameSize(const Output& a, int axis_a, const Output& b, int axis_b) const {
  const PartialShape& of_a = shape(a);
  const PartialShape& of_b = shape(b);
  if (axis_a < 0 || axis_b < 0 || axis_a >= of_a.rank() || axis_b >= of_b.rank()) return false;
  return IsSameDim(of_a.dim(axis_a), of_b.dim(axis_b));
}

bool ShapeMap::HaveSameShape(const Output& a, const Output& b) const {
  const PartialShape& of_a = shape(a);
  const PartialShape& of_b = shape(b);
  return of_a.has_rank() && of_b.has_rank() &&
         std::equal(of_a.dims().begin(), of_a.dims().end(), of_b.dims().begin(), of_b.dims().end(), IsSameDim);
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

void ShapeMap::SetHandle(const Output& output, HandleData parts) {
  EraseHandle(output);
  const int64_t cost = CostOf(parts);
  if (cost > handle_budget_) return;
  handle_budget_ -= cost;
  for (HandlePart& part : parts) part.shape = part.shape.WithoutIds();
  handles_[output] = std::move(parts);
}

void ShapeMap::EraseHandle(const Output& output) {
  const auto it = handles_.find(output);
  if (it == handles_.end()) return;
  handle_budget_ += CostOf(it->second);
  handles_.erase(it);
}

const HandleData* ShapeMap::handle(const Output& output) const {
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

#include "graph/passes/common_subexpression.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/hash/hash.h"
#include "graph/base/big_vector.h"
#include "graph/base/status_macros.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/output_replacer.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

// Larger values of attrs are compared by where they are.
constexpr size_t kMaxComparedBytes = 4096;

// Whether results of a commutative op are the same bits whatever the order of its inputs. Of two NaNs, an addition of
// floats gives that of the first.
bool IsOrderFree(const Graph& graph, NodeId id) {
  if (!graph.op(id).is_commutative || graph.inputs(id).size() != 2) return false;
  const DType type = graph.output_type(id, 0);
  return IsInteger(type) || type == DType::kBool;
}

bool Before(const Output& a, const Output& b) { return a.node != b.node ? a.node < b.node : a.index < b.index; }

bool IsSameValue(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  return a.data() == b.data() || (a.size() <= kMaxComparedBytes && std::memcmp(a.data(), b.data(), a.size()) == 0);
}

// Whether the graph's ids are an order already: then none has to be made.
bool AreIdsInOrder(const Graph& graph) {
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    for (const Output& input : graph.all_inputs(NodeId(i))) {
      if (input.node.value() >= i && !IsBackEdge(graph, NodeId(i), input)) return false;
    }
  }
  return true;
}

// One run over one graph. The nodes seen so far are in a table by hash; what two of them share is looked up in the
// graph when their hashes are equal.
class NodeJoiner {
 public:
  NodeJoiner(GraphEditor& edit, const PassContext& context)
      : edit_(edit), graph_(edit.graph()), context_(context), pure_(graph_, context) {}

  absl::StatusOr<int64_t> Run() {
    size_t capacity = 16;
    while (capacity < graph_.num_nodes() * 2) capacity *= 2;
    slots_.resize(capacity);
    if (AreIdsInOrder(graph_)) {
      for (int32_t i = 0; i < graph_.id_limit(); ++i) {
        if (graph_.Contains(NodeId(i))) SLUICE_RETURN_IF_ERROR(Visit(NodeId(i)));
      }
    } else {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
      for (NodeId id : order) SLUICE_RETURN_IF_ERROR(Visit(id));
    }
    SLUICE_RETURN_IF_ERROR(replacer_.Apply(edit_));
    SLUICE_RETURN_IF_ERROR(edit_.RemoveAll(redundant_));
    return static_cast<int64_t>(redundant_.size());
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    NodeId node;
  };

  absl::Status Visit(NodeId id) {
    SLUICE_RETURN_IF_ERROR(PollStop(context_.stop));
    if (!pure_.Contain(id)) return absl::OkStatus();
    FindInputs(id, &inputs_);
    const uint32_t hash = HashOf(id);
    const size_t mask = slots_.size() - 1;
    size_t i = hash & mask;
    for (; slots_[i].node.valid(); i = (i + 1) & mask) {
      if (slots_[i].hash == hash && AreAlike(id, slots_[i].node)) {
        Join(id, slots_[i].node);
        return absl::OkStatus();
      }
    }
    slots_[i] = {hash, id};
    return absl::OkStatus();
  }

  void Join(NodeId id, NodeId other) {
    for (int32_t i = kControlIndex; i < graph_.num_outputs(id); ++i) {
      replacer_.Replace(Output{id, i}, Output{other, i});
    }
    if (!context_.IsKept(id)) redundant_.push_back(id);
  }

  // Data, then controls, as replaced so far; sorted where their order means nothing.
  void FindInputs(NodeId id, std::vector<Output>* inputs) const {
    inputs->clear();
    for (const Output& input : graph_.all_inputs(id)) inputs->push_back(replacer_.Resolve(input));
    const auto data_end = inputs->begin() + static_cast<std::ptrdiff_t>(graph_.inputs(id).size());
    if (IsOrderFree(graph_, id)) std::sort(inputs->begin(), data_end, Before);
    std::sort(data_end, inputs->end(), Before);
    inputs->erase(std::unique(data_end, inputs->end()), inputs->end());
  }

  // Of all that AreAlike compares: else many nodes that differ in one thing would all be compared with each other.
  uint32_t HashOf(NodeId id) const {
    size_t attrs = 0;  // A sum: attrs stand in any order.
    graph_.ForEachAttr(id, [&attrs](absl::string_view name, absl::string_view value) {
      const bool is_large = value.size() > kMaxComparedBytes;
      attrs += is_large ? absl::HashOf(name, static_cast<const void*>(value.data())) : absl::HashOf(name, value);
    });
    const size_t hash = absl::HashOf(&graph_.op(id), graph_.device(id), inputs_, attrs);
    return static_cast<uint32_t>(hash ^ (hash >> 32));
  }

  // `inputs_` are those of `a`.
  bool AreAlike(NodeId a, NodeId b) {
    if (&graph_.op(a) != &graph_.op(b) || graph_.device(a) != graph_.device(b) || !HaveSameAttrs(a, b)) return false;
    FindInputs(b, &other_inputs_);
    return inputs_ == other_inputs_ && graph_.inputs(a).size() == graph_.inputs(b).size();
  }

  bool HaveSameAttrs(NodeId a, NodeId b) const {
    size_t num_a = 0, num_b = 0;
    graph_.ForEachAttr(b, [&num_b](absl::string_view, absl::string_view) { ++num_b; });
    bool is_same = true;
    graph_.ForEachAttr(a, [&](absl::string_view name, absl::string_view value) {
      ++num_a;
      bool is_found = false;
      graph_.ForEachAttr(b, [&](absl::string_view other, absl::string_view other_value) {
        is_found = is_found || (other == name && IsSameValue(value, other_value));
      });
      is_same = is_same && is_found;
    });
    return is_same && num_a == num_b;
  }

  GraphEditor& edit_;
  const Graph& graph_;
  const PassContext& context_;
  PureNodes pure_;
  BigVector<Slot> slots_;  // A power of two of them, at most half full.
  OutputReplacer replacer_;
  std::vector<NodeId> redundant_;
  std::vector<Output> inputs_, other_inputs_;  // Of the nodes compared now.
};

}  // namespace

absl::StatusOr<int64_t> CommonSubexpressionPass::Run(GraphEditor& edit, const PassContext& context) const {
  return NodeJoiner(edit, context).Run();
}

}  // namespace sluice

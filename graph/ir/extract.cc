#include "graph/ir/extract.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "graph/base/hash_table.h"

namespace sluice {
namespace {

// From a node in this many on, a table of all ids costs little beside the nodes.
constexpr size_t kIdsPerNode = 256;

}  // namespace

MovedNodes::MovedNodes(std::vector<NodeId> ascending, int32_t id_limit) {
  const size_t limit = static_cast<size_t>(id_limit);
  if (ascending.size() < limit / kIdsPerNode) {
    ascending_ = std::move(ascending);
    return;
  }
  table_.resize(limit);
  for (size_t i = 0; i < ascending.size(); ++i) {
    table_[static_cast<size_t>(ascending[i].value())] = NodeId(static_cast<int32_t>(i));
  }
}

NodeId MovedNodes::Search(NodeId old) const {
  const auto found = std::lower_bound(ascending_.begin(), ascending_.end(), old);
  if (found == ascending_.end() || *found != old) return NodeId();
  return NodeId(static_cast<int32_t>(found - ascending_.begin()));
}

// Has access to Graph's records. Lives for one call.
class GraphExtractor {
 public:
  // `new_ids` is of the size of the graph, and invalid for all nodes to extract and whatever they must not be
  // connected to.
  GraphExtractor(const Graph& from, std::vector<NodeId>& new_ids) : from_(from), to_(from.ops_), new_ids_(&new_ids) {}
  // `moved` knows the nodes to extract.
  GraphExtractor(const Graph& from, const MovedNodes& moved) : from_(from), to_(from.ops_), moved_(&moved) {}

  // `library` is that of the new graph; schemas of `kept`, or null, live as long as it does.
  Graph Run(absl::Span<const NodeId> nodes, const FunctionLibrary& library,
            std::shared_ptr<const FunctionLibrary> kept) {
    CopyTables();
    to_.library_ = library;
    if (kept != nullptr) to_.owners_.emplace(kept.get(), std::move(kept));
    for (size_t i = 0; i < nodes.size() && new_ids_ != nullptr; ++i) {
      (*new_ids_)[static_cast<size_t>(nodes[i].value())] = NodeId(static_cast<int32_t>(i));
    }
    Reserve(nodes);
    interns_symbols_ = to_.attrs_.capacity() < from_.symbols_.size();
    if (!interns_symbols_) CopySymbols();
    for (NodeId id : nodes) CopyNode(from_.rec(id));
    to_.num_live_ = nodes.size();
    CopyNames(nodes.size());
    return std::move(to_);
  }

 private:
  // What nodes refer to by number or by pointer.
  void CopyTables() {
    to_.signatures_ = from_.signatures_;
    to_.arena_ = from_.arena_;
    to_.sources_ = from_.sources_;
    to_.source_files_ = from_.source_files_;
    to_.owners_ = from_.owners_;
    to_.versions_ = from_.versions_;
    to_.unknown_fields_ = from_.unknown_fields_;
  }

  void CopySymbols() {
    to_.symbols_ = from_.symbols_;
    to_.symbol_ids_ = from_.symbol_ids_;
  }

  NodeId NewId(NodeId old) const {
    return new_ids_ != nullptr ? (*new_ids_)[static_cast<size_t>(old.value())] : moved_->Of(old);
  }

  void Reserve(absl::Span<const NodeId> nodes) {
    size_t num_inputs = 0, num_attrs = 0;
    for (NodeId id : nodes) {
      const Graph::Record& record = from_.rec(id);
      num_inputs += record.num_inputs + record.num_controls;
      num_attrs += record.num_attrs;
    }
    // Rewrites add some: what is not used is address space only, and growing means a copy of all.
    const auto with_room = [](size_t count) { return count + count / 32 + 8; };
    to_.nodes_.reserve(with_room(nodes.size()));
    to_.inputs_.reserve(with_room(num_inputs));
    to_.attrs_.reserve(with_room(num_attrs));
    to_.names_.Reserve(nodes.size());
  }

  // Hashing a name means a look at its bytes, in the file: of many, the hashes are taken over.
  void CopyNames(size_t count) {
    if (count > from_.num_live_ / 16) {
      const auto new_number = [this](int32_t old) { return NewId(NodeId(old)).value(); };
      to_.names_.InsertAll(from_.names_, new_number);
      return;
    }
    for (int32_t i = 0; i < to_.id_limit(); ++i) to_.names_.Insert(NameTable::Hash(to_.name(NodeId(i))), i);
  }

  void CopyNode(const Graph::Record& old) {
    Graph::Record record = old;
    record.device = NewDevice(old.device);
    record.first_input = static_cast<uint32_t>(to_.inputs_.size());
    record.num_controls = 0;
    for (uint32_t i = 0; i < old.num_inputs + old.num_controls; ++i) {
      Output input = from_.inputs_[old.first_input + i];
      input.node = input.is_set() ? NewId(input.node) : NodeId();
      if (i >= old.num_inputs) {
        if (!input.is_set()) continue;
        ++record.num_controls;
      }
      to_.inputs_.push_back(input);
    }
    record.input_capacity = record.num_inputs + record.num_controls;
    record.first_attr = static_cast<uint32_t>(to_.attrs_.size());
    const auto attrs = from_.attrs_.begin() + old.first_attr;
    to_.attrs_.insert(to_.attrs_.end(), attrs, attrs + old.num_attrs);
    if (interns_symbols_) {
      for (auto attr = to_.attrs_.begin() + record.first_attr; attr != to_.attrs_.end(); ++attr) {
        attr->name = to_.InternSymbol(from_.symbols_[attr->name]);
      }
    }
    to_.nodes_.push_back(record);
  }

  // Numbers of devices are the graph's own: a part of a graph on many devices gets those of its nodes only.
  uint32_t NewDevice(uint32_t old) {
    const auto [known, is_new] = devices_.try_emplace(old, 0);
    if (is_new) known->second = to_.InternDevice(from_.devices_[old]);
    return known->second;
  }

  const Graph& from_;
  Graph to_;
  HashMap<uint32_t, uint32_t> devices_;
  bool interns_symbols_ = false;  // The graph has more names of attrs than the nodes have attrs.
  // One of the two says where nodes go.
  std::vector<NodeId>* const new_ids_ = nullptr;
  const MovedNodes* const moved_ = nullptr;
};

Graph ExtractNodes(const Graph& graph, absl::Span<const NodeId> nodes, std::vector<NodeId>* new_ids) {
  new_ids->assign(static_cast<size_t>(graph.id_limit()), NodeId());
  return GraphExtractor(graph, *new_ids).Run(nodes, graph.library(), nullptr);
}

Graph ExtractNodes(const Graph& graph, const std::vector<NodeId>& ascending, ExtractedLibrary library,
                   MovedNodes* moved) {
  *moved = MovedNodes(ascending, graph.id_limit());
  const bool is_empty = library == ExtractedLibrary::kNone;
  return GraphExtractor(graph, *moved).Run(ascending, is_empty ? FunctionLibrary() : graph.library(), nullptr);
}

std::vector<Graph> ExtractParts(const Graph& graph, absl::Span<const std::vector<NodeId>> parts,
                                std::vector<NodeId>* new_ids) {
  new_ids->assign(static_cast<size_t>(graph.id_limit()), NodeId());
  std::vector<NodeId> of_part(new_ids->size());
  const auto library = std::make_shared<const FunctionLibrary>(graph.library());
  std::vector<Graph> graphs;
  for (const std::vector<NodeId>& nodes : parts) {
    graphs.push_back(GraphExtractor(graph, of_part).Run(nodes, FunctionLibrary(), library));
    for (NodeId id : nodes)
      std::swap((*new_ids)[static_cast<size_t>(id.value())], of_part[static_cast<size_t>(id.value())]);
  }
  return graphs;
}

}  // namespace sluice

#ifndef SLUICE_GRAPH_IR_GRAPH_H_
#define SLUICE_GRAPH_IR_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/big_vector.h"
#include "graph/base/hash_table.h"
#include "graph/base/strong_id.h"
#include "graph/ir/attr.h"
#include "graph/ir/function_library.h"
#include "graph/ir/name_table.h"
#include "graph/ir/op_registry.h"
#include "graph/ir/signature.h"
#include "graph/ir/source_file.h"
#include "graph/ir/string_arena.h"
#include "graph/ir/tensor_id.h"

namespace sluice {

// One output of a node, or (index kControlIndex) the node as a control predecessor.
struct Output {
  NodeId node;
  int32_t index = 0;

  bool is_control() const { return index < 0; }
  bool is_set() const { return node.value() >= 0; }
  friend bool operator==(const Output& a, const Output& b) { return a.node == b.node && a.index == b.index; }
  friend bool operator!=(const Output& a, const Output& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Output& o) {
    return H::combine(std::move(h), o.node.value(), o.index);
  }
};

// Versions a graph states (VersionDef).
struct GraphVersions {
  int32_t producer = 0;
  int32_t min_consumer = 0;
  std::vector<int32_t> bad_consumers;
};

// The version of the graph format that we read and write: that of TensorFlow 2.19.
inline constexpr int32_t kGraphVersion = 2129;

// A new node. AddNode copies views and spans.
struct NodeSpec {
  absl::string_view name;
  absl::string_view op;
  std::vector<Output> inputs;  // An unset Output leaves the input open: SetInput must follow (loop back edges).
  std::vector<NodeId> controls;
  std::vector<std::pair<std::string, AttrValue>> attrs;
  absl::string_view device;
  // The NodeDef of a node from a file (in a function's body), for Graph::Locate.
  absl::string_view source = {};
  // More attrs, whose bytes are not copied. For constants of function bodies.
  std::vector<NamedAttr> kept_attrs = {};
  // Keeps the bytes of `source` and `kept_attrs` alive; the graph keeps it. Null: they outlive the graph.
  std::shared_ptr<const void> source_owner = nullptr;
};

// Nodes, edges and attrs as compact integer-indexed records; names interned; attrs as encoded slices (Note [Encoded
// attrs]). A node knows its inputs; the consumers of an output are in a Consumers index, made when needed
// (consumers.h). Removed nodes leave a hole: ids stay valid, iterate with `Nodes()` or test Contains(). Ownership:
// keeps the bytes it was imported from alive; copies are deep but share that memory. Thread-safety: const methods from
// any thread; changes need exclusive access.
class Graph {
 public:
  // `ops` has the known ops; functions of library() shadow it.
  explicit Graph(std::shared_ptr<const OpRegistry> ops);
  Graph(const Graph&) = default;
  Graph(Graph&&) noexcept = default;
  Graph& operator=(const Graph&) = default;
  Graph& operator=(Graph&&) noexcept = default;
  ~Graph() = default;

  // --- Nodes ---------------------------------------------------------------------------------------------------
  size_t num_nodes() const { return num_live_; }
  // One past the largest id ever given: the size for arrays indexed by node.
  int32_t id_limit() const { return static_cast<int32_t>(nodes_.size()); }
  bool Contains(NodeId id) const { return id.value() >= 0 && id.value() < id_limit() && rec(id).op != nullptr; }
  // Live nodes in ascending order of id.
  std::vector<NodeId> Nodes() const;
  // The node called `name`, or an invalid id.
  NodeId Find(absl::string_view name) const;

  absl::string_view name(NodeId id) const { return {rec(id).name, rec(id).name_size}; }
  const OpSchema& op(NodeId id) const { return *rec(id).op; }
  // Empty for a removed node, whose op and types must not be read.
  absl::string_view op_name(NodeId id) const {
    const OpSchema* const schema = rec(id).op;
    return schema != nullptr ? absl::string_view(schema->name) : absl::string_view();
  }
  // Types of inputs and outputs under the node's attrs.
  const Signature& signature(NodeId id) const { return *rec(id).signature; }
  DType input_type(NodeId id, int32_t i) const { return signature(id).inputs[static_cast<size_t>(i)]; }
  DType output_type(NodeId id, int32_t i) const { return signature(id).outputs[static_cast<size_t>(i)]; }
  int32_t num_outputs(NodeId id) const { return static_cast<int32_t>(signature(id).outputs.size()); }
  absl::Span<const Output> inputs(NodeId id) const {
    return {inputs_.data() + rec(id).first_input, rec(id).num_inputs};
  }
  // Control predecessors (index kControlIndex), without repetitions.
  absl::Span<const Output> controls(NodeId id) const {
    return {inputs_.data() + rec(id).first_input + rec(id).num_inputs, rec(id).num_controls};
  }
  // Data inputs, then control inputs.
  absl::Span<const Output> all_inputs(NodeId id) const {
    return {inputs_.data() + rec(id).first_input, rec(id).num_inputs + rec(id).num_controls};
  }
  absl::string_view device(NodeId id) const { return devices_[rec(id).device]; }
  bool Is(NodeId id, absl::string_view op) const { return op_name(id) == op; }

  // "node:1" (":0" left out), "^node".
  std::string OutputName(const Output& output) const;
  // The endpoint called `text`; kInputUnknown / kInputSlot otherwise.
  absl::StatusOr<Output> FindOutput(absl::string_view text) const;

  // --- Attrs ---------------------------------------------------------------------------------------------------
  // Attrs the node itself states, without defaults.
  std::vector<NamedAttr> attrs(NodeId id) const;
  // Calls `visit(name, encoded value)` for each of them, without a list.
  template <typename Visit>
  void ForEachAttr(NodeId id, Visit&& visit) const {
    const Record& record = rec(id);
    for (uint32_t i = record.first_attr; i < record.first_attr + record.num_attrs; ++i) {
      visit(symbols_[attrs_[i].name], absl::string_view(attrs_[i].data, attrs_[i].size));
    }
  }
  // The node's value, else the op's default; false when there is neither.
  bool FindAttr(NodeId id, absl::string_view name, AttrView* value) const;
  bool HasAttr(NodeId id, absl::string_view name) const;
  // Typed readers; errors name node, op and attr. kAttrMissing when there is no value.
  absl::StatusOr<AttrView> GetAttr(NodeId id, absl::string_view name) const;
  absl::StatusOr<int64_t> GetInt(NodeId id, absl::string_view name) const;
  absl::StatusOr<bool> GetBool(NodeId id, absl::string_view name) const;
  absl::StatusOr<float> GetFloat(NodeId id, absl::string_view name) const;
  absl::StatusOr<absl::string_view> GetString(NodeId id, absl::string_view name) const;
  absl::StatusOr<DType> GetType(NodeId id, absl::string_view name) const;
  absl::StatusOr<PartialShape> GetShape(NodeId id, absl::string_view name) const;

  // --- Changes -------------------------------------------------------------------------------------------------
  // On error the graph is as before. A node that is not in the graph (removed, or an id of another graph) is
  // kNodeMissing, both as node to change and as predecessor; except that AddNode and SetInputs accept control edges
  // from removed nodes, which rewrites replace at their end.

  // Checks all rules of import: name, op, attrs, arity, types.
  absl::StatusOr<NodeId> AddNode(const NodeSpec& spec);
  // Unlinks it as a consumer; no-op when it is not there. Replace all inputs that refer to it; CheckRunnable
  // (runnable_check.h) reports those left.
  void RemoveNode(NodeId id);
  // Re-points data input `i`. INVALID_ARGUMENT when types do not fit.
  absl::Status SetInput(NodeId id, int32_t i, Output source);
  // Adds a control edge unless it is there. Amortised constant time.
  absl::Status AddControl(NodeId id, NodeId predecessor);
  // These two do nothing without such a node or edge.
  void RemoveControl(NodeId id, NodeId predecessor);
  void RemoveAllControls(NodeId id);
  // Replaces inputs and controls as a whole (types as in SetInput).
  absl::Status SetInputs(NodeId id, absl::Span<const Output> inputs, absl::Span<const NodeId> controls);
  // REQUIRES: Contains(id).
  void SetDevice(NodeId id, absl::string_view device);
  // Sets or replaces an attr. Re-checks the op's rules; types of the node may change with it as far as its edges allow:
  // inputs that are set, and the consumers of its outputs. Linear in the graph where types of outputs change, else in
  // the node.
  absl::Status SetAttr(NodeId id, absl::string_view name, const AttrValue& value);
  // Removes an attr, so that the op's default holds; the same checks. OK if the node does not have it.
  absl::Status RemoveAttr(NodeId id, absl::string_view name);
  // ALREADY_EXISTS-like kNodeDuplicate when taken.
  absl::Status Rename(NodeId id, absl::string_view name);
  // `prefix`, or "prefix_1", "prefix_2", ...: a name that no node has.
  std::string UniqueName(absl::string_view prefix) const;

  // --- The rest of a GraphDef ------------------------------------------------------------------------------------
  GraphVersions& versions() { return versions_; }
  const GraphVersions& versions() const { return versions_; }
  FunctionLibrary& library() { return library_; }
  const FunctionLibrary& library() const { return library_; }
  const std::shared_ptr<const OpRegistry>& ops() const { return ops_; }
  // The schema that `op` has here (function or registry), or null.
  const OpSchema* FindOp(absl::string_view op) const;
  // The signatures of nodes, for rewrites that need those of nodes before adding them. Thread-safe.
  SignatureCache& signature_cache() const { return *signatures_; }
  // Unknown fields of the GraphDef message, written back on export.
  const std::string& unknown_fields() const { return unknown_fields_; }

  // The position that the node had among the nodes of its file; -1 for nodes of function bodies and nodes made here.
  int64_t source_index(NodeId id) const { return rec(id).source_index; }
  // The NodeDef bytes that a node of the file came from; empty where source_index is -1. Names in it may be outdated
  // by changes.
  absl::string_view source_bytes(NodeId id) const {
    return rec(id).source_index < 0 ? absl::string_view() : absl::string_view(rec(id).source, rec(id).source_size);
  }
  // The owner of `bytes`, part of an imported file (an attr's value). Null: they are not of a file, or the importing
  // caller keeps the file.
  std::shared_ptr<const void> SourceOwner(absl::string_view bytes) const;
  // An error about this node, with op, name and place in the file filled in.
  absl::Status Locate(NodeId id, const absl::Status& status) const;
  // The files that nodes and functions of the graph came from, in the order of the imports. Appendable, for a graph
  // made from a part of such a file, as a function's body.
  absl::Span<const std::shared_ptr<const SourceFile>> source_files() const { return source_files_; }
  void AddSourceFiles(absl::Span<const std::shared_ptr<const SourceFile>> files) {
    source_files_.insert(source_files_.end(), files.begin(), files.end());
  }

  // Bytes held by this graph beside the source it was imported from.
  size_t MemoryBytes() const;

 private:
  friend class GraphImporter;
  friend class GraphExtractor;

  // 72 bytes a node; see name_table.h for the names' index.
  struct Record {
    const char* name = nullptr;
    const OpSchema* op = nullptr;  // Null for a removed node.
    const Signature* signature = nullptr;
    const char* source = nullptr;  // NodeDef bytes.
    uint32_t name_size = 0;
    uint32_t source_size = 0;
    uint32_t device = 0;       // Index in devices_.
    uint32_t first_input = 0;  // In inputs_: data, then control.
    uint32_t num_inputs = 0;
    uint32_t num_controls = 0;
    uint32_t input_capacity = 0;
    uint32_t first_attr = 0;  // In attrs_.
    uint32_t num_attrs = 0;
    int32_t source_index = -1;
  };
  // Checks the nodes that AddNode adds; see graph_changes.cc.
  class AddedNodeChecker;
  // A cache that is not copied with the graph.
  template <typename T>
  class Uncopied {
   public:
    Uncopied() = default;
    Uncopied(const Uncopied&) {}
    Uncopied(Uncopied&&) noexcept = default;
    Uncopied& operator=(const Uncopied&) { return *this = Uncopied(); }
    Uncopied& operator=(Uncopied&&) noexcept = default;
    ~Uncopied() = default;

    std::shared_ptr<T>& get() { return kept_; }

   private:
    std::shared_ptr<T> kept_;  // Not shared; a shared_ptr so that T may be incomplete.
  };
  // Imported bytes, and what keeps them alive.
  struct Source {
    std::shared_ptr<const void> owner;
    absl::string_view bytes;
  };
  struct AttrRecord {
    uint32_t name;  // Index in symbols.
    uint32_t size;
    const char* data;
  };
  // From this many control inputs on, a node's are looked up in a set.
  static constexpr uint32_t kManyControls = 16;

  Record& rec(NodeId id) { return nodes_[static_cast<size_t>(id.value())]; }
  const Record& rec(NodeId id) const { return nodes_[static_cast<size_t>(id.value())]; }
  // Find, given the name's hash.
  NodeId FindHashed(absl::string_view name, uint32_t hash) const {
    return NodeId(names_.Find(name, hash, [this](int32_t i) { return this->name(NodeId(i)); }));
  }
  absl::Status CheckEdge(NodeId id, int32_t i, Output source) const;
  // The same for a node whose input `i` has, or is to have, the type `wanted`.
  absl::Status CheckEdgeType(NodeId id, int32_t i, Output source, DType wanted) const;
  // Whether CheckEdgeType is OK.
  bool IsGoodEdge(const Output& source, DType wanted) const;
  // The schema of `op`, and its signature under `attrs`; errors know neither node nor op.
  absl::Status CheckAdded(absl::string_view op, absl::Span<const NamedAttr> attrs, Record* record);
  // The error of the first bad edge of `spec` for a node with `record`.
  absl::Status EdgeErrorOf(const NodeSpec& spec, const Record& record);
  absl::Status CheckContains(NodeId id) const;
  absl::Status CheckControls(absl::Span<const NodeId> controls) const;
  // Gives `id` the attrs `all` when rules and edges allow them. Their bytes live as long as the graph.
  absl::Status ReplaceAttrs(NodeId id, absl::Span<const NamedAttr> all);
  // Whether the edges of `id` allow it the types of `signature`.
  absl::Status CheckEdgesUnder(NodeId id, const Signature& signature) const;
  bool HasControl(NodeId id, NodeId predecessor);
  // Gives `record` these inputs; repeated controls count once.
  void StoreInputs(absl::Span<const Output> inputs, absl::Span<const NodeId> controls, Record* record);
  // The number of `device` among those of the graph, or -1.
  int32_t FindDevice(absl::string_view device, uint32_t hash) const {
    return device_ids_.Find(device, hash, [this](int32_t i) { return devices_[static_cast<size_t>(i)]; });
  }
  uint32_t InternDevice(absl::string_view device);
  uint32_t InternSymbol(absl::string_view name);

  std::shared_ptr<const OpRegistry> ops_;
  FunctionLibrary library_;
  std::shared_ptr<SignatureCache> signatures_;
  BigVector<Record> nodes_;
  size_t num_live_ = 0;
  BigVector<Output> inputs_;
  BigVector<AttrRecord> attrs_;
  NameTable names_;
  std::vector<absl::string_view> symbols_;
  NameTable symbol_ids_;  // Not Abseil's, which breaks if growing throws: this survives that.
  std::vector<absl::string_view> devices_;
  NameTable device_ids_;  // The same.
  StringArena arena_;
  std::vector<Source> sources_;                                  // Keeps imported bytes alive.
  std::vector<std::shared_ptr<const SourceFile>> source_files_;  // In order of import.
  HashMap<const void*, std::shared_ptr<const void>> owners_;     // NodeSpec::source_owner, by address.
  // Control predecessors of nodes with many, made by AddControl; dropped when other changes outdate them.
  HashMap<int32_t, HashSet<int32_t>> many_controls_;
  Uncopied<AddedNodeChecker> added_check_;
  GraphVersions versions_;
  std::string unknown_fields_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_GRAPH_H_

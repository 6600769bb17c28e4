#ifndef SLUICE_GRAPH_IR_GRAPH_IMPORTER_H_
#define SLUICE_GRAPH_IR_GRAPH_IMPORTER_H_

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/ir/import.h"
#include "graph/ir/name_table.h"
#include "graph/ir/node_check.h"
#include "graph/ir/node_def.h"
#include "graph/ir/tensor_id.h"
#include "graph/wire/wire_reader.h"

namespace sluice {

// Note [Import]
// A look through all messages (Note [Message form]), then four passes over the bytes, none recursive, all linear:
//  1. Scan: top-level fields; counts nodes, reads versions, collects functions.
//  2. Nodes: takes each NodeDef apart, looks up its op, checks attrs, finds its signature, stores name and attr slices.
//     Inputs are stored as {offset, length} of their text in the file, in the place where the edges will be.
//  3. Inputs: resolves the texts to edges, in place, and checks slots and types.
//  4. Order: refuses cycles that no NextIteration closes.
// Errors are collected over a pass; a later pass runs only when the earlier ones found none, except that inputs are
// checked for the nodes that were sound, so that one wrong op does not hide wrong edges elsewhere.
//
// Does one import into one graph. Borrows both; lives for the import.
class GraphImporter {
 public:
  GraphImporter(Graph& graph, GraphSource source, const ImportOptions& options);

  // On error the graph is as before.
  absl::StatusOr<ImportResult> Run();

 private:
  // A file with more errors than this is not read to its end.
  static constexpr size_t kMaxCountedErrors = 100'000;

  struct OpaqueNodes;
  // The ops of the graph imported into, functions included.
  class GraphOps : public NodeChecker::Ops {
   public:
    explicit GraphOps(const Graph& graph) : graph_(graph) {}
    const OpSchema* FindOp(absl::string_view op) const override { return graph_.FindOp(op); }
    std::vector<std::string> NearOps(absl::string_view op) const override { return graph_.ops()->Nearest(op, 2); }

   private:
    const Graph& graph_;
  };
  // What to go back to on error.
  struct Mark {
    size_t nodes, inputs, attrs, live, sources, source_files, unknown_fields;
    absl::string_view last_source;  // Bytes of it; it may grow.
    GraphVersions versions;
  };
  // Where an endpoint named by the file leads in the graph imported into.
  struct Mapped {
    Output to;
    bool used = false;
  };

  Mark MakeMark() const;
  void Rollback(Mark mark);
  absl::Status CheckSize() const;
  // Refuses text that is not UTF-8 and merges what stands in the file twice.
  absl::Status TakeForm();
  // Adds to `status`, which names a byte, the place of the node that this byte is in; unchanged outside of nodes.
  absl::Status LocateInNode(const absl::Status& status) const;
  absl::Status Scan();
  absl::Status ReadVersions(absl::string_view bytes, size_t offset);
  absl::Status CheckVersions(const GraphVersions& versions) const;
  bool StatesVersions() const {
    return versions_.producer != 0 || versions_.min_consumer != 0 || !versions_.bad_consumers.empty();
  }
  // Checks that an addition states the versions of the graph, or none.
  absl::Status CheckSameVersions() const;
  absl::Status ReadLibrary(absl::string_view bytes, size_t offset);
  absl::Status PrepareOptions();
  void MergeVersions();
  // Lets the graph keep the bytes alive.
  void KeepSource();
  int32_t& ControlMark(NodeId control);

  // A name of the graph, and its hash.
  struct HashedName {
    absl::string_view text;
    uint32_t hash = 0;
  };
  static HashedName Hashed(absl::string_view name) { return {name, NameTable::Hash(name)}; }
  // A NodeDef taken apart, or why it cannot be.
  struct ReadNode {
    NodeDefView def;
    absl::Status status;
    uint32_t name_hash = 0;
  };
  // An input's text taken apart before its node is linked.
  struct ReadInput {
    uint32_t position = std::numeric_limits<uint32_t>::max();  // In the edge array.
    uint32_t hash = 0;                                         // Of id.node.
    TensorId id;
  };
  // How many inputs ahead of the one that is linked names are hashed: what a load from memory takes.
  static constexpr uint32_t kInputsAhead = 16;

  absl::Status AddNodes();
  // Makes room for all nodes.
  void ReserveNodes();
  // Reads the next node of the file into next_, and fetches its name's place in the name table into the cache.
  // False at the end.
  bool ReadNextNode(WireReader* reader);
  absl::Status AddNode(int32_t index);
  // The name that node_ gets in the graph; kNodeName, kNodeDuplicate.
  absl::StatusOr<HashedName> ImportedName();
  bool IsMappedAway(const Signature& signature) const;
  void StoreAttrs(Graph::Record* record);
  // Gives colocation groups ("_class") of the new nodes the names that the nodes in them got.
  void RenameColocationGroups();
  AttrValue RenamedGroups(absl::Span<const absl::string_view> groups) const;
  absl::Status StoreInputTexts(const Signature& signature, Graph::Record* record);

  // kOpUnknown for the node being read; near names are looked up once for each op.
  absl::Status UnknownOp();

  absl::Status LinkInputs();
  absl::Status LinkNode(NodeId id);
  // Takes the text at `position` of the edge array apart and fetches its name's place in the name table.
  void ReadInputAhead(uint32_t position);
  // What ReadInputAhead found at `position`; found now where it was not there.
  const ReadInput& InputAt(uint32_t position);
  // Where `id` leads: an unset Output when nowhere. `hash` is that of the name in it.
  Output Resolve(const TensorId& id, uint32_t hash);
  Output Resolve(const TensorId& id) { return Resolve(id, NameTable::Hash(id.node)); }
  bool IsBroken(const TensorId& id) const { return broken_.count(id.node) > 0; }
  // Whether `control` is new among the control inputs of `id` from `first` to `last` of the edge array.
  bool IsNewControl(NodeId id, NodeId control, uint32_t first, uint32_t last);
  absl::Status UnknownInput(int32_t position, absl::string_view text) const;
  absl::Status UnknownSlot(int32_t position, absl::string_view text, const Output& source) const;
  absl::Status CollectResult(ImportResult* result);

  // Byte offset of the graph in the file, for readers of parts of it.
  size_t base() const { return static_cast<size_t>(std::max<int64_t>(file_->offset, 0)); }
  absl::Status PlaceOf(NodeId id, const absl::Status& status) const;
  absl::string_view Text(Output stored) const;

  // With ImportOptions::tolerated; see import_tolerant.cc. Adds an error; the import fails with it unless such errors
  // are tolerated.
  void Report(const absl::Status& status);
  // Adds what is wrong with the node being read, and fails the import in no case: see ImportOptions::deferred.
  void Defer(const absl::Status& status, int32_t index);
  OpaqueNodes& Opaque();
  // Gives the node of id `id` a signature of its own, of unknown types.
  void MakeOpaque(NodeId id, size_t num_inputs, size_t num_outputs);
  // Adds the node being read, at which something is wrong; false when it has no name of its own or no op.
  bool AddOpaqueNode(int32_t index);
  // Whether the output is there; opaque nodes have as many as are asked for.
  bool HasOutput(const Output& source);
  // CheckEdge, unless the types of one of the two are not known.
  absl::Status CheckKnownEdge(NodeId id, int32_t position, const Output& source) const;
  // As LinkNode, reporting all errors; edges that lead nowhere are left out.
  void LinkTolerantly(NodeId id);

  Graph& graph_;
  GraphSource source_;
  std::shared_ptr<const SourceFile> file_;  // The facts about the file from source_.
  const ImportOptions& options_;
  ErrorCollector errors_;
  GraphOps ops_;
  NodeChecker checker_;

  // Damage somewhere in the file. Returned only where no pass came upon it: those say more.
  absl::Status unread_damage_;

  std::optional<FunctionLibrary> library_before_;  // Where functions are added: what to go back to.

  // Of the scan.
  int64_t num_nodes_ = 0;
  int64_t num_inputs_ = 0;  // Of nodes, those of function bodies among them.
  int64_t num_attrs_ = 0;   // The same.
  GraphVersions versions_;
  std::vector<std::pair<absl::string_view, size_t>> libraries_;  // Bytes and offset of each library field.
  std::string unknown_fields_;
  int32_t producer_ = 0;

  // Of the nodes.
  int32_t first_new_ = 0;   // Id of the first imported node.
  NodeDefView node_;        // The one being added; its vectors are used again and again.
  uint32_t name_hash_ = 0;  // Of its name, as written.
  ReadNode next_;           // The one after it.
  uint32_t last_device_ = 0;
  std::vector<std::pair<absl::string_view, uint32_t>> recent_symbols_;  // Attr names seen last, and their numbers.
  size_t next_symbol_ = 0;
  std::string prefix_;                         // With its '/'.
  HashMap<std::string, std::string> renamed_;  // Names of the file that had to be made unique.
  HashMap<std::pair<std::string, int32_t>, Mapped> input_map_;
  std::vector<NodeId> extra_controls_;
  std::array<ReadInput, kInputsAhead> ahead_;  // By position, modulo their number.
  uint32_t texts_end_ = 0;                     // The inputs of the edge array that are texts end here.
  // By node: the last consumer that listed it as control input. Those that were there before are few, or none.
  std::vector<int32_t> control_marks_;  // Of new nodes, from first_new_ on.
  // Not Abseil's tables, which cannot even be destroyed after there was no memory to grow.
  std::map<int32_t, int32_t> old_control_marks_;
  std::set<absl::string_view> broken_;  // Names (as in the file) of nodes that were not sound.
  std::map<std::string, absl::Status> unknown_ops_;
  std::shared_ptr<OpaqueNodes> opaque_;  // Null while there are no opaque nodes.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_GRAPH_IMPORTER_H_

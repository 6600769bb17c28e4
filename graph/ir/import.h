#ifndef SLUICE_GRAPH_IR_IMPORT_H_
#define SLUICE_GRAPH_IR_IMPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/ir/source_file.h"

namespace sluice {

// Bytes of a binary GraphDef and their owner.
struct GraphSource {
  absl::string_view bytes;
  std::shared_ptr<const void> owner;  // Null: the bytes outlive the graph.
  std::string name;                   // For messages: a file name, or empty.
  int64_t offset = 0;                 // Where the bytes begin in the file; SourceFile::kNotInFile for a text.
  std::vector<LineMark> lines;        // Of a text: where nodes stand in it.

  // A source that owns a copy of `bytes`.
  static GraphSource Copy(absl::string_view bytes, std::string name = "");
};

struct ImportOptions {
  LoadLimits limits;
  std::shared_ptr<const OpRegistry> ops;  // Null: the caller must go through graph/ops' default, see load.h.
  // Ops that only rewrites may make (_Arg, _Retval, _Send, ...) are accepted.
  bool allow_internal_ops = false;
  // Names of imported nodes get "prefix/" in front, in colocation groups too.
  std::string prefix;
  // Endpoints of the file that are replaced by endpoints of the graph imported into ("^a" maps a control input).
  std::vector<std::pair<std::string, std::string>> input_map;
  bool skip_mapped_nodes = false;                         // Nodes all of whose outputs are mapped are not imported.
  bool uniquify_names = false;                            // A taken name gets "_1", ... instead of an error.
  bool uniquify_prefix = false;                           // The same for the prefix as a whole.
  std::vector<std::string> control_dependencies;          // Nodes of the graph that imported roots wait for.
  std::vector<std::string> return_tensors, return_nodes;  // Endpoints and nodes wanted in ImportResult.
  std::string default_device;                             // For nodes without one.
  // The bytes are an addition to the graph imported into, as a session's Extend takes it, and cost what they have, not
  // what the graph has: inputs may name its nodes, too. They state its versions, or none (kFileVersion); fields of a
  // GraphDef that are not known are dropped, and the graph's nodes know no places in them.
  bool extends = false;
  // Looks at the graph with all that was added, from the node of id `first` on; its error fails the import.
  std::function<absl::Status(const Graph& graph, int32_t first)> accept;
  // With it, what is wrong with nodes and functions is added here and does not fail the import: such nodes are kept as
  // opaque ones (no types, no attrs known, as many outputs as are used), edges that lead nowhere and functions that
  // cannot be read are left out. For looking at graphs, never for running them.
  ErrorCollector* tolerated = nullptr;
  // With it, what TensorFlow finds only when the node is made to run is added here and does not fail the import: the
  // tensor of a Const that is not what it says, nodes that stand for arguments of a function outside of one. Such nodes
  // are as they were written; what runs them finds out again.
  ErrorCollector* deferred = nullptr;
  // Polled for every node; null: nothing stops the import. Its error fails the import.
  StopPoll* stop = nullptr;
};

struct ImportResult {
  std::vector<Output> return_tensors;
  std::vector<NodeId> return_nodes;
  std::vector<std::string> missing_unused_inputs;  // Keys of input_map that no node used.
};

// Reads a binary GraphDef straight from the wire: every rule of reference 6.1 and 6.2, all errors (up to 50) at once,
// linear in time and memory, never recursive. See Note [Import].
absl::StatusOr<Graph> ImportGraph(GraphSource source, const ImportOptions& options);

// Adds the nodes and functions of a GraphDef to `graph`. On error `graph` is as before. Linear in what is added, but
// for a pointer per function of the graph where functions are added; tables grow as vectors do.
absl::StatusOr<ImportResult> ImportInto(Graph& graph, GraphSource source, const ImportOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_IMPORT_H_

#ifndef SLUICE_GRAPH_LOAD_LOAD_GRAPH_H_
#define SLUICE_GRAPH_LOAD_LOAD_GRAPH_H_

// Loads a file with a graph and checks it, in one call.
//
//   SLUICE_ASSIGN_OR_RETURN(LoadedGraph model, LoadGraphFile("detector.pb", LoadOptions()));
//   for (NodeId id : model.graph.Nodes()) { ... }
//
// Restoring variables and running init ops is not done here: that needs an executor (executor/saved_model).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"
#include "graph/load/format.h"
#include "graph/load/meta_graph.h"
#include "graph/shapes/shape_map.h"

namespace sluice {

// Which kinds of file the caller can use.
enum class AcceptedKind : uint8_t {
  kAny,
  kGraph,       // GraphDef or MetaGraphDef. A SavedModel is kSavedModelKind: its variables would be missing.
  kSavedModel,  // SavedModel. A frozen graph is kSavedModelKind.
};

struct LoadOptions {
  LoadLimits limits;
  // The ops that exist; null for TensorFlow's.
  std::shared_ptr<const OpRegistry> ops;
  // Which graph of a SavedModel: the one whose tags are exactly these, in any order. Without: the only one there is,
  // else the one tagged "serve".
  std::optional<std::vector<std::string>> tags;
  // When the caller knows the format; another content is then kFileNotGraph.
  std::optional<GraphFormat> format;
  AcceptedKind accepted = AcceptedKind::kAny;
  // Whether an empty file is a graph without nodes, as in protobuf; otherwise it is kFileEmpty.
  bool allow_empty = true;
  // Ops that only rewrites may make are accepted.
  bool allow_internal_ops = false;
  // The checks after import; Note [What TensorFlow imports] in findings.h says how their findings are treated.
  bool check_functions = true;
  bool check_control_flow = true;
  bool check_meta_graph = true;
  // False leaves the signatures to callers that use one of them: see CheckSignature. Their names may be wrong then.
  bool check_signatures = true;
  // Also what TensorFlow only refuses when the node is made to run (CheckRunnable), in the graph and in function bodies
  // that it calls.
  bool check_runnable = false;
  // Shapes of all outputs, into LoadedGraph::shapes; with shapes_of_calls also those that called functions give.
  bool infer_shapes = true;
  bool shapes_of_calls = false;
  // Makes a certain contradiction of shapes an error of the load.
  bool reject_shape_problems = false;
  // Also refuses what TensorFlow imports if a step that needs the whole graph would fail.
  bool refuse_deferred = false;
  // For inspecting a model: errors of nodes, functions, signatures and control flow do not fail the load. The graph may
  // then be incomplete (see ImportOptions::tolerated) and must not be run; LoadedGraph::unsound has the errors.
  bool keep_unsound = false;
  // Polled for every node that is imported, and between checks; null: nothing stops the load. Its error fails the load:
  // kDeadline, or the status of a manager that was cancelled.
  StopPoll* stop = nullptr;
  // Puts all nodes on one CPU device, as a process without accelerators would: kDeviceUnknown for nodes that ask for
  // another device, kColocation.
  bool place_on_one_cpu = false;
};

// A graph and what its file says about it. Movable.
struct LoadedGraph {
  Graph graph = Graph(nullptr);
  GraphFormat format = GraphFormat::kGraphDef;
  std::string source;  // As given: a path, or "-".
  int64_t source_bytes = 0;
  MetaGraphInfo meta;                              // Empty for a GraphDef.
  EncodedObjectGraph objects;                      // Of what `meta` is from.
  std::vector<std::vector<std::string>> tag_sets;  // Of all graphs of a SavedModel.
  ControlFlowInfo control_flow;                    // Of the root frame only when check_control_flow is off.
  std::optional<ShapeMap> shapes;                  // With infer_shapes.
  std::vector<std::string> warnings;               // One sentence each.
  absl::Status unsound;                            // With keep_unsound: all errors, else OK.
  absl::Status deferred;  // Errors that fail only steps which need the part: Note [What TensorFlow imports].

  // An error about a node, with op, name and place in the file filled in.
  absl::Status Locate(NodeId id, const absl::Status& status) const;
};

// Loads `path`; "-" is standard input; a directory stands for the saved_model.pb or saved_model.pbtxt in it.
// The file is mapped, shared with the graph and must not be changed while the graph lives.
// Errors, all at once where they are about nodes: kFileMissing, kFileRead, kSavedModelMissing, kLimitFileSize (before
// anything is read), then as LoadGraphBytes.
absl::StatusOr<LoadedGraph> LoadGraphFile(const std::string& path, const LoadOptions& options);

// The same from memory. `owner` keeps `bytes` alive as long as the graph needs them; null: they outlive it.
// `name` is for messages and, where the content does not decide, for the format.
// Errors: kFileNotGraph (saying what it is instead), kFileText with line and column, kSavedModelTags, kSavedModelKind,
// those of ImportGraph, CheckFunctions, BuildControlFlowInfo and CheckMetaGraph, all naming the file.
absl::StatusOr<LoadedGraph> LoadGraphBytes(absl::string_view bytes, std::shared_ptr<const void> owner,
                                           const std::string& name, const LoadOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_LOAD_GRAPH_H_

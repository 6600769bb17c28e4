#ifndef SLUICE_GRAPH_LOAD_META_GRAPH_H_
#define SLUICE_GRAPH_LOAD_META_GRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// One argument or result of a signature.
struct SignatureTensor {
  std::string key;   // What callers call it.
  std::string name;  // "node:0", or a bare node for an init or train op; empty when it has components.
  DType dtype = DType::kInvalid;
  PartialShape shape;
  // Of a sparse tensor (values, indices, dense shape) or a composite one: the tensors it consists of.
  std::vector<std::string> components;
};

// A named entry point of a model. Arguments and results by ascending key.
struct ModelSignature {
  std::string key;  // "serving_default".
  std::string method_name;
  std::vector<SignatureTensor> inputs, outputs;
};

// Which nodes save and restore the variables.
struct SaverInfo {
  std::string filename_tensor, save_tensor, restore_op;
  bool sharded = false;
  int version = 0;  // 0 legacy, 1, 2.
};

// A file of the assets directory and the tensor that takes its path.
struct ModelAsset {
  std::string tensor, filename;
};

// A list that a Python program attached to the graph.
struct ModelCollection {
  enum class Kind : uint8_t { kNodes, kBytes, kInts, kFloats, kOther };

  std::string key;
  Kind kind = Kind::kOther;
  std::vector<std::string> items;  // Names of nodes, or encoded messages (VariableDef, WhileContextDef, ...).
  int64_t count = 0;               // Of items, also of those kinds whose items are not kept.
};

// What a MetaGraphDef holds beside its graph. A value type.
struct MetaGraphInfo {
  std::vector<std::string> tags;
  std::string tensorflow_version;
  bool stripped_default_attrs = false;
  std::vector<ModelSignature> signatures;  // By ascending key.
  std::optional<SaverInfo> saver;
  std::vector<ModelAsset> assets;
  std::vector<ModelCollection> collections;  // By ascending key.
  // Nodes that initialise a loaded SavedModel: of the signature __saved_model_init_op if there is one, else of the
  // collection saved_model_main_op, else of legacy_init_op. A sound model has at most one.
  std::vector<std::string> init_ops;
  bool has_object_graph = false;  // TensorFlow 2 wrote it.

  const ModelSignature* FindSignature(absl::string_view key) const;
  const ModelCollection* FindCollection(absl::string_view key) const;
};

// A SavedObjectGraph as it is encoded, in the file or in memory, with what keeps the bytes alive (null: the caller).
struct EncodedObjectGraph {
  absl::string_view bytes;  // Empty if there is none.
  std::shared_ptr<const void> owner;
};

// The parts of one encoded MetaGraphDef, found on the wire without parsing the graph.
struct MetaGraphParts {
  absl::string_view graph_def;  // Of its last graph_def field if `num_graph_defs` is one.
  int64_t graph_offset = 0;     // Where it begins in the file.
  int num_graph_defs = 0;
  std::string joined_graph_def;    // All of them one after the other, when there are several: protobuf merges them.
  absl::string_view object_graph;  // The SavedObjectGraph; empty if there is none.
  MetaGraphInfo info;
};

// Takes apart the MetaGraphDef in `bytes`, which begin at `base_offset` of the file. kFileWire, kFileTruncated or
// kFileNotGraph otherwise.
absl::StatusOr<MetaGraphParts> ReadMetaGraph(absl::string_view bytes, int64_t base_offset);

// Checks that the nodes and outputs named by the signatures, saver, assets and init ops of `info` exist with the stated
// dtypes, and that there is at most one init op. Returns all errors at once, as kSavedModelSignature. A caller that
// uses only one signature passes `check_signatures` = false and calls CheckSignature for that one.
absl::Status CheckMetaGraph(const Graph& graph, const MetaGraphInfo& info, bool check_signatures = true);

// As CheckMetaGraph, for one signature.
absl::Status CheckSignature(const Graph& graph, const ModelSignature& signature);

}  // namespace sluice

#endif  // SLUICE_GRAPH_LOAD_META_GRAPH_H_

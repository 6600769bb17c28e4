#include "graph/load/meta_graph_export.h"

#include <cstdint>
#include <vector>

#include "graph/ir/export.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// Writes messages beside the graph into one string. Lives for one export.
class MetaGraphWriter {
 public:
  explicit MetaGraphWriter(std::string* out) : writer_(out) {}

  void Info(const MetaGraphInfo& info) {
    const size_t mark = writer_.BeginMessage(1);
    for (const std::string& tag : info.tags) writer_.Bytes(4, tag);
    if (!info.tensorflow_version.empty()) writer_.Bytes(5, info.tensorflow_version);
    if (info.stripped_default_attrs) writer_.Bool(7, true);
    writer_.EndMessage(mark);
  }

  void Saver(const SaverInfo& saver) {
    constexpr int64_t kKept = 5;
    const size_t mark = writer_.BeginMessage(3);
    writer_.Bytes(1, saver.filename_tensor);
    writer_.Bytes(2, saver.save_tensor);
    writer_.Bytes(3, saver.restore_op);
    writer_.Int(4, kKept);
    if (saver.sharded) writer_.Bool(5, true);
    if (saver.version != 0) writer_.Int(7, saver.version);
    writer_.EndMessage(mark);
  }

  void Collection(const ModelCollection& collection) {
    const bool is_nodes = collection.kind == ModelCollection::Kind::kNodes;
    if (!is_nodes && collection.kind != ModelCollection::Kind::kBytes) return;
    const size_t entry = writer_.BeginMessage(4);
    writer_.Bytes(1, collection.key);
    const size_t value = writer_.BeginMessage(2);
    const size_t list = writer_.BeginMessage(is_nodes ? 1 : 2);
    for (const std::string& item : collection.items) writer_.Bytes(1, item);
    writer_.EndMessage(list);
    writer_.EndMessage(value);
    writer_.EndMessage(entry);
  }

  void Signature(const ModelSignature& signature) {
    const size_t entry = writer_.BeginMessage(5);
    writer_.Bytes(1, signature.key);
    const size_t value = writer_.BeginMessage(2);
    for (const SignatureTensor& tensor : signature.inputs) TensorOf(1, tensor);
    for (const SignatureTensor& tensor : signature.outputs) TensorOf(2, tensor);
    writer_.Bytes(3, signature.method_name);
    writer_.EndMessage(value);
    writer_.EndMessage(entry);
  }

  void Asset(const ModelAsset& asset) {
    const size_t mark = writer_.BeginMessage(6);
    const size_t tensor = writer_.BeginMessage(1);
    writer_.Bytes(1, asset.tensor);
    writer_.EndMessage(tensor);
    writer_.Bytes(2, asset.filename);
    writer_.EndMessage(mark);
  }

 private:
  void TensorOf(uint32_t field, const SignatureTensor& tensor) {
    const size_t entry = writer_.BeginMessage(field);
    writer_.Bytes(1, tensor.key);
    const size_t value = writer_.BeginMessage(2);
    if (tensor.components.size() == 3 && tensor.name.empty()) {
      const size_t sparse = writer_.BeginMessage(4);
      for (uint32_t i = 0; i < 3; ++i) writer_.Bytes(i + 1, tensor.components[i]);
      writer_.EndMessage(sparse);
    } else {
      writer_.Bytes(1, tensor.name);
    }
    writer_.Int(2, static_cast<int64_t>(tensor.dtype));
    const size_t shape = writer_.BeginMessage(3);
    if (!tensor.shape.has_rank()) writer_.Bool(3, true);
    const PartialShape stated = tensor.shape.WithoutIds();
    for (const int64_t size : stated.dims()) {
      const size_t dim = writer_.BeginMessage(2);
      writer_.Int(1, size);
      writer_.EndMessage(dim);
    }
    writer_.EndMessage(shape);
    writer_.EndMessage(value);
    writer_.EndMessage(entry);
  }

  WireWriter writer_;
};

}  // namespace

std::string ExportMetaGraph(const Graph& graph, const MetaGraphInfo& info) {
  std::string out;
  MetaGraphWriter writer(&out);
  writer.Info(info);
  WireWriter(&out).Bytes(2, ExportGraph(graph));
  if (info.saver.has_value()) writer.Saver(*info.saver);
  for (const ModelCollection& collection : info.collections) writer.Collection(collection);
  for (const ModelSignature& signature : info.signatures) writer.Signature(signature);
  for (const ModelAsset& asset : info.assets) writer.Asset(asset);
  return out;
}

std::string ExportSavedModel(absl::string_view meta_graph) {
  std::string out;
  WireWriter writer(&out);
  writer.Int(1, 1);  // The version of this form, the only one so far.
  writer.Bytes(2, meta_graph);
  return out;
}

std::string EncodeVariableFacts(const VariableFacts& facts) {
  std::string out;
  WireWriter writer(&out);
  writer.Bytes(1, facts.variable);
  writer.Bytes(2, facts.initializer);
  writer.Bytes(3, facts.snapshot);
  if (facts.is_resource) writer.Bool(5, true);
  if (!facts.initial_value.empty()) writer.Bytes(6, facts.initial_value);
  if (facts.is_trainable) writer.Bool(7, true);
  return out;
}

VariableFacts DecodeVariableFacts(absl::string_view variable_def) {
  VariableFacts facts;
  WireReader reader(variable_def, 0);
  while (reader.Next()) {
    const auto text = [&](uint32_t field, std::string* to) {
      if (reader.tag() == WireTag(field, WireType::kBytes)) *to = std::string(reader.bytes());
    };
    text(1, &facts.variable);
    text(2, &facts.initializer);
    text(3, &facts.snapshot);
    text(6, &facts.initial_value);
    if (reader.tag() == WireTag(5, WireType::kVarint)) facts.is_resource = reader.varint() != 0;
    if (reader.tag() == WireTag(7, WireType::kVarint)) facts.is_trainable = reader.varint() != 0;
  }
  return facts;
}

}  // namespace sluice

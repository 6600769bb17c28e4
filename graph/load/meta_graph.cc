#include "graph/load/meta_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/proto/saved_model.pb.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

constexpr absl::string_view kInitOpSignature = "__saved_model_init_op";
constexpr absl::string_view kMainOpCollection = "saved_model_main_op";
constexpr absl::string_view kAssetCollection = "saved_model_assets";
constexpr absl::string_view kLegacyInitOpCollection = "legacy_init_op";

PartialShape ReadShape(const proto::TensorShapeProto& shape) {
  if (shape.unknown_rank()) return PartialShape();
  std::vector<int64_t> dims;
  for (const auto& dim : shape.dim()) dims.push_back(std::max<int64_t>(dim.size(), -1));
  absl::StatusOr<PartialShape> read = PartialShape::Make(dims);
  return read.ok() ? *std::move(read) : PartialShape();
}

SignatureTensor ReadTensorInfo(const std::string& key, const proto::TensorInfo& info) {
  SignatureTensor tensor;
  tensor.key = key;
  tensor.name = info.name();
  tensor.dtype = DTypeFromNumber(static_cast<int64_t>(info.dtype()));
  tensor.shape = info.has_tensor_shape() ? ReadShape(info.tensor_shape()) : PartialShape();
  if (info.has_coo_sparse()) {
    const auto& sparse = info.coo_sparse();
    tensor.components = {sparse.values_tensor_name(), sparse.indices_tensor_name(), sparse.dense_shape_tensor_name()};
  }
  for (const auto& component : info.composite_tensor().components()) tensor.components.push_back(component.name());
  return tensor;
}

template <typename Map>
std::vector<SignatureTensor> ReadTensors(const Map& map) {
  std::vector<SignatureTensor> tensors;
  for (const auto& [key, info] : map) tensors.push_back(ReadTensorInfo(key, info));
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return tensors;
}

ModelCollection ReadCollection(const std::string& key, const proto::CollectionDef& def) {
  ModelCollection collection;
  collection.key = key;
  switch (def.kind_case()) {
    case proto::CollectionDef::kNodeList:
      collection.kind = ModelCollection::Kind::kNodes;
      collection.items.assign(def.node_list().value().begin(), def.node_list().value().end());
      break;
    case proto::CollectionDef::kBytesList:
      collection.kind = ModelCollection::Kind::kBytes;
      collection.items.assign(def.bytes_list().value().begin(), def.bytes_list().value().end());
      break;
    case proto::CollectionDef::kInt64List:
      collection.kind = ModelCollection::Kind::kInts;
      collection.count = def.int64_list().value_size();
      break;
    case proto::CollectionDef::kFloatList:
      collection.kind = ModelCollection::Kind::kFloats;
      collection.count = def.float_list().value_size();
      break;
    default:
      collection.count = def.any_list().value_size();
      break;
  }
  collection.count = std::max(collection.count, static_cast<int64_t>(collection.items.size()));
  return collection;
}

std::vector<std::string> FindInitOps(const MetaGraphInfo& info) {
  if (const ModelSignature* signature = info.FindSignature(kInitOpSignature)) {
    std::vector<std::string> ops;
    for (const SignatureTensor& output : signature->outputs) ops.push_back(output.name);
    return ops;
  }
  for (const absl::string_view key : {kMainOpCollection, kLegacyInitOpCollection}) {
    const ModelCollection* collection = info.FindCollection(key);
    if (collection != nullptr && !collection->items.empty()) return collection->items;
  }
  return {};
}

// One for each tensor: of several files the last, as in TensorFlow.
std::vector<ModelAsset> ReadAssets(const proto::MetaGraphDef& def) {
  std::vector<ModelAsset> assets;
  HashMap<std::string, size_t> places;  // By tensor.
  const auto add = [&](const proto::AssetFileDef& asset) {
    const auto [place, is_new] = places.try_emplace(asset.tensor_info().name(), assets.size());
    if (is_new) assets.push_back({place->first, ""});
    assets[place->second].filename = asset.filename();
  };
  for (const proto::AssetFileDef& asset : def.asset_file_def()) add(asset);
  const auto collection = def.collection_def().find(std::string(kAssetCollection));
  if (!assets.empty() || collection == def.collection_def().end()) return assets;
  for (const auto& any : collection->second.any_list().value()) {  // As TensorFlow 1 wrote them.
    proto::AssetFileDef asset;
    if (asset.ParseFromString(any.value())) add(asset);
  }
  return assets;
}

MetaGraphInfo ReadInfo(const proto::MetaGraphDef& def) {
  MetaGraphInfo info;
  info.tags.assign(def.meta_info_def().tags().begin(), def.meta_info_def().tags().end());
  info.tensorflow_version = def.meta_info_def().tensorflow_version();
  info.stripped_default_attrs = def.meta_info_def().stripped_default_attrs();
  for (const auto& [key, signature] : def.signature_def()) {
    info.signatures.push_back(
        {key, signature.method_name(), ReadTensors(signature.inputs()), ReadTensors(signature.outputs())});
  }
  for (const auto& [key, collection] : def.collection_def()) {
    info.collections.push_back(ReadCollection(key, collection));
  }
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  std::sort(info.signatures.begin(), info.signatures.end(), by_key);
  std::sort(info.collections.begin(), info.collections.end(), by_key);
  if (def.has_saver_def()) {
    const proto::SaverDef& saver = def.saver_def();
    info.saver = SaverInfo{saver.filename_tensor_name(), saver.save_tensor_name(), saver.restore_op_name(),
                           saver.sharded(), static_cast<int>(saver.version())};
  }
  info.assets = ReadAssets(def);
  info.init_ops = FindInitOps(info);
  return info;
}

// The names that a model states, each looked up in its graph.
class MetaGraphChecker {
 public:
  explicit MetaGraphChecker(const Graph& graph) : graph_(graph) {}

  void CheckSignature(const ModelSignature& signature) {
    // Init and train ops are signatures whose only output is a node without outputs.
    for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
      const char* role = tensors == &signature.inputs ? "input" : "output";
      for (const SignatureTensor& tensor : *tensors) {
        const std::string where = absl::StrCat("signature '", signature.key, "', ", role, " '", tensor.key, "'");
        for (const std::string& component : tensor.components) CheckTensor(where, component, DType::kInvalid);
        if (tensor.components.empty()) CheckTensor(where, tensor.name, tensor.dtype);
      }
    }
  }

  // `name` may be an output or, without a slot, a node.
  void CheckTensor(const std::string& where, const std::string& name, DType dtype) {
    const TensorId id = ParseTensorId(name);
    const NodeId node = graph_.Find(id.node);
    if (!node.valid()) return Fail(absl::StrCat(where, ": no node '", PrintableName(id.node), "' in the graph"));
    const int32_t num_outputs = graph_.num_outputs(node);
    const bool names_slot = absl::string_view(name).size() > id.node.size();
    if (names_slot && id.index >= num_outputs) {
      return Fail(absl::StrCat(where, ": no tensor '", PrintableName(name), "' in the graph: the node has ",
                               num_outputs, " outputs"));
    }
    if (dtype == DType::kInvalid || id.is_control() || id.index >= num_outputs) return;
    const DType actual = BaseType(graph_.output_type(node, id.index));
    if (actual == BaseType(dtype) || actual == DType::kInvalid) return;  // Invalid: of an opaque node.
    errors_.Add(Error(ErrorCode::kSavedModelSignature)
                    .Text(absl::StrCat(where, ": tensor '", PrintableName(name), "' has another dtype"))
                    .Found(DTypeName(actual))
                    .Expected(DTypeName(dtype)));
  }

  void CheckInitOps(const std::vector<std::string>& init_ops) {
    if (init_ops.size() > 1) {
      Fail(absl::StrCat("the model names ", init_ops.size(), " init ops, '", PrintableName(init_ops[0]), "' and '",
                        PrintableName(init_ops[1]), "' among them: only one can be meant"));
    }
    for (const std::string& name : init_ops) CheckTensor("the init op", name, DType::kInvalid);
  }

  absl::Status Finish() { return errors_.Finish(); }

 private:
  void Fail(const std::string& text) { errors_.Add(Error(ErrorCode::kSavedModelSignature).Text(text)); }

  const Graph& graph_;
  ErrorCollector errors_;
};

template <typename List>
auto FindByKey(const List& list, absl::string_view key) -> decltype(list.data()) {
  const auto found = std::find_if(list.begin(), list.end(), [key](const auto& item) { return item.key == key; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

const ModelSignature* MetaGraphInfo::FindSignature(absl::string_view key) const { return FindByKey(signatures, key); }

const ModelCollection* MetaGraphInfo::FindCollection(absl::string_view key) const {
  return FindByKey(collections, key);
}

absl::StatusOr<MetaGraphParts> ReadMetaGraph(absl::string_view bytes, int64_t base_offset) {
  MetaGraphParts parts;
  std::string others;  // All fields but the graph and the object graph, which can be large and are not read here.
  bool has_object_graph = false;
  WireReader reader(bytes, static_cast<size_t>(base_offset));
  while (reader.Next()) {
    if (reader.tag() == WireTag(2, WireType::kBytes)) {
      if (parts.num_graph_defs == 1) parts.joined_graph_def = std::string(parts.graph_def);
      if (parts.num_graph_defs > 0) absl::StrAppend(&parts.joined_graph_def, reader.bytes());
      parts.graph_def = reader.bytes();
      parts.graph_offset = static_cast<int64_t>(reader.payload_offset());
      ++parts.num_graph_defs;
    } else if (reader.tag() == WireTag(7, WireType::kBytes)) {
      has_object_graph = true;
      parts.object_graph = reader.bytes();
    } else {
      absl::StrAppend(&others, reader.raw());
    }
  }
  if (!reader.ok()) return reader.status();
  proto::MetaGraphDef def;
  if (!def.ParseFromString(others)) {
    return Error(ErrorCode::kFileWire).AtByte(base_offset).Text("a field of the MetaGraphDef cannot be read");
  }
  parts.info = ReadInfo(def);
  parts.info.has_object_graph = has_object_graph;
  return parts;
}

absl::Status CheckSignature(const Graph& graph, const ModelSignature& signature) {
  MetaGraphChecker checker(graph);
  checker.CheckSignature(signature);
  return checker.Finish();
}

absl::Status CheckMetaGraph(const Graph& graph, const MetaGraphInfo& info, bool check_signatures) {
  MetaGraphChecker checker(graph);
  for (size_t i = 0; check_signatures && i < info.signatures.size(); ++i) checker.CheckSignature(info.signatures[i]);
  if (info.saver.has_value() && !info.saver->restore_op.empty()) {
    checker.CheckTensor("the saver's restore op", info.saver->restore_op, DType::kInvalid);
    checker.CheckTensor("the saver's file name", info.saver->filename_tensor, DType::kString);
  }
  for (const ModelAsset& asset : info.assets) {
    checker.CheckTensor(absl::StrCat("asset '", PrintableName(asset.filename), "'"), asset.tensor, DType::kString);
  }
  checker.CheckInitOps(info.init_ops);
  return checker.Finish();
}

}  // namespace sluice

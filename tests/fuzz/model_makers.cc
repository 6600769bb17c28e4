#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/load/text_export.h"
#include "graph/proto/checkpoint.pb.h"
#include "graph/proto/saved_model.pb.h"
#include "graph/value/dtype.h"
#include "kernels/checkpoint/crc32c.h"
#include "tests/corpus/mutator.h"
#include "tests/fuzz/file_bundle.h"
#include "tests/fuzz/file_makers.h"
#include "tests/kernels/checkpoint/table_bytes.h"

namespace sluice {
namespace {

constexpr size_t kFooterBytes = 48;

std::string ChangedTree(const std::string& message, FuzzRandom& random) {
  return Mutator(message).MutateTree(static_cast<uint32_t>(random.Next()));
}

// Pieces of text, at blanks or at line ends, some of them dropped, doubled, exchanged or written anew.
std::string ChangedWords(const std::string& text, char separator, FuzzRandom& random) {
  static const char* const kWords[] = {
      "{", "}", "node {", "\"", "-1",  "99999999999999999999",           "attr", "key:", "1e999", "<", ">", "#", "[",
      "]", ":", "'x'",    "\\", "nan", "value { i: 0x7fffffffffffffff }"};
  std::vector<std::string> words = absl::StrSplit(text, separator);
  for (int n = random.Int(4); n >= 0 && !words.empty(); --n) {
    const size_t at = random.Below(words.size());
    switch (random.Int(5)) {
      case 0:
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), words[random.Below(words.size())]);
        break;
      case 2:
        std::swap(words[at], words[random.Below(words.size())]);
        break;
      default:
        words[at] = kWords[random.Below(std::size(kWords))];
        break;
    }
  }
  return absl::StrJoin(words, std::string(1, separator));
}

// One entry of an index, its bytes in the shard that is appended to `data`.
std::string EntryBytes(int i, std::string* data, FuzzRandom& random) {
  proto::BundleEntryProto entry;
  entry.set_dtype(static_cast<proto::DataType>(random.OneIn(3) ? 1 + random.Int(23) : 1));
  int64_t size = static_cast<int64_t>(DTypeSize(static_cast<DType>(entry.dtype())));
  for (int n = random.Int(3); n > 0; --n) {
    entry.mutable_shape()->add_dim()->set_size(1 + random.Int(3));
    size *= entry.shape().dim(entry.shape().dim_size() - 1).size();
  }
  entry.set_offset(static_cast<int64_t>(data->size()));
  entry.set_size(size);
  data->append(static_cast<size_t>(size), static_cast<char>('a' + i));
  entry.set_crc32c(MaskCrc(Crc32c(absl::string_view(*data).substr(static_cast<size_t>(entry.offset())))));
  switch (random.Int(12)) {
    case 0:
      entry.set_offset(HostileInt(random));
      break;
    case 1:
      entry.set_size(HostileInt(random));
      break;
    case 2:
      entry.set_shard_id(static_cast<int32_t>(HostileInt(random)));
      break;
    case 3:
      entry.mutable_shape()->add_dim()->set_size(HostileInt(random));
      break;
    case 4:
      entry.add_slices()->add_extent()->set_length(HostileInt(random));
      break;
    case 5:
      return ChangedTree(entry.SerializeAsString(), random);
    default:
      break;
  }
  return entry.SerializeAsString();
}

// Changes bytes of the first block of an index and puts its checksum right, so that the block itself is looked at.
void ChangeBlock(FuzzRandom& random, std::string* index) {
  // The first block ends where its checksum is right.
  for (size_t size = 8; size + 5 + kFooterBytes < index->size(); ++size) {
    uint32_t stored;
    std::memcpy(&stored, index->data() + size + 1, sizeof(stored));
    if (MaskCrc(Crc32c(absl::string_view(*index).substr(0, size + 1))) != stored) continue;
    for (int n = random.Int(3); n >= 0; --n) {
      (*index)[random.Below(size)] = static_cast<char>(random.OneIn(2) ? 0xff : random.Next());
    }
    stored = MaskCrc(Crc32c(absl::string_view(*index).substr(0, size + 1)));
    std::memcpy(index->data() + size + 1, &stored, sizeof(stored));
    return;
  }
}

FileBundle CheckpointFiles(const std::string& prefix, FuzzRandom& random) {
  proto::BundleHeaderProto header;
  header.set_num_shards(random.OneIn(10) ? static_cast<int32_t>(HostileInt(random)) : 1 + random.Int(2));
  if (random.OneIn(10)) header.set_endianness(proto::BundleHeaderProto::BIG);
  header.mutable_version()->set_producer(random.OneIn(10) ? static_cast<int32_t>(HostileInt(random)) : 1);
  std::string data;
  std::vector<std::pair<std::string, std::string>> entries = {
      {random.OneIn(30) ? "x" : "",
       random.OneIn(8) ? ChangedTree(header.SerializeAsString(), random) : header.SerializeAsString()}};
  const int count = random.Int(6);
  for (int i = 0; i < count; ++i) {
    entries.emplace_back(random.OneIn(20) ? std::string("\0\xff", 2) : absl::StrCat("v", i),
                         EntryBytes(i, &data, random));
  }
  std::string index = TableBytes(entries, 1 + random.Below(4));
  if (random.OneIn(3)) ChangeBlock(random, &index);
  if (random.OneIn(5)) index = Mutator(index).Mutate(static_cast<uint32_t>(random.Next()));
  if (random.OneIn(10)) data.resize(random.Below(data.size() + 1));
  FileBundle files = {{prefix + ".index", index}};
  const std::string shards = absl::StrCat("0000", std::max(1, std::min(header.num_shards(), 9)));
  for (int shard = 0; shard < 2; ++shard) {
    files.emplace_back(absl::StrCat(prefix, ".data-0000", shard, "-of-", shards), data);
  }
  return files;
}

void AddSignature(const proto::GraphDef& graph, FuzzRandom& random, proto::MetaGraphDef* meta) {
  if (graph.node_size() == 0) return;
  proto::SignatureDef& signature = (*meta->mutable_signature_def())["serving_default"];
  for (int n = random.Int(3); n > 0; --n) {
    auto& side = random.OneIn(2) ? *signature.mutable_inputs() : *signature.mutable_outputs();
    proto::TensorInfo& info = side[absl::StrCat("t", n)];
    const std::string& name = graph.node(random.Int(graph.node_size())).name();
    info.set_name(absl::StrCat(name, random.OneIn(10) ? ":9" : ":0"));
    info.set_dtype(static_cast<proto::DataType>(random.OneIn(4) ? random.Int(24) : 1));
  }
}

}  // namespace

std::string MakeTextFile(const GraphSeeds& seeds, const GraphMutator& mutator, FuzzRandom& random) {
  const proto::GraphDef graph = seeds.Pick(mutator.ops(), random);
  const std::string bytes = random.OneIn(2) ? mutator.Mutate(graph, random) : graph.SerializeAsString();
  const absl::StatusOr<GraphText> text = GraphDefToText(bytes);
  if (!text.ok()) return bytes;
  if (random.OneIn(2)) return text->text;
  if (random.OneIn(5)) return Mutator(text->text).Mutate(static_cast<uint32_t>(random.Next()));
  return ChangedWords(text->text, random.OneIn(2) ? ' ' : '\n', random);
}

std::string MakeCheckpoint(FuzzRandom& random) { return EncodeFiles(CheckpointFiles("t", random)); }

std::string MakeSavedModel(const GraphSeeds& seeds, const GraphMutator& mutator, FuzzRandom& random) {
  proto::SavedModel model;
  model.set_saved_model_schema_version(1);
  for (int n = random.OneIn(10) ? 2 : 1; n > 0; --n) {
    proto::MetaGraphDef& meta = *model.add_meta_graphs();
    meta.mutable_meta_info_def()->add_tags(random.OneIn(12) ? "train" : "serve");
    const proto::GraphDef graph = seeds.Pick(mutator.ops(), random);
    if (random.OneIn(2) || !meta.mutable_graph_def()->ParseFromString(mutator.Mutate(graph, random))) {
      *meta.mutable_graph_def() = graph;
    }
    if (random.OneIn(3)) AddSignature(graph, random, &meta);
    if (random.OneIn(10)) meta.mutable_saver_def()->set_save_tensor_name(random.OneIn(2) ? "missing:0" : "op:0");
    if (random.OneIn(10)) meta.add_asset_file_def()->set_filename("../a");
    if (random.OneIn(8)) (*meta.mutable_collection_def())["init"].mutable_node_list()->add_value("op");
  }
  std::string bytes = model.SerializeAsString();
  if (random.OneIn(5)) bytes = ChangedTree(bytes, random);
  FileBundle files;
  if (random.OneIn(3)) files = CheckpointFiles("variables/variables", random);
  files.emplace_back("saved_model.pb", bytes);
  return EncodeFiles(files);
}

}  // namespace sluice

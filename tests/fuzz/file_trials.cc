#include "tests/fuzz/file_trials.h"

#include <algorithm>
#include <memory>
#include <string>

#include "executor/saved_model/saved_model.h"
#include "graph/load/load_graph.h"
#include "graph/value/tensor.h"
#include "kernels/checkpoint/bundle_index.h"
#include "tests/fuzz/file_bundle.h"
#include "tests/fuzz/promise.h"
#include "tools/cli/numpy/npy.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/value_text.h"

namespace sluice {
namespace {

void Refuse(const absl::Status& status, FuzzCounts* counts) {
  PromiseUsefulError(status);
  FuzzCounts::Add(counts->rejected);
  FuzzCounts::Add(counts->codes[static_cast<size_t>(ErrorInfoOf(status)->code) % FuzzCounts::kMaxCodes]);
}

void PromiseSame(const absl::StatusOr<Tensor>& again, const Tensor& first) {
  Promise(again.ok(), "what was written can be read", again.status().ToString());
  Promise(again->dtype() == first.dtype() && again->shape() == first.shape(), "what was written is the same");
  if (IsTrivial(first.dtype())) Promise(again->bytes() == first.bytes(), "what was written has the same bytes");
}

void Show(const Tensor& tensor) {
  size_t bytes = 0;
  const auto count = [&bytes](absl::string_view part) {
    bytes += part.size();
    return absl::OkStatus();
  };
  Promise(WriteValueText(tensor, false, count).ok() && bytes > 0, "a value can be shown");
  bytes = 0;
  Promise(WriteValueJson(tensor, count).ok() && bytes > 0, "a value has a JSON form");
}

}  // namespace

void TryNpy(absl::string_view bytes, FuzzCounts* counts) {
  ReadNpyOptions options;
  options.limits = GraphTrial::Limits();
  const absl::StatusOr<Tensor> tensor = ReadNpy(bytes, options);
  if (!tensor.ok()) return Refuse(tensor.status(), counts);
  FuzzCounts::Add(counts->imported);
  Show(*tensor);
  const absl::StatusOr<std::string> written = WriteNpy(*tensor);
  if (!written.ok()) return PromiseUsefulError(written.status());
  FuzzCounts::Add(counts->converted);
  PromiseSame(ReadNpy(*written, options), *tensor);
}

void TryNpz(absl::string_view bytes, FuzzCounts* counts) {
  // A copy of the size: reads beyond its end are seen.
  const std::string copy(bytes);
  const absl::StatusOr<NpzReader> reader = NpzReader::Open(copy, GraphTrial::Limits());
  if (!reader.ok()) return Refuse(reader.status(), counts);
  FuzzCounts::Add(counts->imported);
  Promise(!reader->NamesText().empty() || reader->names().empty(), "names have a text");
  for (const std::string& name : reader->names()) {
    const absl::StatusOr<Tensor> tensor = reader->Read(name);
    if (!tensor.ok()) {
      PromiseUsefulError(tensor.status());
      continue;
    }
    Show(*tensor);
    FuzzCounts::Add(counts->converted);
  }
}

void TryFeedValue(absl::string_view bytes, FuzzCounts* counts) {
  if (bytes.empty()) return;
  const DType dtype = static_cast<DType>(1 + static_cast<uint8_t>(bytes[0]) % 23);
  // No files: what they hold is another fuzzer's matter.
  const absl::string_view text = bytes.substr(bytes.size() > 1 && bytes[1] == '@' ? 2 : 1);
  const absl::StatusOr<Tensor> tensor = ReadFeedValue(text, dtype, GraphTrial::Limits());
  if (!tensor.ok()) return Refuse(tensor.status(), counts);
  FuzzCounts::Add(counts->imported);
  Promise(tensor->dtype() == dtype, "a value has the dtype that was asked for");
  Show(*tensor);
}

void TryText(absl::string_view bytes, GraphTrial* trial, FuzzCounts* counts) {
  LoadOptions options;
  options.limits = GraphTrial::Limits();
  if (bytes.size() % 2 == 0) options.format = GraphFormat::kGraphDefText;
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(bytes, nullptr, "fuzz.pbtxt", options);
  if (!model.ok()) return Refuse(model.status(), counts);
  FuzzCounts::Add(counts->imported);
  trial->Convert(model->graph);
  trial->RunGraph(model->graph, bytes.size());
}

void TryCheckpoint(absl::string_view bytes, FuzzCounts* counts) {
  const TemporaryFiles files(DecodeFiles(bytes));
  const absl::StatusOr<BundleIndex> index = BundleIndex::Open(files.directory() + "/t");
  if (!index.ok()) return Refuse(index.status(), counts);
  FuzzCounts::Add(counts->imported);
  for (const auto& [name, entry] : index->entries()) {
    if (entry.is_sliced) continue;  // Its slices have places; what its own entry says of one is never read.
    Promise(entry.offset >= 0 && entry.size >= 0 && entry.shard >= 0 && entry.shard < index->num_shards(),
            "an entry stands in a shard", name);
  }
}

void TrySavedModel(absl::string_view bytes, GraphTrial* trial, FuzzCounts* counts) {
  const TemporaryFiles files(DecodeFiles(bytes));
  LoadOptions options;
  options.limits = GraphTrial::Limits();
  const absl::StatusOr<SavedModel> model = LoadSavedModel(files.directory(), options);
  if (!model.ok()) return Refuse(model.status(), counts);
  FuzzCounts::Add(counts->imported);
  for (const ModelSignature& signature : model->loaded.meta.signatures) {
    const auto& results = signature.outputs;
    const auto not_after = [](const SignatureTensor& a, const SignatureTensor& b) { return a.key >= b.key; };
    Promise(std::adjacent_find(results.begin(), results.end(), not_after) == results.end(), "results stand in order");
  }
  trial->RunGraph(model->loaded.graph, bytes.size());
}

}  // namespace sluice

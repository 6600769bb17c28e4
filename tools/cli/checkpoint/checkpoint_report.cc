#include "tools/cli/checkpoint/checkpoint_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "graph/wire/message_fields.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/file_errors.h"
#include "kernels/workers.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNumFirst = 3;
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxShownString = 1000;
constexpr int64_t kBlock = 1 << 16;  // Elements converted to doubles at a time.

// The message in which TensorFlow's objects list their variables; not a value.
constexpr absl::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

absl::StatusOr<Tensor> ReadTensor(BundleReader& reader, const std::string& name, const BundleEntry& entry) {
  Tensor tensor;
  const auto allocate = [&](const Shape& shape) -> absl::StatusOr<Tensor*> {
    SLUICE_ASSIGN_OR_RETURN(tensor, Tensor::Make(entry.dtype, shape));
    return &tensor;
  };
  SLUICE_RETURN_IF_ERROR(reader.AddWhole(name, entry, allocate));
  SLUICE_RETURN_IF_ERROR(reader.Run());
  return tensor;
}

// `flat` is a vector of real numbers.
absl::Status AddNumbers(const Tensor& flat, int64_t size, ValueFacts* facts) {
  // The sum of finite numbers can lie beyond the range of double, their mean cannot.
  using Sum = long double;
  static_assert(std::numeric_limits<Sum>::max_exponent > std::numeric_limits<double>::max_exponent + 63);
  Sum sum = 0;
  int64_t num_finite = 0;
  for (int64_t begin = 0; begin < size; begin += kBlock) {
    SLUICE_ASSIGN_OR_RETURN(const Tensor block,
                            ConvertNumbers(flat.SliceRows(begin, std::min(size, begin + kBlock)), DType::kDouble));
    for (const double value : block.flat<double>()) {
      facts->num_nan += std::isnan(value) ? 1 : 0;
      facts->num_inf += std::isinf(value) ? 1 : 0;
      if (!std::isfinite(value)) continue;
      facts->min = std::min(facts->min.value_or(value), value);
      facts->max = std::max(facts->max.value_or(value), value);
      sum += value;
      ++num_finite;
    }
  }
  if (num_finite > 0) facts->mean = static_cast<double>(sum / static_cast<Sum>(num_finite));
  return absl::OkStatus();
}

absl::StatusOr<ValueFacts> FactsOf(const Tensor& tensor) {
  ValueFacts facts;
  const int64_t size = tensor.num_elements();
  if (size == 0) return facts;
  SLUICE_ASSIGN_OR_RETURN(const Tensor flat, tensor.Reshaped(Shape::Of({size})));
  if (IsRealNumber(tensor.dtype())) SLUICE_RETURN_IF_ERROR(AddNumbers(flat, size, &facts));
  const Tensor first = flat.SliceRows(0, std::min(size, kNumFirst));
  if (first.dtype() == DType::kString) {
    for (const TString& text : first.flat<TString>()) {
      if (text.view().size() > kMaxShownString) return facts;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(facts.first, first.DeepCopy());  // A copy, which frees the whole.
  return facts;
}

// Names of variables by names of tensors, from the message TrackableObjectGraph: full_name by checkpoint_key of all
// attributes of all nodes. Empty if it is missing or unreadable.
std::map<std::string, std::string> VariableNames(const BundleIndex& index, const Workers& workers, int64_t max_bytes) {
  std::map<std::string, std::string> names;
  const auto found = index.entries().find(kObjectGraph);
  if (found == index.entries().end() || found->second.dtype != DType::kString || found->second.size > max_bytes) {
    return names;
  }
  BundleReader reader(index, workers);
  const absl::StatusOr<Tensor> graph = ReadTensor(reader, found->first, found->second);
  if (!graph.ok() || graph->num_elements() != 1) return names;
  const absl::string_view bytes = graph->flat<TString>()[0].view();
  for (const absl::string_view node : MessagesOf(bytes, 1)) {
    for (const absl::string_view attribute : MessagesOf(node, 2)) {
      names.emplace(LastOf(attribute, 3), LastOf(attribute, 2));
    }
  }
  return names;
}

// Opens the index. Leaves out tensors of unknown types, each with an error.
absl::StatusOr<BundleIndex> OpenIndex(const std::string& prefix, const CheckpointReportOptions& options,
                                      ErrorCollector* errors) {
  const std::string file = BundleIndexFile(prefix);
  std::error_code failed;
  const uintmax_t size = fs::file_size(file, failed);
  if (!failed && size > static_cast<uintmax_t>(options.max_file_bytes)) {
    const absl::Status error = Error(ErrorCode::kLimitFileSize)
                                   .Found(absl::StrCat(size, " bytes"))
                                   .Limit("max_file_bytes", options.max_file_bytes)
                                   .Text("the index is too large");
    return WithFile(error, file);
  }
  SLUICE_ASSIGN_OR_RETURN(BundleIndex index, BundleIndex::OpenIndexOnly(prefix));
  if (const absl::Status bad = index.FirstBadEntry(); !bad.ok()) errors->Add(WithFile(bad, file));
  return index;
}

// Checks that the files exist and are long enough. Looks at each file once.
class ShardCheck {
 public:
  ShardCheck(const BundleIndex& index, ErrorCollector& errors) : index_(index), errors_(errors) {
    for (int32_t shard = 0; shard < index.num_shards(); ++shard) {
      std::error_code failed;
      const uintmax_t size = fs::file_size(index.ShardFile(shard), failed);
      sizes_.push_back(failed ? -1 : static_cast<int64_t>(size));
      if (failed) errors_.Add(MissingFile(index.ShardFile(shard)));
    }
  }

  // Whether the tensor is all there; else adds the error, once for a missing file.
  bool IsThere(const std::string& name, const BundleEntry& entry) const {
    if (!entry.is_sliced) return IsOne(name, entry);
    bool is_there = true;
    for (const auto& slice : entry.slices) {
      const absl::StatusOr<const BundleEntry*> piece = index_.FindSlice(name, slice);
      errors_.Add(piece.status());
      is_there = piece.ok() && IsOne(name, **piece) && is_there;
    }
    return is_there;
  }

 private:
  bool IsOne(const std::string& name, const BundleEntry& entry) const {
    const bool has_shard = entry.shard >= 0 && entry.shard < index_.num_shards();
    const int64_t size = has_shard ? sizes_[static_cast<size_t>(entry.shard)] : 0;
    if (size < 0) return false;
    const absl::Status fits = index_.CheckExtent(name, entry, size);
    errors_.Add(fits);
    return fits.ok();
  }

  const BundleIndex& index_;
  ErrorCollector& errors_;
  std::vector<int64_t> sizes_;  // -1: missing.
};

// The values of one tensor; an error is added to those of the others.
void ReadValues(const BundleIndex& index, const Workers& workers, const BundleEntry& entry, int64_t max_bytes,
                ErrorCollector* errors, CheckpointTensor* tensor) {
  if (tensor->bytes > max_bytes) {
    return errors->Add(Error(ErrorCode::kLimitTensorBytes)
                           .Limit("max_tensor_bytes", max_bytes)
                           .Text(absl::StrCat("tensor '", PrintableName(tensor->name), "' has ", tensor->bytes,
                                              " bytes, more than ", max_bytes, ": its values are not read")));
  }
  BundleReader reader(index, workers);  // One reader for each, so that an error concerns one tensor.
  const absl::StatusOr<Tensor> value = ReadTensor(reader, tensor->name, entry);
  absl::StatusOr<ValueFacts> facts = value.ok() ? FactsOf(*value) : value.status();
  errors->Add(facts.status());
  if (facts.ok()) tensor->values = *std::move(facts);
}

}  // namespace

absl::StatusOr<CheckpointReport> ReportCheckpoint(const std::string& prefix, const CheckpointReportOptions& options) {
  ErrorCollector errors;
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, OpenIndex(prefix, options, &errors));
  const ShardCheck shards(index, errors);
  const Workers workers(nullptr);
  CheckpointReport report;
  report.prefix = prefix;
  for (int32_t i = 0; i < index.num_shards(); ++i) {
    report.files.push_back(fs::path(index.ShardFile(i)).filename().string());
  }
  const std::map<std::string, std::string> variables = VariableNames(index, workers, options.max_tensor_bytes);
  for (const auto& [name, entry] : index.entries()) {
    CheckpointTensor tensor;
    tensor.name = name;
    const auto variable = variables.find(name);
    if (variable != variables.end() && variable->second != name) tensor.variable = variable->second;
    tensor.dtype = entry.dtype;
    tensor.shape = entry.shape;
    tensor.bytes = entry.size;
    if (entry.is_sliced) {
      tensor.num_parts = static_cast<int64_t>(entry.slices.size());
      const auto element = static_cast<int64_t>(DTypeSize(entry.dtype));
      if (!CheckedMul(entry.shape.num_elements(), element, &tensor.bytes)) tensor.bytes = kMaxBytes;
    }
    if (!CheckedAdd(report.bytes, tensor.bytes, &report.bytes)) report.bytes = kMaxBytes;
    const bool is_there = shards.IsThere(name, entry);
    if (options.with_values && is_there && name != kObjectGraph) {
      ReadValues(index, workers, entry, options.max_tensor_bytes, &errors, &tensor);
    }
    report.tensors.push_back(std::move(tensor));
  }
  report.errors = errors.Finish();
  return report;
}

}  // namespace sluice

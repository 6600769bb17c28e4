#include "tools/cli/checkpoint/checkpoint_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "graph/wire/message_fields.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/checkpoint_state.h"
#include "kernels/workers.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNumFirst = 3;
constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxShownString = 1000;
constexpr int64_t kBlock = 1 << 16;  // Elements that are converted to doubles at once.

// Where TensorFlow's objects keep which variable is whose: a message, not a value.
constexpr absl::string_view kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";

// The prefix that `path`, the name of an index or of data, begins with; empty: it is neither.
std::string PrefixOfFile(const std::string& path) {
  if (absl::EndsWith(path, ".index")) return path.substr(0, path.size() - 6);
  const size_t data = path.rfind(".data-");
  constexpr absl::string_view kNumbers = ".data-00000-of-00001";
  if (data == std::string::npos || path.size() - data != kNumbers.size()) return "";
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    const char c = path[data + i];
    if (absl::ascii_isdigit(static_cast<unsigned char>(kNumbers[i]))
            ? !absl::ascii_isdigit(static_cast<unsigned char>(c))
            : c != kNumbers[i]) {
      return "";
    }
  }
  return path.substr(0, data);
}

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
  SLUICE_ASSIGN_OR_RETURN(facts.first, first.DeepCopy());  // Lets go of the whole.
  return facts;
}

// Names of variables by names of tensors, from the message TrackableObjectGraph: full_name by checkpoint_key of all
// attributes of all nodes. Empty where there is none, or none that can be read.
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

// The index. Tensors of types that are not known here are left out of it, and an error beside the others.
absl::StatusOr<BundleIndex> OpenIndex(const std::string& prefix, ErrorCollector* errors) {
  absl::StatusOr<BundleIndex> index = BundleIndex::Open(prefix);
  const std::optional<ErrorInfo> error = index.ok() ? std::nullopt : ErrorInfoOf(index.status());
  if (!error.has_value() || error->code != ErrorCode::kCheckpointEntry) return index;
  absl::StatusOr<BundleIndex> others = BundleIndex::OpenIndexOnly(prefix);
  if (!others.ok() || others->FirstBadEntry().ok() || others->entries().empty()) return index;
  errors->Add(others->FirstBadEntry());
  return others;
}

}  // namespace

std::optional<std::string> FindCheckpoint(const std::string& path, bool of_model) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path directory(path);
    const bool is_model =
        fs::exists(directory / "saved_model.pb", ignored) || fs::exists(directory / "saved_model.pbtxt", ignored);
    if (is_model && !of_model) return std::nullopt;
    const std::string variables = (is_model ? directory / "variables" / "variables" : directory / "variables").string();
    if (HasBundleIndex(variables)) return variables;
    if (is_model) return std::nullopt;
    const absl::StatusOr<CheckpointState> state = ReadCheckpointState(path);
    return state.ok() ? std::optional<std::string>(state->newest) : std::nullopt;
  }
  const std::string prefix = PrefixOfFile(path);
  if (!prefix.empty() && HasBundleIndex(prefix)) return prefix;
  // A model that is called as the checkpoint beside it is a model.
  if (!fs::exists(path, ignored) && HasBundleIndex(path)) return path;
  return std::nullopt;
}

absl::StatusOr<CheckpointReport> ReportCheckpoint(const std::string& prefix, const CheckpointReportOptions& options) {
  ErrorCollector errors;
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, OpenIndex(prefix, &errors));
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
    if (options.with_values && name != kObjectGraph) {
      if (tensor.bytes > options.max_tensor_bytes) {
        errors.Add(Error(ErrorCode::kLimitTensorBytes)
                       .Help("raise --max-tensor-bytes")
                       .Text(absl::StrCat("tensor '", PrintableName(name), "' has ", tensor.bytes, " bytes, more than ",
                                          options.max_tensor_bytes, ": its values are not read")));
      } else {
        BundleReader reader(index, workers);  // One for each, so that an error is that of one tensor.
        const absl::StatusOr<Tensor> value = ReadTensor(reader, name, entry);
        absl::StatusOr<ValueFacts> facts = value.ok() ? FactsOf(*value) : value.status();
        errors.Add(facts.status());
        if (facts.ok()) tensor.values = *std::move(facts);
      }
    }
    report.tensors.push_back(std::move(tensor));
  }
  report.errors = errors.Finish();
  return report;
}

}  // namespace sluice

#include "tools/cli/checkpoint/checkpoint_text.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/value/dtype.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/error_json.h"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/report/text_table.h"
#include "tools/cli/run/value_text.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxFirst = 60;  // Characters.

// "0.5, 2" in four digits, which is enough to tell whether it is the right checkpoint; others as `run` writes them.
std::string ElementsText(const Tensor& vector) {
  const absl::StatusOr<Tensor> numbers =
      IsFloating(vector.dtype()) ? ConvertNumbers(vector, DType::kDouble) : absl::StatusOr<Tensor>(Tensor());
  if (IsFloating(vector.dtype()) && numbers.ok()) {
    return absl::StrJoin(numbers->flat<double>(), ", ",
                         [](std::string* out, double value) { absl::StrAppendFormat(out, "%.4g", value); });
  }
  std::string text;
  const absl::Status written = WriteValueText(vector, false, [&text](absl::string_view part) {
    absl::StrAppend(&text, part);
    return absl::OkStatus();
  });
  if (!written.ok() || text.size() < 2) return "";
  text = text.substr(1, text.size() - 2);  // Without the brackets.
  return text.size() > kMaxFirst ? PrintableName(text, kMaxFirst) : text;
}

// "[0.5, 2, …]": the first elements.
std::string FirstText(const CheckpointTensor& tensor) {
  const Tensor& first = tensor.values->first;
  if (first.dtype() == DType::kInvalid) return "";
  const bool is_cut = first.num_elements() < tensor.shape.num_elements();
  return absl::StrCat("[", ElementsText(first), is_cut ? ", …]" : "]");
}

std::string NumberText(const char* what, const std::optional<double>& value) {
  if (!value.has_value()) return "";
  constexpr double kMaxWhole = 1e12;
  const bool is_whole = std::nearbyint(*value) == *value && std::abs(*value) < kMaxWhole;
  return absl::StrCat(what, " ", is_whole ? absl::StrFormat("%.0f", *value) : absl::StrFormat("%.4g", *value));
}

std::vector<std::string> ValueCells(const CheckpointTensor& tensor) {
  if (!tensor.values.has_value()) return {};
  const ValueFacts& values = *tensor.values;
  std::string odd;
  if (values.num_nan > 0) absl::StrAppend(&odd, CountText(values.num_nan), " nan");
  if (values.num_inf > 0) absl::StrAppend(&odd, odd.empty() ? "" : ", ", CountText(values.num_inf), " inf");
  return {NumberText("min", values.min), NumberText("max", values.max), NumberText("mean", values.mean), odd,
          FirstText(tensor)};
}

Json ValuesJson(const CheckpointTensor& tensor) {
  const ValueFacts& values = *tensor.values;
  const auto number = [](const std::optional<double>& value) { return value.has_value() ? Json(*value) : Json(); };
  Json out = {{"min", number(values.min)}, {"max", number(values.max)}, {"mean", number(values.mean)},
              {"nan", values.num_nan},     {"inf", values.num_inf},     {"first", Json::array()}};
  if (values.first.dtype() == DType::kInvalid) return out;
  std::string first;
  const absl::Status written = WriteValueJson(values.first, [&first](absl::string_view part) {
    absl::StrAppend(&first, part);
    return absl::OkStatus();
  });
  if (written.ok()) out["first"] = Json::parse(first);
  return out;
}

}  // namespace

std::string RenderCheckpointText(const CheckpointReport& report, size_t max_rows, size_t max_line, const Paint& paint) {
  const auto num_tensors = static_cast<int64_t>(report.tensors.size());
  std::string out = absl::StrCat(paint.Bold(PrintableName(report.prefix, std::string::npos)), "  checkpoint, ",
                                 CountOf(num_tensors, "tensor"), ", ", BytesText(report.bytes), " in ",
                                 CountOf(static_cast<int64_t>(report.files.size()), "file"), "\n");
  if (num_tensors == 0) return out;
  absl::StrAppend(&out, "\n", paint.Bold("Tensors"), paint.Dim(absl::StrCat(" (", CountText(num_tensors), ")")), "\n");
  const size_t shown = std::min(report.tensors.size(), max_rows);
  const bool has_variables = std::any_of(report.tensors.begin(), report.tensors.end(),
                                         [](const CheckpointTensor& tensor) { return !tensor.variable.empty(); });
  TextTable table;
  table.AlignRight(has_variables ? 3 : 2);
  for (size_t i = 0; i < shown; ++i) {
    const CheckpointTensor& tensor = report.tensors[i];
    std::vector<std::string> cells = {tensor.name};
    if (has_variables) cells.push_back(tensor.variable);
    cells.push_back(absl::StrCat(DTypeName(tensor.dtype), " ", tensor.shape.ToString()));
    cells.push_back(BytesText(tensor.bytes));
    for (std::string& cell : ValueCells(tensor)) cells.push_back(std::move(cell));
    if (tensor.num_parts > 1) cells.push_back(absl::StrCat("in ", CountOf(tensor.num_parts, "part")));
    table.Add(std::move(cells));
  }
  out += table.Render("  ", max_line);
  if (shown == report.tensors.size()) return out;
  const int64_t more = num_tensors - static_cast<int64_t>(shown);
  absl::StrAppend(&out, paint.Dim(absl::StrCat("  … and ", CountText(more), " more (--all)")), "\n");
  return out;
}

std::string RenderCheckpointJson(const CheckpointReport& report) {
  Json tensors = Json::array();
  for (const CheckpointTensor& tensor : report.tensors) {
    Json entry = {{"name", tensor.name}};
    if (!tensor.variable.empty()) entry["variable"] = tensor.variable;
    entry.update({{"dtype", DTypeName(tensor.dtype)}, {"shape", Json::array()}});
    for (const int64_t dim : tensor.shape.dims()) entry["shape"].push_back(dim);
    entry["bytes"] = tensor.bytes;
    entry["parts"] = tensor.num_parts;
    if (tensor.values.has_value()) entry["values"] = ValuesJson(tensor);
    tensors.push_back(std::move(entry));
  }
  const std::vector<absl::Status> errors = report.errors.ok() ? std::vector<absl::Status>() : AllErrors(report.errors);
  return JsonDocument({{"checkpoint", report.prefix},
                       {"format", "TensorBundle"},
                       {"bytes", report.bytes},
                       {"files", report.files},
                       {"tensors", std::move(tensors)},
                       {"num_errors", report.errors.ok() ? 0 : CountErrors(report.errors)},
                       {"errors", ErrorsJson(errors)}});
}

}  // namespace sluice

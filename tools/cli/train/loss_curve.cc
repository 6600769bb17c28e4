#include "tools/cli/train/loss_curve.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr absl::string_view kTrain = "train", kValidation = "validation";
constexpr size_t kFixedColumns = 3;

// Labels are names of tensors; a comma in one would be another column.
std::string Column(absl::string_view label) {
  std::string column = PrintableName(label);
  std::replace(column.begin(), column.end(), ',', ';');
  return column;
}

bool ReadRow(absl::string_view line, size_t num_labels, CurveRow* row) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() != kFixedColumns + num_labels) return false;
  row->is_validation = fields[0] == kValidation;
  bool is_good = row->is_validation || fields[0] == kTrain;
  is_good = is_good && absl::SimpleAtoi(fields[1], &row->step) && absl::SimpleAtoi(fields[2], &row->epoch);
  for (size_t i = kFixedColumns; i < fields.size(); ++i) {
    row->values.push_back(0);
    is_good = is_good && absl::SimpleAtod(fields[i], &row->values.back());
  }
  return is_good;
}

}  // namespace

std::string CurveHeader(const std::vector<std::string>& labels) {
  std::string line = "split,step,epoch";
  for (const std::string& label : labels) absl::StrAppend(&line, ",", Column(label));
  return line + "\n";
}

std::string CurveLine(const CurveRow& row) {
  std::string line = absl::StrCat(row.is_validation ? kValidation : kTrain, ",", row.step, ",", row.epoch);
  for (const double value : row.values) absl::StrAppendFormat(&line, ",%.9g", value);
  return line + "\n";
}

absl::StatusOr<std::vector<CurveRow>> ReadCurve(absl::string_view text, const std::vector<std::string>& labels) {
  const std::string header = CurveHeader(labels);
  if (!absl::ConsumePrefix(&text, header)) {
    return Error(ErrorCode::kFileText)
        .Text("is not the loss curve of this training: its columns are others")
        .Found(text.substr(0, std::min<size_t>(text.find('\n'), 100)))
        .Expected(absl::StripSuffix(header, "\n"));
  }
  std::vector<CurveRow> rows;
  for (int64_t number = 2; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) break;
    CurveRow row;
    if (!ReadRow(text.substr(0, end), labels.size(), &row)) {
      return WithLine(Error(ErrorCode::kFileText).Text("is not a row of the loss curve").Found(text.substr(0, end)),
                      number, 1);
    }
    rows.push_back(std::move(row));
    text.remove_prefix(end + 1);
  }
  return rows;
}

}  // namespace sluice

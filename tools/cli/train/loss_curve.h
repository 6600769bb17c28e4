#ifndef SLUICE_TOOLS_CLI_TRAIN_LOSS_CURVE_H_
#define SLUICE_TOOLS_CLI_TRAIN_LOSS_CURVE_H_

// The loss curve: as rows of a CSV file, and drawn.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Means over some steps ("train") or over all rows that are kept for it ("validation"): the loss, then the metrics.
struct CurveRow {
  bool is_validation = false;
  int64_t step = 0;   // Steps done.
  int64_t epoch = 0;  // From 1 on.
  std::vector<double> values;
};

// "split,step,epoch,loss,accuracy" and a line for each row. Numbers have nine digits: all of a float32.
std::string CurveHeader(const std::vector<std::string>& labels);
std::string CurveLine(const CurveRow& row);
// Reads such a file, whose header must be that of `labels`: kFileText otherwise. Ignores a last line without a line
// feed, left by a killed process.
absl::StatusOr<std::vector<CurveRow>> ReadCurve(absl::string_view text, const std::vector<std::string>& labels);

// An SVG drawing: one panel for each label, training and validation in each. Below 100 KB: long curves are drawn
// through the means of their parts. Numbers that are not finite are left out.
std::string DrawCurve(const std::vector<CurveRow>& rows, const std::vector<std::string>& labels,
                      absl::string_view title);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_LOSS_CURVE_H_

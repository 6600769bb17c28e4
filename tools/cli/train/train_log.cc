#include "tools/cli/train/train_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "tools/cli/console/console.h"

namespace sluice {
namespace {

// Appends to an existing file.
absl::Status AppendToFile(const std::string& path, const std::string& text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const int error = descriptor < 0 ? errno : WriteFully(descriptor, text);
  if (descriptor >= 0) ::close(descriptor);
  if (error == 0) return absl::OkStatus();
  return Error(ErrorCode::kFileWrite)
      .Text(absl::StrCat("cannot write '", PrintableName(path, 1000), "': ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<TrainLog> TrainLog::Open(Options options) {
  TrainLog log(std::move(options));
  if (log.options_.is_resumed) {
    const absl::StatusOr<std::string> text = ReadFile(log.csv_path(), std::numeric_limits<int64_t>::max());
    if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
    if (text.ok()) {
      absl::StatusOr<std::vector<CurveRow>> rows = ReadCurve(*text, log.options_.labels);
      if (!rows.ok()) return WithFile(rows.status(), log.csv_path());
      log.rows_ = *std::move(rows);
    }
    const int64_t step = log.options_.step;
    const auto is_lost = [step](const CurveRow& row) { return row.step > step; };
    log.rows_.erase(std::remove_if(log.rows_.begin(), log.rows_.end(), is_lost), log.rows_.end());
  }
  SLUICE_RETURN_IF_ERROR(log.Rewrite());
  return log;
}

absl::Status TrainLog::Rewrite() {
  std::string text = CurveHeader(options_.labels);
  for (const CurveRow& row : rows_) absl::StrAppend(&text, CurveLine(row));
  return WriteFile(csv_path(), text);
}

absl::Status TrainLog::Add(CurveRow row) {
  SLUICE_RETURN_IF_ERROR(AppendToFile(csv_path(), CurveLine(row)));
  if (options_.has_events) {
    std::optional<EventFile>& file = row.is_validation ? validation_ : train_;
    if (!file.has_value()) {
      const char* const split = row.is_validation ? "/validation" : "/train";
      absl::StatusOr<EventFile> made = EventFile::Create(options_.directory + split, options_.step);
      if (!made.ok()) return made.status();
      file.emplace(*std::move(made));
    }
    std::vector<std::pair<std::string, double>> scalars;
    for (size_t i = 0; i < row.values.size(); ++i) scalars.emplace_back(options_.labels[i], row.values[i]);
    SLUICE_RETURN_IF_ERROR(file->AddScalars(row.step, scalars));
  }
  rows_.push_back(std::move(row));
  return absl::OkStatus();
}

absl::Status TrainLog::Draw() const { return WriteFile(svg_path(), DrawCurve(rows_, options_.labels, options_.title)); }

}  // namespace sluice

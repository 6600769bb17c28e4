#include "tools/cli/train/train_display.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

constexpr int kBarWidth = 24;
constexpr int kColumn = 12;
constexpr absl::Duration kOnTerminal = absl::Milliseconds(100), kElsewhere = absl::Seconds(10);

std::string RightAligned(const std::string& text) { return absl::StrFormat("  %*s", kColumn, text); }

}  // namespace

std::string ClockText(absl::Duration time) {
  const int64_t seconds = std::max<int64_t>(absl::ToInt64Seconds(time + absl::Milliseconds(500)), 0);
  if (seconds < 3600) return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string BarText(double share) {
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  std::string bar(static_cast<size_t>(full), '=');
  if (full < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  return absl::StrFormat("[%s] %3.0f %%", bar, share * 100);
}

TrainDisplay::TrainDisplay(Console& console, std::vector<std::string> labels, bool has_validation, bool with_table)
    : console_(console),
      labels_(std::move(labels)),
      has_validation_(has_validation),
      with_table_(with_table),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      began_(absl::Now()),
      shown_(is_terminal_ ? absl::InfinitePast() : began_) {}

void TrainDisplay::ShowStep(int64_t step, int64_t first_step, int64_t last_step, int64_t epoch, double loss,
                            absl::Time now) {
  if (now - shown_ < (is_terminal_ ? kOnTerminal : kElsewhere)) return;
  shown_ = now;
  const double seconds = std::max(absl::ToDoubleSeconds(now - began_), 1e-6);
  const double rate = static_cast<double>(step - first_step) / seconds;
  const absl::Duration left = absl::Seconds(static_cast<double>(last_step - step) / std::max(rate, 1e-9));
  const std::string facts = absl::StrFormat(
      "step %s of %s  epoch %d  loss %.4g  %s steps/s  %s left", CountText(step), CountText(last_step), epoch, loss,
      rate < 10 ? absl::StrFormat("%.2g", rate) : CountText(static_cast<int64_t>(rate)), ClockText(left));
  if (is_terminal_) {
    const double share = static_cast<double>(step) / static_cast<double>(std::max<int64_t>(last_step, 1));
    console_.Progress(absl::StrCat(BarText(share), "  ", facts));
  } else {
    console_.Note(facts);
  }
}

void TrainDisplay::ShowEpoch(int64_t epoch, int64_t step, const std::vector<double>& train,
                             const std::vector<double>& validation) {
  if (!with_table_) return;
  console_.EndProgress();
  if (!has_header_) {
    std::string header = absl::StrFormat("%5s  %8s", "epoch", "step");
    for (const std::string& label : labels_) absl::StrAppend(&header, RightAligned(PrintableName(label)));
    for (const std::string& label : labels_) {
      if (has_validation_) absl::StrAppend(&header, RightAligned(absl::StrCat("val_", PrintableName(label))));
    }
    console_.Write(header + "\n");
    has_header_ = true;
  }
  std::string line = absl::StrFormat("%5d  %8d", epoch, step);
  for (const auto* values : {&train, &validation}) {
    for (const double value : *values) absl::StrAppend(&line, RightAligned(absl::StrFormat("%.5g", value)));
  }
  console_.Write(line + "\n");
  (void)console_.Flush();  // main reports a failure in the end.
}

}  // namespace sluice

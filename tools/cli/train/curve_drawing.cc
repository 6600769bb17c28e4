// The loss curve as an SVG drawing.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/draw/box_look.h"
#include "tools/cli/train/loss_curve.h"

namespace sluice {
namespace {

constexpr double kWidth = 720, kPanelHeight = 240, kHeader = 44;
constexpr double kLeft = 70, kRight = 20, kTop = 26, kBottom = 34;
constexpr size_t kMaxPoints = 400;

constexpr absl::string_view kStyle = R"(<style>
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#52606d}
.page{fill:#fff}.h{font-size:15px;font-weight:600;fill:#1f2933}.l{font-weight:600;fill:#1f2933}
.g{stroke:#e4e9ef}.a{stroke:#9aa5b1}.t{fill:none;stroke:#4c78a8;stroke-width:1.5}
.v{fill:none;stroke:#e45756;stroke-width:1.5}.n{text-anchor:end}.m{text-anchor:middle}
</style>
)";

struct Point {
  double x = 0, y = 0;
};

// The numbers of an axis: from `low` to `high` in steps that people like.
struct Axis {
  double low = 0, high = 1, tick = 0.2;
};

Axis AxisFor(double low, double high) {
  if (!(low < high)) {
    const double room = low == 0 ? 1 : std::fabs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double rough = (high - low) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  Axis axis;
  axis.tick = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough) {
      axis.tick = factor * power;
      break;
    }
  }
  axis.low = std::floor(low / axis.tick) * axis.tick;
  axis.high = std::ceil(high / axis.tick) * axis.tick;
  return axis;
}

// The points of one line, at most kMaxPoints of them: each the mean of its part.
std::vector<Point> PointsOf(const std::vector<CurveRow>& rows, bool is_validation, size_t label) {
  std::vector<Point> all;
  for (const CurveRow& row : rows) {
    const double value = row.values[label];
    if (row.is_validation == is_validation && std::isfinite(value)) {
      all.push_back({static_cast<double>(row.step), value});
    }
  }
  const size_t part = (all.size() + kMaxPoints - 1) / kMaxPoints;
  if (part <= 1) return all;
  std::vector<Point> means;
  for (size_t begin = 0; begin < all.size(); begin += part) {
    const size_t end = std::min(begin + part, all.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += all[i].y;
    means.push_back({all[end - 1].x, sum / static_cast<double>(end - begin)});
  }
  return means;
}

// One label's lines with their axes. Lives for one DrawCurve.
class Panel {
 public:
  Panel(std::vector<Point> train, std::vector<Point> validation, double top)
      : train_(std::move(train)), validation_(std::move(validation)), top_(top) {
    double low = std::numeric_limits<double>::infinity(), high = -low, last = 1;
    for (const auto* points : {&train_, &validation_}) {
      for (const Point& point : *points) {
        low = std::min(low, point.y);
        high = std::max(high, point.y);
        last = std::max(last, point.x);
      }
    }
    y_ = std::isfinite(low) ? AxisFor(low, high) : Axis();
    x_ = AxisFor(0, last);
    x_.high = last;  // The line fills the width.
  }

  void Write(absl::string_view label, std::string* out) const {
    absl::StrAppendFormat(out, "<text class=\"l\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", kLeft, top_ + 16,
                          EscapeXml(label));
    const int rows = static_cast<int>(std::lround((y_.high - y_.low) / y_.tick));
    for (int i = 0; i <= rows; ++i) {
      const double value = y_.low + i * y_.tick;
      absl::StrAppendFormat(out, "<path class=\"%s\" d=\"M%.0f %.1fH%.0f\"/>", i == 0 ? "a" : "g", kLeft, Y(value),
                            kWidth - kRight);
      absl::StrAppendFormat(out, "<text class=\"n\" x=\"%.0f\" y=\"%.1f\">%.4g</text>\n", kLeft - 8, Y(value) + 4,
                            std::fabs(value) < y_.tick / 1e6 ? 0.0 : value);
    }
    for (double step = 0; step <= x_.high; step += x_.tick) {
      absl::StrAppendFormat(out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">%.6g</text>\n", X(step),
                            top_ + kPanelHeight - kBottom + 18, step);
    }
    WriteLine(train_, "t", out);
    WriteLine(validation_, "v", out);
  }

 private:
  double X(double step) const { return kLeft + (kWidth - kLeft - kRight) * step / x_.high; }
  double Y(double value) const {
    const double height = kPanelHeight - kTop - kBottom;
    return top_ + kTop + height * (1 - (value - y_.low) / (y_.high - y_.low));
  }

  void WriteLine(const std::vector<Point>& points, absl::string_view style, std::string* out) const {
    if (points.empty()) return;
    if (points.size() == 1) {
      absl::StrAppendFormat(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>\n", style, X(points[0].x),
                            Y(points[0].y));
      return;
    }
    absl::StrAppend(out, "<polyline class=\"", style, "\" points=\"");
    for (const Point& point : points) absl::StrAppendFormat(out, "%.1f,%.1f ", X(point.x), Y(point.y));
    absl::StrAppend(out, "\"/>\n");
  }

  const std::vector<Point> train_, validation_;
  const double top_;
  Axis x_, y_;
};

}  // namespace

std::string DrawCurve(const std::vector<CurveRow>& rows, const std::vector<std::string>& labels,
                      absl::string_view title) {
  constexpr size_t kMaxPanels = 6;
  const size_t panels = std::min(labels.size(), kMaxPanels);
  const double height = kHeader + kPanelHeight * static_cast<double>(panels);
  std::string out = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n", kWidth,
      height, kWidth, height);
  absl::StrAppend(&out, kStyle, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
  absl::StrAppendFormat(&out, "<text class=\"h\" x=\"16\" y=\"27\">%s</text>\n", EscapeXml(CutMiddle(title, 50)));
  const bool has_validation =
      std::any_of(rows.begin(), rows.end(), [](const CurveRow& row) { return row.is_validation; });
  absl::StrAppendFormat(&out, "<path class=\"t\" d=\"M500 23h24\"/><text x=\"530\" y=\"27\">training</text>\n");
  if (has_validation) {
    absl::StrAppendFormat(&out, "<path class=\"v\" d=\"M608 23h24\"/><text x=\"638\" y=\"27\">validation</text>\n");
  }
  for (size_t i = 0; i < panels; ++i) {
    const double top = kHeader + kPanelHeight * static_cast<double>(i);
    Panel(PointsOf(rows, false, i), PointsOf(rows, true, i), top).Write(labels[i], &out);
  }
  return out + "</svg>\n";
}

}  // namespace sluice

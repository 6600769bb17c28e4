#include "graph/base/nearest_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"

namespace sluice {
namespace {

constexpr size_t kMaxNameBytes = 256;
constexpr int kEdit = 4;        // Inserting, deleting or replacing a byte.
constexpr int kCaseChange = 1;  // Replacing a letter by itself in the other case.

int ReplaceCost(char a, char b) {
  if (a == b) return 0;
  return absl::ascii_tolower(static_cast<unsigned char>(a)) == absl::ascii_tolower(static_cast<unsigned char>(b))
             ? kCaseChange
             : kEdit;
}

// The cost of turning `a` into `b`, or `limit` + 1 if it is above `limit`.
// REQUIRES: b.size() <= kMaxNameBytes + kMaxNameBytes / 3 + 1.
int EditCost(absl::string_view a, absl::string_view b, int limit) {
  std::array<int, 2 * kMaxNameBytes> row;  // Cost of turning the first i bytes of `a` into the first j of `b`.
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j) * kEdit;
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) * kEdit;
    int least = row[0];
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + ReplaceCost(a[i - 1], b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + kEdit, row[j - 1] + kEdit});
      least = std::min(least, row[j]);
    }
    if (least > limit) return limit + 1;
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> NearestNames(absl::string_view name, absl::Span<const absl::string_view> candidates,
                                      size_t max) {
  if (name.empty() || name.size() > kMaxNameBytes) return {};
  const size_t max_edits = std::max<size_t>(1, name.size() / 3);
  const int limit = static_cast<int>(max_edits) * kEdit;
  std::vector<std::pair<int, absl::string_view>> near;
  for (const absl::string_view candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) > max_edits || candidate == name) continue;
    const int cost = EditCost(name, candidate, limit);
    if (cost <= limit) near.emplace_back(cost, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < max; ++i) names.emplace_back(near[i].second);
  return names;
}

}  // namespace sluice

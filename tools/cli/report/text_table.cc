#include "tools/cli/report/text_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr size_t kMaxColumn = 56, kMinLastColumn = 40;

}  // namespace

void TextTable::Add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = PrintableName(cell, std::string::npos);
  rows_.push_back(std::move(cells));
}

std::string TextTable::Render(absl::string_view indent, size_t max_line) {
  std::vector<size_t> width;
  for (auto& row : rows_) {
    size_t used = indent.size();
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_last = i + 1 == row.size();
      const size_t max_cell =
          is_last ? std::max(kMinLastColumn, max_line - std::min(used, max_line)) : max_line * 2 / 5;
      if (row[i].size() > max_cell) row[i] = PrintableName(row[i], max_cell);
      used += row[i].size() + 2;
    }
    width.resize(std::max(width.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], std::min(row[i].size(), kMaxColumn));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t gap = width[i] > row[i].size() ? width[i] - row[i].size() : 0;
      const bool is_last = i + 1 == row.size();
      if (i == right_) line.append(gap, ' ');
      line += row[i];
      if (i != right_ && !is_last) line.append(gap, ' ');
      if (!is_last) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

}  // namespace sluice

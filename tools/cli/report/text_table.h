#ifndef SLUICE_TOOLS_CLI_REPORT_TEXT_TABLE_H_
#define SLUICE_TOOLS_CLI_REPORT_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Rows of cells, printed as columns.
class TextTable {
 public:
  // The cells may hold what came from a file: they stay on their line and are safe on a terminal.
  void Add(std::vector<std::string> cells);
  // Marks column `i` as numbers: aligned to the right.
  void AlignRight(size_t i) { right_ = i; }

  // Lines of about `max_line` characters at most: long cells are cut in the middle. To be called once.
  std::string Render(absl::string_view indent, size_t max_line);

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t right_ = static_cast<size_t>(-1);
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_TEXT_TABLE_H_

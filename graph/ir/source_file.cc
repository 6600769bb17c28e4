#include "graph/ir/source_file.h"

#include <algorithm>
#include <functional>

#include "graph/base/error.h"

namespace sluice {
namespace {

// The mark that `byte` belongs to, or null.
const LineMark* FindMark(const std::vector<LineMark>& lines, int64_t byte) {
  const auto after = std::upper_bound(lines.begin(), lines.end(), byte,
                                      [](int64_t at, const LineMark& mark) { return at < int64_t{mark.byte}; });
  return after == lines.begin() || std::prev(after)->line == 0 ? nullptr : &*std::prev(after);
}

}  // namespace

bool SourceFile::Holds(absl::string_view bytes) const {
  const std::less_equal<const char*> not_after;  // Defined for pointers into different objects.
  return !bytes.empty() && not_after(graph_def.data(), bytes.data()) &&
         not_after(bytes.data() + bytes.size(), graph_def.data() + graph_def.size());
}

absl::Status SourceFile::Locate(const absl::Status& status, int64_t node_index, absl::string_view bytes) const {
  if (status.ok() || !Holds(bytes)) return status;
  const int64_t begin = bytes.data() - graph_def.data() + std::max<int64_t>(offset, 0);
  const absl::Status placed = InFile(WithPlace(status, node_index, begin, begin + static_cast<int64_t>(bytes.size())));
  return name.empty() ? placed : WithFile(placed, name);
}

absl::Status SourceFile::InFile(const absl::Status& status) const {
  if (offset != kNotInFile) return status;
  return WithChangedFacts(status, [this](ErrorInfo& info) {
    if (info.byte_begin < 0) return;
    const LineMark* const mark = info.line < 0 ? FindMark(lines, info.byte_begin) : nullptr;
    if (mark != nullptr) {
      info.line = mark->line;
      info.column = mark->column;
    }
    info.byte_begin = info.byte_end = -1;
  });
}

}  // namespace sluice

#include "kernels/parsing/csv_record.h"

#include <utility>

namespace sluice {
namespace {

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

// Reads a field without quotes at `*at` and its delimiter. Null, or what is wrong.
const char* TakePlain(absl::string_view record, const CsvFormat& format, size_t* at, absl::string_view* field) {
  const size_t begin = *at;
  for (; *at < record.size() && record[*at] != format.delimiter; ++*at) {
    if ((format.has_quotes && record[*at] == '"') || IsLineEnd(record[*at])) {
      return "an unquoted field has a quote or a line end inside";
    }
  }
  *field = record.substr(begin, *at - begin);
  ++*at;
  return nullptr;
}

// Reads a quoted field, whose opening quote has been consumed, and its delimiter. Null, or what is wrong.
const char* TakeQuoted(absl::string_view record, const CsvFormat& format, size_t* at, std::string* field) {
  const size_t size = record.size();
  while (*at + 1 < size && (record[*at] != '"' || record[*at + 1] != format.delimiter)) {
    if (record[*at] != '"') {
      field->push_back(record[(*at)++]);
      continue;
    }
    if (record[*at + 1] != '"') return "a quote inside a field is not doubled";
    field->push_back('"');
    *at += 2;
  }
  if (*at >= size || record[*at] != '"') return "a quoted field does not end with a quote and a delimiter or the end";
  *at += 2;
  return nullptr;
}

}  // namespace

const char* SplitCsvRecord(absl::string_view record, const CsvFormat& format, std::vector<std::string>* fields) {
  fields->clear();
  if (record.empty()) return nullptr;
  const auto is_wanted = [&](int64_t column) {
    return format.columns.empty() || format.columns[fields->size()] == column;
  };
  int64_t column = 0;
  for (size_t at = 0; at < record.size();) {
    if (IsLineEnd(record[at])) {  // Between fields they are passed over.
      ++at;
      continue;
    }
    absl::string_view plain;
    std::string quoted;
    const bool is_quoted = format.has_quotes && record[at] == '"';
    if (is_quoted) ++at;
    const char* const fault =
        is_quoted ? TakeQuoted(record, format, &at, &quoted) : TakePlain(record, format, &at, &plain);
    if (fault != nullptr) return fault;
    if (is_wanted(column++)) {
      fields->push_back(is_quoted ? std::move(quoted) : std::string(plain));
      if (!format.columns.empty() && fields->size() == format.columns.size()) return nullptr;
    }
  }
  // An empty field after the last delimiter.
  if (is_wanted(column) && record.back() == format.delimiter) fields->emplace_back();
  return nullptr;
}

}  // namespace sluice

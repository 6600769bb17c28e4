#ifndef SLUICE_KERNELS_PARSING_CSV_RECORD_H_
#define SLUICE_KERNELS_PARSING_CSV_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// How records are written (RFC 4180 with another delimiter, or without quotes).
struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;
  std::vector<int64_t> columns;  // Those wanted, ascending; all where empty.
};

// The wanted fields of a record. Null, or what is wrong with it: as in TensorFlow, only up to the last wanted column.
const char* SplitCsvRecord(absl::string_view record, const CsvFormat& format, std::vector<std::string>* fields);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_CSV_RECORD_H_

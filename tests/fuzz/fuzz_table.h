#ifndef SLUICE_TESTS_FUZZ_FUZZ_TABLE_H_
#define SLUICE_TESTS_FUZZ_FUZZ_TABLE_H_

#include <string>

#include "tests/fuzz/fuzz_counts.h"

namespace sluice {

// One line of what was done so far.
std::string FuzzLine(const FuzzCounts& counts);
// The same as a table, with error codes and ops.
std::string FuzzTable(const FuzzCounts& counts, double seconds);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_TABLE_H_

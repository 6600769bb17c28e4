#ifndef SLUICE_TESTS_TESTING_COUNTING_NEW_H_
#define SLUICE_TESTS_TESTING_COUNTING_NEW_H_

// Linking this target replaces operator new and delete by ones that count, so that a test can say "nothing was kept"
// and "nothing large was reserved". Counts the whole process: for tests with one thread. Under a
// sanitizer all counts are 0.

#include <cstdint>

namespace sluice {

// Bytes that operator new has given out and not got back.
int64_t LiveNewBytes();
// The most bytes that were live at one time since ResetPeakNewBytes().
int64_t PeakNewBytes();
void ResetPeakNewBytes();

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_COUNTING_NEW_H_

#ifndef SLUICE_TESTS_TESTING_COUNTING_NEW_H_
#define SLUICE_TESTS_TESTING_COUNTING_NEW_H_

// Linking this target replaces operator new and delete by ones that count, so that a test can say "nothing was kept",
// "nothing large was reserved" and "nothing was allocated". Counts the whole process: for tests with one thread. Under
// a sanitizer, which has an operator new of its own, all counts are 0 and SLUICE_COUNTS_NEW is not defined.

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)
#elif defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SLUICE_COUNTS_NEW 1
#endif
#else
#define SLUICE_COUNTS_NEW 1
#endif

namespace sluice {

// Bytes that operator new has given out and not got back.
int64_t LiveNewBytes();
// The most bytes that were live at one time since ResetPeakNewBytes().
int64_t PeakNewBytes();
void ResetPeakNewBytes();
// Calls of operator new so far.
int64_t NewCalls();

// From now on the n-th call of operator new, on whatever thread, throws std::bad_alloc (1: the next one), and with
// `and_later` all after it, too. 0: none does.
void FailNewCall(int64_t n, bool and_later = false);
// Whether one has thrown since FailNewCall was called last.
bool HasFailedNewCall();

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_COUNTING_NEW_H_

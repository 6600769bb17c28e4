#ifndef SLUICE_TESTS_FUZZ_CRASH_KEY_H_
#define SLUICE_TESTS_FUZZ_CRASH_KEY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// The last words of a crashed process, as one line that is the same for the same fault: the sanitizer's or the check's
// text without addresses, and the uppermost frames of ours.
std::string CrashKey(absl::string_view log);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_CRASH_KEY_H_

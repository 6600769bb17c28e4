#ifndef SLUICE_TESTS_FUZZ_FILE_SUBJECTS_H_
#define SLUICE_TESTS_FUZZ_FILE_SUBJECTS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_subject.h"

namespace sluice {

// The kinds of file that have a fuzzer: "npy", "npz", "value", "text", "checkpoint", "saved_model".
std::vector<std::string> FileSubjectNames();
// Null for another name.
std::unique_ptr<FuzzSubject> MakeFileSubject(const std::string& name, FuzzCounts* counts,
                                             const std::vector<std::string>& seed_dirs);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FILE_SUBJECTS_H_

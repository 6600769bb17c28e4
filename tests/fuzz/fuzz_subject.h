#ifndef SLUICE_TESTS_FUZZ_FUZZ_SUBJECT_H_
#define SLUICE_TESTS_FUZZ_FUZZ_SUBJECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/fuzz/fuzz_counts.h"

namespace sluice {

// The inputs that one fuzzer makes, and how it runs them. Not thread-safe.
class FuzzSubject {
 public:
  virtual ~FuzzSubject() = default;

  // Ending of the files that hold its inputs: ".pb".
  virtual absl::string_view extension() const = 0;
  // The input of `seed`: always the same for the same seeds directories.
  virtual std::string MakeInput(uint64_t seed) = 0;
  // Does with the input what the program would do, and ends the process when a promise is broken.
  virtual void Execute(absl::string_view input) = 0;
  // Remarks on the last input: a short word for each kind of thing worth looking at, and what was seen.
  using Remarks = std::map<std::string, std::string>;
  virtual Remarks TakeRemarks() { return {}; }
  // Inputs that are `input` with something left out, larger parts first. For making a crasher small.
  virtual std::vector<std::string> Smaller(absl::string_view input) const;

 protected:
  FuzzSubject() = default;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_SUBJECT_H_

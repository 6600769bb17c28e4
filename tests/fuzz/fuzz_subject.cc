#include "tests/fuzz/fuzz_subject.h"

#include "absl/strings/str_cat.h"

namespace sluice {

std::vector<std::string> FuzzSubject::Smaller(absl::string_view input) const {
  std::vector<std::string> smaller;
  for (size_t size = input.size() / 2; size > 0; size /= 2) {
    for (size_t at = 0; at < input.size() && smaller.size() < 4000; at += size) {
      smaller.push_back(absl::StrCat(input.substr(0, at), input.substr(std::min(at + size, input.size()))));
    }
  }
  return smaller;
}

}  // namespace sluice

#ifndef SLUICE_TESTS_FUZZ_FILE_BUNDLE_H_
#define SLUICE_TESTS_FUZZ_FILE_BUNDLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Several files as one input of a fuzzer: a message with one field {1: path, 2: content} each.
using FileBundle = std::vector<std::pair<std::string, std::string>>;
std::string EncodeFiles(const FileBundle& files);
FileBundle DecodeFiles(absl::string_view bytes);

// The files in a directory of their own while it lives. Not thread-safe.
class TemporaryFiles {
 public:
  explicit TemporaryFiles(const FileBundle& files);
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles();

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FILE_BUNDLE_H_

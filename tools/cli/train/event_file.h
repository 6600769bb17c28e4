#ifndef SLUICE_TOOLS_CLI_TRAIN_EVENT_FILE_H_
#define SLUICE_TOOLS_CLI_TRAIN_EVENT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// The name of this machine, for names of event files.
std::string HostName();

// One record of a TFRecord file: its size and its bytes, each with a masked CRC-32C.
std::string TfRecord(absl::string_view bytes);

// A file of events as TensorBoard reads it: scalars by tag and step. Every call is written through to the system before
// it returns, so that a killed process leaves whole records; readers skip a truncated one.
// Movable; closes the file at its end. One thread's at a time.
class EventFile {
 public:
  // Makes a new file in `directory`, which is made if missing, beside those of earlier processes, and voids their
  // events for steps above `step`. kFileWrite.
  static absl::StatusOr<EventFile> Create(const std::string& directory, int64_t step);
  EventFile(EventFile&& other) noexcept : path_(std::move(other.path_)), descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  EventFile& operator=(EventFile&& other) = delete;
  ~EventFile();

  const std::string& path() const { return path_; }
  absl::Status AddScalars(int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

 private:
  EventFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  absl::Status Append(absl::string_view event);

  std::string path_;
  int descriptor_;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_EVENT_FILE_H_

#include "tools/cli/train/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/crc32c.h"
#include "tools/cli/console/console.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

absl::Status CannotWrite(absl::string_view path, absl::string_view why) {
  return Error(ErrorCode::kFileWrite).Text(absl::StrCat("cannot write '", PrintableName(path, 1000), "': ", why));
}

void AppendFixed(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

double Now() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

// The fields that all events have.
std::string BeginEvent(int64_t step) {
  std::string event;
  WireWriter writer(&event);
  writer.Double(1, Now());
  if (step != 0) writer.Int(2, step);
  return event;
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 && name[0] != 0 ? name : "host";
}

std::string TfRecord(absl::string_view bytes) {
  std::string record;
  AppendFixed(bytes.size(), 8, &record);
  AppendFixed(MaskCrc(Crc32c(record)), 4, &record);
  absl::StrAppend(&record, bytes);
  AppendFixed(MaskCrc(Crc32c(bytes)), 4, &record);
  return record;
}

absl::StatusOr<EventFile> EventFile::Create(const std::string& directory, int64_t step) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return CannotWrite(directory, failed.message());
  int descriptor = -1;
  std::string path;
  // The number tells files apart that one process makes within a second.
  for (int number = 0; descriptor < 0; ++number) {
    path = absl::StrCat(directory, "/events.out.tfevents.", absl::Dec(static_cast<int64_t>(Now()), absl::kZeroPad10),
                        ".", HostName(), ".", ::getpid(), ".", number);
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) return CannotWrite(path, std::strerror(errno));
  }
  EventFile file(std::move(path), descriptor);
  std::string event = BeginEvent(0);
  WireWriter(&event).Bytes(3, "brain.Event:2");
  SLUICE_RETURN_IF_ERROR(file.Append(event));
  constexpr int64_t kStart = 1;
  event = BeginEvent(step + 1);
  WireWriter writer(&event);
  const size_t log = writer.BeginMessage(7);
  writer.Int(1, kStart);
  writer.EndMessage(log);
  SLUICE_RETURN_IF_ERROR(file.Append(event));
  return file;
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

absl::Status EventFile::AddScalars(int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string event = BeginEvent(step);
  WireWriter writer(&event);
  const size_t summary = writer.BeginMessage(5);
  for (const auto& [tag, value] : scalars) {
    const size_t mark = writer.BeginMessage(1);
    writer.Bytes(1, tag);
    writer.Float(2, static_cast<float>(value));
    writer.EndMessage(mark);
  }
  writer.EndMessage(summary);
  return Append(event);
}

absl::Status EventFile::Append(absl::string_view event) {
  const int error = WriteFully(descriptor_, TfRecord(event));
  return error == 0 ? absl::OkStatus() : CannotWrite(path_, std::strerror(error));
}

}  // namespace sluice

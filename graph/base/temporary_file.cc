#include "graph/base/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sluice {

int MakeTemporaryFile(const std::string& path, absl::FunctionRef<int(const std::string& name)> make) {
  static std::atomic<uint32_t> next_number{0};  // Relaxed: only needs to differ from call to call.
  constexpr int kMaxTries = 1'000'000;
  int error = EEXIST;
  for (int i = 0; i < kMaxTries && error == EEXIST; ++i) {
    const uint32_t number = next_number.fetch_add(1, std::memory_order_relaxed);
    error = make(absl::StrCat(path, ".", ::getpid(), ".", number, ".tmp"));
  }
  return error;
}

void SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace sluice

// Files beyond the limit of one protobuf message are refused before a byte of them is read.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "graph/base/error.h"
#include "graph/load/load_graph.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A file of `size` bytes that take no room on the disk.
class SparseFile {
 public:
  explicit SparseFile(int64_t size) : path_(std::string(std::getenv("TEST_TMPDIR")) + "/sparse.pb") {
    const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    EXPECT_EQ(ftruncate(file, size), 0);
    close(file);
  }
  ~SparseFile() { unlink(path_.c_str()); }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class OversizedFileTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(OversizedFileTest, IsRefusedBeforeItIsRead) {
  const SparseFile file(GetParam());
  const int64_t before = LiveNewBytes();
  ResetPeakNewBytes();
  const absl::Status status = LoadGraphFile(file.path(), LoadOptions()).status();
  EXPECT_LT(PeakNewBytes() - before, 1 << 20);
  ASSERT_THAT(status, IsError(ErrorCode::kLimitFileSize));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const ErrorInfo info = *ErrorInfoOf(status);
  EXPECT_EQ(info.limit, "max_file_bytes");
  EXPECT_EQ(info.limit_value, 2147483647);
  EXPECT_FALSE(info.suggestion.empty());  // The way out.
  EXPECT_EQ(info.file, file.path());
}

INSTANTIATE_TEST_SUITE_P(Sizes, OversizedFileTest,
                         ::testing::Values((int64_t{1} << 31), int64_t{2254857830}, int64_t{3} << 30));

TEST(OversizedFileTest, TheHostMaySetASmallerLimit) {
  const SparseFile file(1001);
  LoadOptions options;
  options.limits.max_file_bytes = 1000;
  const absl::Status status = LoadGraphFile(file.path(), options).status();
  ASSERT_THAT(status, IsError(ErrorCode::kLimitFileSize));
  EXPECT_EQ(ErrorInfoOf(status)->limit_value, 1000);
}

// Writes zeros to `pipe` until it is closed, counting them.
void WriteWithoutEnd(int pipe, std::atomic<int64_t>* written) {
  const std::string zeros(1 << 16, '\0');
  for (;;) {
    const ssize_t count = write(pipe, zeros.data(), zeros.size());
    if (count <= 0) return;
    written->fetch_add(count);
  }
}

TEST(OversizedFileTest, StandardInputIsRefusedAsSoonAsTheLimitIsPassed) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  close(ends[0]);
  std::atomic<int64_t> written{0};
  std::thread writer(WriteWithoutEnd, ends[1], &written);
  LoadOptions options;
  options.limits.max_file_bytes = 4 << 20;
  const absl::Status status = LoadGraphFile("-", options).status();
  // The last reader goes: the writer's next write fails.
  if (saved >= 0) {
    dup2(saved, STDIN_FILENO);
    close(saved);
  } else {
    close(STDIN_FILENO);
  }
  writer.join();
  close(ends[1]);
  EXPECT_THAT(status, IsError(ErrorCode::kLimitFileSize));
  EXPECT_LE(written.load(), (4 << 20) + (4 << 20)) << "read far beyond the limit";
}

}  // namespace
}  // namespace sluice

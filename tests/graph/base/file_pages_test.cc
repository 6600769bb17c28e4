#include "graph/base/file_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/base/file.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr size_t kPages = 64;

size_t PageSize() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// How many of the pages of `bytes`, which begin with one, this process holds in memory.
size_t PagesHeld(absl::string_view bytes) {
  std::vector<uint64_t> entries(bytes.size() / PageSize());
  const size_t size = entries.size() * sizeof(uint64_t);
  const uintptr_t first = reinterpret_cast<uintptr_t>(bytes.data()) / PageSize();
  const int map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const ssize_t read = ::pread(map, entries.data(), size, static_cast<off_t>(first * sizeof(uint64_t)));
  ::close(map);
  EXPECT_EQ(read, static_cast<ssize_t>(size));
  size_t held = 0;
  for (const uint64_t entry : entries) held += entry >> 63;  // "Present".
  return held;
}

class FilePagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < kPages * PageSize(); ++i) content_ += static_cast<char>(i * 31 / 7);
    const std::string path = ::testing::TempDir() + "/file_pages_test";
    ASSERT_OK(WriteFile(path, content_));
    ASSERT_OK_AND_ASSIGN(file_, MappedFile::Open(path, 1 << 30));
    ASSERT_EQ(file_->bytes(), content_);  // Touches every page.
    ASSERT_EQ(PagesHeld(file_->bytes()), kPages);
  }

  std::string content_;
  std::shared_ptr<const MappedFile> file_;
};

TEST_F(FilePagesTest, PagesOfAFileAreGivenBackAndReadAgain) {
  EXPECT_EQ(ReleaseFilePages(file_->bytes()), kPages * PageSize());
  EXPECT_EQ(PagesHeld(file_->bytes()), 0u);
  EXPECT_EQ(file_->bytes(), content_);
  EXPECT_EQ(PagesHeld(file_->bytes()), kPages);
}

TEST_F(FilePagesTest, OnlyWholePagesAreGivenBack) {
  const absl::string_view odd = file_->bytes().substr(1, 3 * PageSize());
  EXPECT_EQ(ReleaseFilePages(odd), 2 * PageSize());
  EXPECT_EQ(PagesHeld(file_->bytes()), kPages - 2);
  EXPECT_EQ(ReleaseFilePages(file_->bytes().substr(10, PageSize() - 10)), 0u);
  EXPECT_EQ(ReleaseFilePages(absl::string_view()), 0u);
  EXPECT_EQ(PagesHeld(file_->bytes()), kPages - 2);
}

TEST_F(FilePagesTest, MemoryOfOthersKeepsItsBytes) {
  const std::string copy = content_;
  EXPECT_EQ(ReleaseFilePages(copy), 0u);
  EXPECT_EQ(copy, content_);
  // A range beyond the end of a file is not a part of it.
  const absl::string_view beyond(file_->bytes().data(), file_->bytes().size() + PageSize());
  EXPECT_EQ(ReleaseFilePages(beyond), 0u);
}

TEST_F(FilePagesTest, AFileThatIsClosedIsNoLongerKnown) {
  const absl::string_view gone = file_->bytes();
  file_ = nullptr;
  EXPECT_EQ(ReleaseFilePages(gone), 0u);
}

}  // namespace
}  // namespace sluice

#include "graph/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 40;

// A fresh name in the test's directory.
std::string Name(const std::string& name) { return ::testing::TempDir() + "/file_test_" + name; }

int CountFiles(const std::string& prefix) {
  int count = 0;
  DIR* const directory = ::opendir(::testing::TempDir().c_str());
  while (const dirent* entry = ::readdir(directory)) count += std::string(entry->d_name).rfind(prefix, 0) == 0;
  ::closedir(directory);
  return count;
}

TEST(FileTest, WhatIsWrittenIsRead) {
  const std::string path = Name("round_trip");
  for (const std::string& bytes : {std::string("first"), std::string(), std::string(3000000, 'x')}) {
    ASSERT_OK(WriteFile(path, bytes));
    ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(path, kNoLimit));
    EXPECT_EQ(read, bytes);
    ASSERT_OK_AND_ASSIGN(const auto mapped, MappedFile::Open(path, kNoLimit));
    EXPECT_EQ(mapped->bytes(), bytes);
  }
  EXPECT_EQ(CountFiles("file_test_round_trip"), 1);  // No temporary is left.
}

// A process that was killed has left them, and this one has its number: in a container that is likely.
TEST(FileTest, FilesThatAKilledProcessLeftAreNoHindrance) {
  const std::string path = Name("left");
  for (int number = 0; number < 100; ++number) {
    const std::string left = path + "." + std::to_string(::getpid()) + "." + std::to_string(number) + ".tmp";
    ::close(::open(left.c_str(), O_WRONLY | O_CREAT, 0666));
  }
  const int before = CountFiles("file_test_left");
  ASSERT_OK(WriteFile(path, "new"));
  EXPECT_EQ(*ReadFile(path, kNoLimit), "new");
  EXPECT_EQ(CountFiles("file_test_left"), before + 1);
}

TEST(FileTest, MissingFilesAndDirectoriesAreNamed) {
  EXPECT_THAT(ReadFile(Name("missing"), kNoLimit), StatusIs(absl::StatusCode::kNotFound, "file_test_missing'"));
  EXPECT_THAT(MappedFile::Open(Name("missing"), kNoLimit), IsError(ErrorCode::kFileMissing));
  EXPECT_THAT(ReadFile(::testing::TempDir(), kNoLimit), IsError(ErrorCode::kFileRead, "directory"));
  EXPECT_THAT(ReadFile("/dev/null/x", kNoLimit), IsError(ErrorCode::kFileMissing));
  EXPECT_THAT(WriteFile(Name("no") + "/such/directory", "x"), IsError(ErrorCode::kFileWrite, "No such file"));
  EXPECT_THAT(WriteFile(::testing::TempDir(), "x"), IsError(ErrorCode::kFileWrite, "directory"));
}

TEST(FileTest, LargeFilesAreRefusedBeforeTheyAreRead) {
  const std::string path = Name("sparse");
  ASSERT_OK(WriteFile(path, ""));
  ASSERT_EQ(::truncate(path.c_str(), int64_t{3} << 30), 0);
  EXPECT_THAT(ReadFile(path, (int64_t{1} << 31) - 1), StatusIs(absl::StatusCode::kResourceExhausted, "3221225472"));
  EXPECT_THAT(MappedFile::Open(path, (int64_t{1} << 31) - 1), IsError(ErrorCode::kLimitFileSize));
  ::unlink(path.c_str());
}

TEST(FileTest, PipesAreRefusedAsSoonAsTheLimitIsPassed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  // Writes without end, until the reader is gone.
  std::thread writer([fd = ends[1]] {
    const std::string block(1000, 'x');
    for (int i = 0; i < 2000; ++i) {
      if (::write(fd, block.data(), block.size()) < 0) break;
    }
    ::close(fd);
  });
  EXPECT_THAT(ReadDescriptor(ends[0], "pipe", 100000), IsError(ErrorCode::kLimitFileSize, "more than 100000 bytes"));
  ASSERT_OK_AND_ASSIGN(const std::string rest, ReadDescriptor(ends[0], "pipe", kNoLimit));
  EXPECT_GT(rest.size(), 1800000u);
  writer.join();
  ::close(ends[0]);
}

TEST(FileTest, AnInputOfExactlyTheLimitIsRead) {
  const std::string path = Name("limit");
  ASSERT_OK(WriteFile(path, std::string(1000, 'x')));
  EXPECT_OK(ReadFile(path, 1000));
  EXPECT_THAT(ReadFile(path, 999), IsError(ErrorCode::kLimitFileSize));
  const int fd = ::open(path.c_str(), O_RDONLY);
  EXPECT_THAT(ReadDescriptor(fd, "redirected", 999), IsError(ErrorCode::kLimitFileSize, "1000 bytes"));
  ASSERT_EQ(::lseek(fd, 400, SEEK_SET), 400);
  ASSERT_OK_AND_ASSIGN(const std::string rest, ReadDescriptor(fd, "redirected", 600));
  EXPECT_EQ(rest.size(), 600u);
  ::close(fd);
}

TEST(FileTest, WritingFollowsLinksAndKeepsPermissions) {
  const std::string target = Name("target");
  const std::string link = Name("link");
  ASSERT_OK(WriteFile(target, "old"));
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  ::unlink(link.c_str());
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  ASSERT_OK(WriteFile(link, "new"));
  struct stat facts;
  ASSERT_EQ(::lstat(link.c_str(), &facts), 0);
  EXPECT_TRUE(S_ISLNK(facts.st_mode));
  ASSERT_EQ(::stat(target.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
  EXPECT_EQ(*ReadFile(target, kNoLimit), "new");
}

TEST(FileTest, DevicesAreWrittenAndReadDirectly) {
  EXPECT_OK(WriteFile("/dev/null", "gone"));
  ASSERT_OK_AND_ASSIGN(const auto mapped, MappedFile::Open("/dev/null", kNoLimit));
  EXPECT_EQ(mapped->bytes(), "");
  EXPECT_THAT(ReadFile("/dev/zero", 1000), IsError(ErrorCode::kLimitFileSize));
}

TEST(FileTest, AMappingOutlivesTheReplacementOfItsFile) {
  const std::string path = Name("replaced");
  ASSERT_OK(WriteFile(path, std::string(100000, 'a')));
  ASSERT_OK_AND_ASSIGN(const auto mapped, MappedFile::Open(path, kNoLimit));
  ASSERT_OK(WriteFile(path, "b"));
  EXPECT_EQ(mapped->bytes(), std::string(100000, 'a'));
}

}  // namespace
}  // namespace sluice

#include "kernels/step/file_access.h"

#include <filesystem>
#include <string>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/file.h"
#include "gtest/gtest.h"
#include "kernels/step/session_state.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// granted/ with a file and two links: one to a file elsewhere, one to the directory elsewhere/; and granted_not/.
class FileAccessTest : public ::testing::Test {
 protected:
  FileAccessTest() {
    root_ = fs::canonical(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    for (const char* directory : {"granted/below", "granted_not", "elsewhere"})
      fs::create_directories(root_ / directory);
    EXPECT_OK(WriteFile(Path("granted/file"), "x"));
    EXPECT_OK(WriteFile(Path("elsewhere/file"), "x"));
    fs::create_symlink(root_ / "elsewhere/file", root_ / "granted/link");
    fs::create_directory_symlink(root_ / "elsewhere", root_ / "granted/directory");
  }

  std::string Path(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(FileAccessTest, NothingIsGrantedAtFirstAndAllWithAll) {
  EXPECT_THAT(FileAccess().CheckRead(Path("granted/file")), IsError(ErrorCode::kPathEscape, "granted/file"));
  EXPECT_THAT(FileAccess().CheckWrite("x"), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_OK(FileAccess::All().CheckRead("/etc/hostname"));
  EXPECT_OK(FileAccess::All().CheckWrite("/etc/hostname"));
}

TEST_F(FileAccessTest, ADirectoryIsGrantedWithWhatIsBelow) {
  FileAccess access;
  access.Read(Path("granted"));
  for (const char* name :
       {"granted", "granted/", "granted/file", "granted/below/new", "granted/./below//new", "granted/below/../file",
        "granted/link", "granted/directory/file", "elsewhere/../granted/file"}) {
    EXPECT_OK(access.CheckRead(Path(name))) << name;
    EXPECT_THAT(access.CheckWrite(Path(name)), IsError(ErrorCode::kPathEscape)) << name;
  }
  for (const char* name : {"granted_not/file", "granted/../granted_not/file", "granted/directory/../granted_not/file",
                           "elsewhere/file", "", "granted/below/../../elsewhere/file"}) {
    EXPECT_THAT(access.CheckRead(Path(name)), IsError(ErrorCode::kPathEscape)) << name;
  }
}

TEST_F(FileAccessTest, WhatIsWrittenLiesInTheDirectoryLinksFollowed) {
  FileAccess access;
  access.Write(Path("granted") + "/");
  EXPECT_OK(access.CheckWrite(Path("granted/file")));
  EXPECT_OK(access.CheckWrite(Path("granted/new/file")));
  EXPECT_OK(access.CheckRead(Path("granted/file")));
  for (const char* name : {"granted/link", "granted/directory/file", "granted/directory/new", "elsewhere/file"}) {
    EXPECT_THAT(access.CheckWrite(Path(name)), IsError(ErrorCode::kPathEscape)) << name;
  }
}

TEST_F(FileAccessTest, PathsAreKeptAsTheyMeantWhenTheyWereGranted) {
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  FileAccess access, other;
  access.Read("granted").Read("");
  fs::current_path(root_ / "elsewhere");
  EXPECT_OK(access.CheckRead(Path("granted/file")));
  EXPECT_OK(access.CheckRead("../granted/file"));
  EXPECT_THAT(access.CheckRead("file"), IsError(ErrorCode::kPathEscape));
  EXPECT_THAT(access.CheckRead("granted/file"), IsError(ErrorCode::kPathEscape));
  other.Write("").Read(".").Add(access);
  EXPECT_OK(other.CheckRead("file"));
  EXPECT_OK(other.CheckRead(Path("granted/file")));
  EXPECT_THAT(other.CheckWrite("file"), IsError(ErrorCode::kPathEscape));
  fs::current_path(before);
}

TEST_F(FileAccessTest, TheRootGrantsAll) {
  EXPECT_OK(FileAccess().Read("/").CheckRead(Path("granted/file")));
  EXPECT_OK(FileAccess().Write("/").CheckWrite(Path("granted/new")));
}

TEST_F(FileAccessTest, WithoutADirectoryOfItsOwnAProcessNamesNoFile) {
  const fs::path before = fs::current_path();
  fs::create_directories(root_ / "gone");
  fs::current_path(root_ / "gone");
  fs::remove(root_ / "gone");
  EXPECT_THAT(FileAccess().Read("/").CheckRead("file"), IsError(ErrorCode::kPathEscape));
  EXPECT_THAT(FileAccess().Write("/").CheckWrite("file"), IsError(ErrorCode::kPathEscape));
  EXPECT_OK(FileAccess().Read("/").CheckRead(Path("granted/file")));
  fs::current_path(before);
}

TEST_F(FileAccessTest, ARunWithoutASessionHasNoFiles) {
  const SessionState none, all(FileAccess::All());
  EXPECT_THAT(CheckFileRead(nullptr, Path("granted/file")), IsError(ErrorCode::kPathEscape));
  EXPECT_THAT(CheckFileWrite(nullptr, Path("granted/file")), IsError(ErrorCode::kPathEscape));
  EXPECT_THAT(CheckFileRead(&none, Path("granted/file")), IsError(ErrorCode::kPathEscape));
  EXPECT_OK(CheckFileRead(&all, Path("granted/file")));
  EXPECT_OK(CheckFileWrite(&all, Path("granted/file")));
}

}  // namespace
}  // namespace sluice

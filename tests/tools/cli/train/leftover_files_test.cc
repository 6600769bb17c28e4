#include "tools/cli/train/leftover_files.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/temporary_file.h"
#include "gtest/gtest.h"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/train/training_models.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// The number of a process that is over.
pid_t GoneProcess() {
  const pid_t child = fork();
  if (child == 0) ::_exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(LeftoverFilesTest, WhatMakeTemporaryFileCallsItIsKnown) {
  for (const char* path : {"checkpoint", "loss.csv", "loss.svg", "model.ckpt-12.index", "model.ckpt-0.meta",
                           "model.again.ckpt-7.data-00000-of-00001"}) {
    MakeTemporaryFile(path, [](const std::string& name) {
      EXPECT_EQ(MakerOfTemporary(name), ::getpid()) << name;
      return 0;
    });
  }
}

TEST(LeftoverFilesTest, OtherNamesAreNoneOfOurs) {
  for (const char* name : {"checkpoint",
                           "checkpoint.tmp",
                           "checkpoint.1.tmp",
                           "checkpoint.1.0",
                           "checkpoint.0.0.tmp",
                           "checkpoint.-1.0.tmp",
                           "checkpoint.01.0.tmp",
                           "checkpoint.1.00.tmp",
                           "checkpoint.1.x.tmp",
                           "checkpoint.99999999999.0.tmp",
                           "checkpoint.99999999999999999999.0.tmp",
                           "my.checkpoint.1.0.tmp",
                           "notes.txt.1.0.tmp",
                           "model.ckpt-.index.1.0.tmp",
                           "model.ckpt-1.1.0.tmp",
                           "model.ckpt-1.data.1.0.tmp",
                           "model.ckpt-1.data-0-of-1.1.0.tmp",
                           "model.ckpt-1.data-00000-of-00001x.1.0.tmp",
                           ".1.0.tmp",
                           ".tmp",
                           "",
                           "model.ckpt-1.index.1.0.tmp.",
                           "1.0.tmp",
                           "loss.csv.1.0.TMP"}) {
    EXPECT_EQ(MakerOfTemporary(name), 0) << name;
  }
}

TEST(LeftoverFilesTest, ATrainingRemovesWhatAKilledOneLeft) {
  const std::string out = TestFile("killed"), gone = absl::StrCat(".", GoneProcess(), ".");
  fs::create_directories(out);
  const std::vector<std::string> ours = {"checkpoint" + gone + "0.tmp", "loss.svg" + gone + "12.tmp",
                                         "model.ckpt-3.index" + gone + "1.tmp",
                                         "model.again.ckpt-3.data-00000-of-00001" + gone + "4.tmp"};
  // Files of a living process, of others, and entries that are not files.
  const std::vector<std::string> kept = {absl::StrCat("loss.csv.", ::getpid(), ".0.tmp"), "notes.txt" + gone + "0.tmp",
                                         "checkpoint" + gone + "tmp"};
  for (const std::string& name : ours) MakeTestFile("killed/" + name, "left");
  for (const std::string& name : kept) MakeTestFile("killed/" + name, "kept");
  fs::create_directories(out + "/loss.csv" + gone + "0.tmp");
  fs::create_symlink(out + "/notes.txt" + gone + "0.tmp", out + "/loss.csv" + gone + "1.tmp");
  const std::string model = MakeTestFile("model.pb", DropoutModel()), rows = MakeTestFile("rows.npz", TrainingRows(8));
  const std::vector<std::string> call = {"train",   model, rows, "--loss",  "loss", "--feed",
                                         "scale=1", "-o",  out,  "--steps", "1"};
  const RunResult run = RunSluice(call);
  EXPECT_EQ(run.status, 0) << run.err;
  for (const std::string& name : ours) EXPECT_FALSE(fs::exists(out + "/" + name)) << name;
  for (const std::string& name : kept) EXPECT_EQ(ReadTestFile(out + "/" + name), "kept");
  EXPECT_TRUE(fs::is_directory(out + "/loss.csv" + gone + "0.tmp"));
  EXPECT_TRUE(fs::is_symlink(out + "/loss.csv" + gone + "1.tmp"));
  // One that is refused changes nothing.
  MakeTestFile("killed/" + ours[0], "left");
  EXPECT_EQ(RunSluice(call).status, 1);
  EXPECT_TRUE(fs::exists(out + "/" + ours[0]));
}

// A process in a container often has the number of the one before it.
TEST(LeftoverFilesTest, TheOwnNumberIsThatOfAnEarlierProcess) {
  const std::string out = TestFile("own");
  fs::create_directories(out);
  const std::string own = MakeTestFile(absl::StrCat("own/loss.csv.", ::getpid(), ".0.tmp"), "left");
  const std::string init = MakeTestFile("own/loss.csv.1.0.tmp", "of a living process");
  RemoveLeftovers(out);
  EXPECT_FALSE(fs::exists(own));
  EXPECT_TRUE(fs::exists(init));
  RemoveLeftovers(out + "/nowhere");
}

}  // namespace
}  // namespace sluice

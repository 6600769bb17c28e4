#include "kernels/checkpoint/checkpoint_state.h"

#include <filesystem>
#include <string>

#include "graph/base/file.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::string Directory() {
  const std::string directory =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::create_directories(directory);
  return directory;
}

// The newest checkpoint that a file of these bytes names, without its directory, or the code of the error.
std::string NewestIn(const std::string& text) {
  EXPECT_OK(WriteFile(Directory() + "/checkpoint", text));
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(Directory());
  if (!state.ok()) return absl::StatusCodeToString(state.status().code());
  return state->newest.substr(Directory().size() + 1);
}

TEST(CheckpointStateTest, EveryTextFormIsRead) {
  const struct {
    const char *text, *newest;
  } rows[] = {
      {"model_checkpoint_path: \"x-7\"\nall_model_checkpoint_paths: \"x-7\"\n", "x-7"},
      {"model_checkpoint_path: \"x\"  all_model_checkpoint_paths: \"y\"", "x"},
      {"model_checkpoint_path:\"x\" # the newest", "x"},
      {"# a comment: 'x'\nmodel_checkpoint_path: \"a\" \"b\"", "ab"},
      {"model_checkpoint_path: 'x\\303\\251\\'y'", "x\303\251'y"},
      {"model_checkpoint_path: \"x\"; last_preserved_timestamp: 1.5e+09, later: TRUE", "x"},
      {"all_model_checkpoint_timestamps: 3\nmodel_checkpoint_path: \"x\"", "x"},
      {"all_model_checkpoint_paths: \"x\"", "NOT_FOUND"},
      {"", "NOT_FOUND"},
      {"model_checkpoint_path: x", "INVALID_ARGUMENT"},
      {"model_checkpoint_path: \"x", "INVALID_ARGUMENT"},
      {"model_checkpoint_path: \"x\ny\"", "INVALID_ARGUMENT"},
      {"model_checkpoint_path: \"\\", "INVALID_ARGUMENT"},
      {"model_checkpoint_path \"x\"", "INVALID_ARGUMENT"},
      {"{}", "INVALID_ARGUMENT"},
  };
  for (const auto& row : rows) EXPECT_EQ(NewestIn(row.text), row.newest) << row.text;
}

TEST(CheckpointStateTest, WhatIsAddedIsReadAndFiveAreKept) {
  for (const char* name : {"a", "b \"quoted\"", "c", "d", "e", "b \"quoted\"", "f\\g"}) {
    ASSERT_OK(AddToCheckpointState(Directory() + "/" + name));
    ASSERT_OK_AND_ASSIGN(const CheckpointState state, ReadCheckpointState(Directory()));
    EXPECT_EQ(state.newest, Directory() + "/" + name);
    EXPECT_EQ(state.all.back(), state.newest);
  }
  ASSERT_OK_AND_ASSIGN(const CheckpointState state, ReadCheckpointState(Directory()));
  EXPECT_EQ(state.all.size(), 5u);
  EXPECT_EQ(state.all.front(), Directory() + "/c");
}

TEST(CheckpointStateTest, WhatIsWrittenIsReadWhereverThePrefixesStand) {
  const std::vector<std::string> all = {"/elsewhere/a", Directory() + "/b", Directory() + "/c"};
  ASSERT_OK(WriteCheckpointState(Directory(), {all[1], all}));
  ASSERT_OK_AND_ASSIGN(const CheckpointState state, ReadCheckpointState(Directory()));
  EXPECT_EQ(state.newest, all[1]);
  EXPECT_EQ(state.all, all);
}

}  // namespace
}  // namespace sluice

// What training writes: the loss curve, events, checkpoints and the state in them.

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/checkpoint/crc32c.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/train/event_file.h"
#include "tools/cli/train/loss_curve.h"
#include "tools/cli/train/train_checkpoints.h"
#include "tools/cli/train/train_log.h"
#include "tools/cli/train/train_state.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kLabels = {"loss", "accuracy"};

std::string NewDirectory(const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

CurveRow Row(bool is_validation, int64_t step, double loss) { return {is_validation, step, 1, {loss, 0.5}}; }

TEST(LossCurveTest, WhatIsWrittenIsRead) {
  const std::vector<CurveRow> rows = {Row(false, 1, 0.1), Row(true, 1, std::numeric_limits<double>::infinity()),
                                      Row(false, 2, 1e-30)};
  std::string text = CurveHeader(kLabels);
  for (const CurveRow& row : rows) text += CurveLine(row);
  ASSERT_OK_AND_ASSIGN(const std::vector<CurveRow> read, ReadCurve(text, kLabels));
  ASSERT_EQ(read.size(), 3);
  EXPECT_TRUE(read[1].is_validation);
  EXPECT_EQ(read[1].values, rows[1].values);
  EXPECT_EQ(read[2].step, 2);
  EXPECT_DOUBLE_EQ(read[2].values[0], 1e-30);
}

TEST(LossCurveTest, ALineThatWasCutOffIsLeftOut) {
  const std::string text = absl::StrCat(CurveHeader(kLabels), CurveLine(Row(false, 1, 0.25)), "train,2,1,0.");
  ASSERT_OK_AND_ASSIGN(const std::vector<CurveRow> read, ReadCurve(text, kLabels));
  EXPECT_EQ(read.size(), 1);
}

// The newest is all there is until the next one is whole.
TEST(TrainCheckpointsTest, TheNewestIsNotWrittenOver) {
  const std::string directory = NewDirectory("again");
  ASSERT_OK_AND_ASSIGN(TrainCheckpoints checkpoints, TrainCheckpoints::Open(directory, 2, "meta"));
  for (float value : {1.0f, 2.0f, 3.0f}) {
    const std::string before = checkpoints.newest();
    ASSERT_OK(checkpoints.Save(7, {{"w", Tensor::Scalar(value)}}));
    EXPECT_NE(checkpoints.newest(), before);
    if (!before.empty()) {
      EXPECT_OK(ReadCheckpoint(before));
    }
    ASSERT_OK_AND_ASSIGN(const NamedTensors read, ReadCheckpoint(checkpoints.newest()));
    EXPECT_EQ(read[0].second.flat<float>()[0], value);
  }
}

TEST(LossCurveTest, OtherFilesAreRefused) {
  EXPECT_FALSE(ReadCurve(CurveHeader({"loss"}), kLabels).ok());
  EXPECT_FALSE(ReadCurve("", kLabels).ok());
  EXPECT_FALSE(ReadCurve(CurveHeader(kLabels) + "train,x,1,2,3\n", kLabels).ok());
  EXPECT_FALSE(ReadCurve(CurveHeader(kLabels) + "train,1,1,2\n", kLabels).ok());
}

TEST(LossCurveTest, ALongCurveIsASmallDrawing) {
  std::vector<CurveRow> rows;
  for (int i = 1; i <= 100'000; ++i) rows.push_back(Row(i % 50 == 0, i, 1.0 / i));
  rows.push_back(Row(false, 100'001, std::numeric_limits<double>::quiet_NaN()));
  const std::string svg = DrawCurve(rows, kLabels, "a<b>");
  EXPECT_LT(svg.size(), 100'000);
  for (const char* part : {"<svg", "polyline class=\"t\"", "polyline class=\"v\"", "a&lt;b&gt;", ">accuracy<"}) {
    EXPECT_TRUE(absl::StrContains(svg, part)) << part;
  }
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
  EXPECT_TRUE(absl::StrContains(DrawCurve({}, kLabels, ""), "</svg>")) << "nothing to draw is no failure";
}

// The framing that TensorFlow's readers check.
TEST(EventFileTest, RecordsHaveTheirSizeAndChecksums) {
  const std::string record = TfRecord("abc");
  ASSERT_EQ(record.size(), 8 + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
  uint32_t crc = 0;
  for (int i = 3; i >= 0; --i) crc = crc << 8 | static_cast<uint8_t>(record[15 + static_cast<size_t>(i)]);
  EXPECT_EQ(crc, MaskCrc(Crc32c("abc")));
}

TEST(TrainLogTest, RowsOfLostStepsAreDropped) {
  const std::string directory = NewDirectory("log");
  TrainLog::Options options = {directory, kLabels, "title", 0, false, true};
  {
    ASSERT_OK_AND_ASSIGN(TrainLog log, TrainLog::Open(options));
    for (int step = 1; step <= 5; ++step) ASSERT_OK(log.Add(Row(false, step, step)));
    ASSERT_OK(log.Add(Row(true, 5, 5)));
  }
  options.step = 3;
  options.is_resumed = true;
  ASSERT_OK_AND_ASSIGN(TrainLog log, TrainLog::Open(options));
  EXPECT_EQ(log.rows().size(), 3);
  ASSERT_OK(log.Add(Row(false, 4, 40)));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(log.csv_path(), 1 << 20));
  EXPECT_TRUE(absl::EndsWith(text, "train,3,1,3,0.5\ntrain,4,1,40,0.5\n")) << text;
  ASSERT_OK(log.Draw());
  EXPECT_TRUE(fs::exists(log.svg_path()));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory + "/train"), fs::directory_iterator()), 2);
}

TEST(TrainStateTest, ComesBackFromACheckpoint) {
  constexpr int64_t kBatches = 5;  // Of an epoch.
  TrainState state({"loss", "error"});
  state.step = 17;
  state.epoch = 3;
  state.batch = 2;
  state.of_epoch.Add({1, 2}, 10);
  state.of_row.Add({0.1, 0.7}, 3);
  state.settings = "a 1\nb 2";
  NamedTensors tensors = {{"w", Tensor::Scalar(1.0f)}};
  state.AppendTo(&tensors);
  TrainState expected({"loss", "error"});
  expected.settings = state.settings;
  ASSERT_OK_AND_ASSIGN(const TrainState read, TrainState::From(tensors, expected, kBatches));
  EXPECT_EQ(read.step, 17);
  EXPECT_EQ(read.epoch, 3);
  EXPECT_EQ(read.batch, 2);
  EXPECT_EQ(read.of_epoch.sums, state.of_epoch.sums);
  EXPECT_EQ(read.of_epoch.rows, 10);
  EXPECT_EQ(read.of_row.sums, state.of_row.sums);
  EXPECT_EQ(read.of_row.rows, 3);

  expected.settings = "a 1\nb 3";
  const absl::Status other = TrainState::From(tensors, expected, kBatches).status();
  EXPECT_EQ(ErrorInfoOf(other)->expected, "b 2");
  EXPECT_EQ(ErrorInfoOf(other)->found, "b 3");
  EXPECT_FALSE(TrainState::From(tensors, TrainState({"loss"}), kBatches).ok()) << "another number of metrics";
  EXPECT_FALSE(TrainState::From({{"w", Tensor::Scalar(1.0f)}}, expected, kBatches).ok()) << "no state";
}

TEST(TrainCheckpointsTest, TheNewestAreKept) {
  const std::string directory = NewDirectory("checkpoints") + "/";
  ASSERT_OK_AND_ASSIGN(TrainCheckpoints checkpoints, TrainCheckpoints::Open(directory, /*keep=*/2, "graph"));
  EXPECT_EQ(checkpoints.newest(), "");
  for (int64_t step : {1, 2, 3}) {
    ASSERT_OK(checkpoints.Save(step, {{"w", Tensor::Scalar(step)}, {"s", Tensor::String("text")}}));
  }
  EXPECT_FALSE(fs::exists(directory + "model.ckpt-1.index"));
  EXPECT_FALSE(fs::exists(directory + "model.ckpt-1.data-00000-of-00001"));
  EXPECT_FALSE(fs::exists(directory + "model.ckpt-1.meta"));
  EXPECT_TRUE(fs::exists(directory + "model.ckpt-2.meta"));
  ASSERT_OK_AND_ASSIGN(TrainCheckpoints again, TrainCheckpoints::Open(directory, 2, "graph"));
  EXPECT_TRUE(absl::EndsWith(again.newest(), "/model.ckpt-3")) << again.newest();
  ASSERT_OK(again.Save(3, {{"w", Tensor::Scalar(int64_t{30})}}));  // The same step: beside it.
  ASSERT_OK(again.Save(4, {{"w", Tensor::Scalar(int64_t{4})}}));
  EXPECT_FALSE(fs::exists(directory + "model.ckpt-2.index"));
  ASSERT_OK_AND_ASSIGN(const NamedTensors read, ReadCheckpoint(directory + "model.again.ckpt-3"));
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(*read[0].second.AsScalar<int64_t>(), 30);
}

}  // namespace
}  // namespace sluice

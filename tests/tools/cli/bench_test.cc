// `sluice bench`: the form of what it says. Times themselves are never asserted.

#include <csignal>
#include <string>

#include "absl/strings/match.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

std::string SumModel() {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1}));
  b.Op("AddV2", "sum", {x, b.Const("one", Tensor::Scalar(1.0f))});
  return ExportGraph(*b.Build());
}

TEST(BenchTest, JsonHasTheKeysOfTheDesign) {
  const RunResult run =
      RunSluice({"bench", "-", "--feed", "x=8xf32=1", "--runs", "20", "--threads", "1", "--json"}, SumModel());
  ASSERT_EQ(run.status, 0) << run.err;
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(run.out);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  EXPECT_EQ(keys, "model nodes threads load_us prepare_us first_run_us runs run_us rss_peak_bytes ");
  std::string percentiles;
  for (const auto& [key, value] : json["run_us"].items()) percentiles += key + " ";
  EXPECT_EQ(percentiles, "min p50 p90 p99 mean ");
  EXPECT_EQ(json["nodes"], 3);
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["runs"], 20);
  EXPECT_LE(json["run_us"]["min"], json["run_us"]["p50"]);
  EXPECT_LE(json["run_us"]["p50"], json["run_us"]["p99"]);
  EXPECT_GT(json["rss_peak_bytes"], 1 << 20);
}

TEST(BenchTest, TheTextNamesWhatWasMeasuredAndTheProfileTheOps) {
  const RunResult run = RunSluice({"bench", "-", "--feed", "x=8xf32=1", "--seconds", "0.01", "--profile"}, SumModel());
  ASSERT_EQ(run.status, 0) << run.err;
  for (const char* word : {"load ", "prepare ", "first run ", "p50 ", "p99 ", "memory ", "AddV2 "}) {
    EXPECT_TRUE(absl::StrContains(run.out, word)) << word << run.out;
  }
}

TEST(BenchTest, WhatCannotRunIsAnErrorNotATime) {
  const RunResult run = RunSluice({"bench", "-"}, SumModel());
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(absl::StrContains(run.err, "--feed x=1xfloat32=random:7")) << run.err;
}

TEST(BenchTest, CtrlCShowsWhatWasMeasuredUntilThen) {
  GraphBuilder b(NewOpRegistry());
  const Output v = b.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  b.Op("Assign", "init", {v, b.Const("zero", Tensor::Scalar(0.0f))});
  const Output count = b.Op("AssignAdd", "count", {v, b.Const("one", Tensor::Scalar(1.0f))});
  b.Op("Print", "said", {count, count}, {{"message", "run "}});
  // The twentieth run comes after those that warm up.
  const RunResult run = RunSluiceUntil({"bench", "-", "--init", "init", "--fetch", "said", "--seconds", "600", "--runs",
                                        "1000000000", "--warmup", "2", "--profile"},
                                       ExportGraph(*b.Build()), "run [20]", SIGINT);
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(absl::StrContains(run.out, "  runs       ")) << run.out;
  EXPECT_TRUE(absl::StrContains(run.err, "CANCELLED: interrupted: the figures are those of "));
}

TEST(BenchTest, ATimeThatIsNoNumberIsWrongUse) {
  for (const char* seconds : {"nan", "-1", "0", "", "1e9"}) {
    EXPECT_EQ(RunSluice({"bench", "-", "--feed", "x=8xf32=1", "--seconds", seconds}, SumModel()).status, 2) << seconds;
  }
}

}  // namespace
}  // namespace sluice

#include "graph/base/check.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

// Keeps the lines it gets. Not thread-safe.
class RecordingSink : public LogSink {
 public:
  RecordingSink() : before_(SetLogSink(this)) {}
  ~RecordingSink() override { SetLogSink(before_); }

  void Write(LogLevel level, const char* file, int line, absl::string_view text) override {
    EXPECT_THAT(file, ::testing::EndsWith("check_test.cc"));
    EXPECT_GT(line, 0);
    lines_.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(text));
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  LogSink* before_;
  std::vector<std::string> lines_;
};

enum class Colour { kRed = 1, kGreen = 2 };

TEST(CheckTest, HoldsSilently) {
  SLUICE_CHECK(true) << "never printed";
  SLUICE_CHECK_EQ(2, 1 + 1);
  SLUICE_CHECK_OK(absl::OkStatus());
  if (true)
    SLUICE_CHECK(true);
  else
    FAIL() << "the macro took the else";
}

TEST(CheckDeathTest, PrintsConditionTextAndPlace) {
  EXPECT_DEATH(SLUICE_CHECK(1 > 2) << "in loop " << 7, "Check failed: 1 > 2 in loop 7 .*check_test.cc");
}

TEST(CheckDeathTest, PrintsBothValues) {
  const std::vector<int> none;
  EXPECT_DEATH(SLUICE_CHECK_EQ(none.size(), 3u), "none.size\\(\\) == 3u \\(0 vs. 3\\)");
  EXPECT_DEATH(SLUICE_CHECK_NE(Colour::kGreen, Colour::kGreen), "\\(2 vs. 2\\)");
}

TEST(CheckDeathTest, PrintsTheStatus) {
  EXPECT_DEATH(SLUICE_CHECK_OK(absl::StatusOr<int>(absl::NotFoundError("gone"))), "is OK: NOT_FOUND: gone");
}

#ifndef NDEBUG
TEST(CheckDeathTest, DebugChecksAreOn) {
  EXPECT_DEATH(SLUICE_DCHECK(false) << "x", "Check failed: false x");
  EXPECT_DEATH(SLUICE_DCHECK_LT(2, 1), "2 < 1 \\(2 vs. 1\\)");
}
#endif

TEST(LogTest, WritesFromTheMinimumLevelUpAndEvaluatesNothingBelow) {
  RecordingSink sink;
  const LogLevel before = MinLogLevel();
  SetMinLogLevel(LogLevel::kWarning);
  int evaluated = 0;
  SLUICE_LOG(INFO) << ++evaluated;
  SLUICE_LOG(WARNING) << "careful " << ++evaluated;
  SLUICE_LOG(ERROR) << "bad";
  SetMinLogLevel(LogLevel::kSilent);
  SLUICE_LOG(ERROR) << "unheard";
  SetMinLogLevel(before);
  EXPECT_THAT(sink.lines(), ElementsAre("1 careful 1", "2 bad"));
}

TEST(LogTest, GoesToStandardErrorWithoutASink) {
  SetLogSink(nullptr);
  ::testing::internal::CaptureStderr();
  SLUICE_LOG(ERROR) << "to the terminal";
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::StartsWith("sluice: error: to the terminal ("));
}

// LogCaught (as_status.h) says what ends, where memory may have run out.
TEST(LogTest, ALineWithoutMemoryEndsNothing) {
  class LastLine : public LogSink {
   public:
    void Write(LogLevel, const char*, int, absl::string_view text) override { line = std::string(text); }
    std::string line;
  };
  const std::string text(1000, 'x');  // Not kept in the strings themselves.
  LastLine sink;
  LogSink* const before = SetLogSink(&sink);
  bool has_failed = true;
  for (int64_t n = 1; has_failed; ++n) {
    FailNewCall(n);
    SLUICE_LOG(ERROR) << text;
    has_failed = HasFailedNewCall();
    FailNewCall(0);
  }
  SetLogSink(before);
  EXPECT_EQ(sink.line, text);
}

}  // namespace
}  // namespace sluice

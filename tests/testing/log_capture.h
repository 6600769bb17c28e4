#ifndef SLUICE_TESTS_TESTING_LOG_CAPTURE_H_
#define SLUICE_TESTS_TESTING_LOG_CAPTURE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/check.h"
#include "graph/base/mutex.h"

namespace sluice {

// While it lives, log lines come here instead of standard error, and `on_line` is called after each, on the thread that
// logs. One at a time. Thread-safe.
class LogCapture final : public LogSink {
 public:
  explicit LogCapture(std::function<void(const std::string&)> on_line = [](const std::string&) {})
      : on_line_(std::move(on_line)), before_(SetLogSink(this)) {}
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() override { SetLogSink(before_); }

  void Write(LogLevel, const char*, int, absl::string_view text) override ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(&mu_);
      lines_.emplace_back(text);
    }
    on_line_(std::string(text));
  }
  std::vector<std::string> lines() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return lines_;
  }

 private:
  const std::function<void(const std::string&)> on_line_;
  LogSink* const before_;
  mutable Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_LOG_CAPTURE_H_

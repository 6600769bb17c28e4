#include "graph/base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace sluice {
namespace {

constexpr int kLevelUnset = -1;

// Constant-initialised: nothing runs before main.
std::atomic<LogSink*> g_sink{nullptr};
std::atomic<int> g_min_level{kLevelUnset};

// Open CheckScopes of this thread.
thread_local int t_check_scopes = 0;

LogLevel LevelOfEnvironment() {
  const char* text = std::getenv("SLUICE_LOG");
  const absl::string_view name = text == nullptr ? "" : text;
  if (name == "info") return LogLevel::kInfo;
  if (name == "error") return LogLevel::kError;
  if (name == "silent") return LogLevel::kSilent;
  return LogLevel::kWarning;
}

const char* NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    default:
      return "error";
  }
}

void WriteLine(LogLevel level, const char* file, int line, absl::string_view text) {
  // Acquires what the host wrote into its sink before SetLogSink.
  if (LogSink* sink = g_sink.load(std::memory_order_acquire); sink != nullptr) {
    sink->Write(level, file, line, text);
    return;
  }
  // One call, so that lines of several threads do not mix.
  std::fprintf(stderr, "sluice: %s: %.*s (%s:%d)\n", NameOf(level), static_cast<int>(text.size()), text.data(), file,
               line);
}

}  // namespace

LogSink* SetLogSink(LogSink* sink) { return g_sink.exchange(sink, std::memory_order_acq_rel); }

LogLevel MinLogLevel() {
  int level = g_min_level.load(std::memory_order_relaxed);  // Relaxed: orders nothing else.
  if (ABSL_PREDICT_FALSE(level == kLevelUnset)) {
    const int from_environment = static_cast<int>(LevelOfEnvironment());
    // A SetMinLogLevel on another thread wins.
    if (g_min_level.compare_exchange_strong(level, from_environment, std::memory_order_relaxed)) {
      level = from_environment;
    }
  }
  return static_cast<LogLevel>(level);
}

void SetMinLogLevel(LogLevel level) { g_min_level.store(static_cast<int>(level), std::memory_order_relaxed); }

CheckScope::CheckScope() { ++t_check_scopes; }
CheckScope::~CheckScope() { --t_check_scopes; }

namespace check_internal {

LogLine::~LogLine() {
  try {
    WriteLine(level_, file_, line_, text_.str());
  } catch (...) {
    // No memory for the line, or the host's sink throws: drop the line.
  }
}

FailedCheck::~FailedCheck() noexcept(false) {
  // A second exception while one unwinds the stack would end the program without the text.
  if (t_check_scopes > 0 && std::uncaught_exceptions() == 0) {
    throw CheckFailure(text_.str() + " (" + file_ + ":" + std::to_string(line_) + ")");
  }
  WriteLine(LogLevel::kError, file_, line_, text_.str());
  std::abort();
}

}  // namespace check_internal
}  // namespace sluice

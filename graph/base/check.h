#ifndef SLUICE_GRAPH_BASE_CHECK_H_
#define SLUICE_GRAPH_BASE_CHECK_H_

// Invariants of our own code, and a small log.
//
//   SLUICE_CHECK(node.valid()) << "after pruning";  // Always on. Ends the program with place and text (but see below).
//   SLUICE_CHECK_EQ(pending, 0);                // Prints both values.
//   SLUICE_DCHECK_GE(live, 0) << frame_name;    // Off if NDEBUG is defined.
//   SLUICE_LOG(WARNING) << "soft placement moved " << n << " nodes";
//
// Never CHECK input from a file, a feed or a peer: return an absl::Status. A check that fails inside of an entry point
// (a CheckScope is open on the thread) throws CheckFailure, which the entry point turns into a status: see as_status.h.

#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class LogLevel : int { kInfo = 0, kWarning = 1, kError = 2, kSilent = 3 };

// Receives log lines. Implemented by hosts with a log of their own.
// Thread-safety: Write is called from any thread, perhaps from several at once, never with a lock of ours held.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // One line, without line break. `file` is static, `text` lives for the call only.
  virtual void Write(LogLevel level, const char* file, int line, absl::string_view text) = 0;
};

// Sends all further lines to `sink`, or to standard error again when it is null. Returns the sink before. `sink` is
// borrowed and must live until it is replaced and no call into Sluice is running.
LogSink* SetLogSink(LogSink* sink);

// The lowest level that is written. At the start that of the environment's SLUICE_LOG (info, warning, error or
// silent; warning where it is unset or something else).
LogLevel MinLogLevel();
void SetMinLogLevel(LogLevel level);

// Thrown by a failed check while a CheckScope is open.
class CheckFailure : public std::exception {
 public:
  explicit CheckFailure(std::string text) : text_(std::move(text)) {}
  // "Check failed: pending == 0 (1 vs. 0) (graph/ir/x.cc:12)".
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// While one lives on a thread, checks that fail on that thread throw CheckFailure instead of ending the program.
// The code that opens one has to catch: AsStatus (as_status.h) does both. Scopes nest; opening one costs an increment.
class CheckScope {
 public:
  CheckScope();
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;
  ~CheckScope();
};

namespace check_internal {

// Collects one log line and writes it in its destructor. Lives for one statement, on one thread.
class LogLine {
 public:
  LogLine(LogLevel level, const char* file, int line) : level_(level), file_(file), line_(line) {}
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;
  ~LogLine();

  std::ostream& stream() { return text_; }

 private:
  LogLevel level_;
  const char* file_;
  int line_;
  std::ostringstream text_;
};

// Collects the text of a failed check. Its destructor throws CheckFailure where a CheckScope is open; else it ends the
// program, after the sink has the line. Lives for one statement, on one thread.
class FailedCheck {
 public:
  FailedCheck(const char* file, int line, absl::string_view what) : file_(file), line_(line) {
    text_ << "Check failed: " << what << ' ';
  }
  FailedCheck(const FailedCheck&) = delete;
  FailedCheck& operator=(const FailedCheck&) = delete;
  [[noreturn]] ~FailedCheck() noexcept(false);

  std::ostream& stream() { return text_; }

 private:
  const char* file_;
  int line_;
  std::ostringstream text_;
};

// Makes both branches of the macros' conditional void.
struct Voidify {
  void operator&(std::ostream&) const {}
};

// Whether T can be printed, else it is printed as its enum value or as "?".
template <typename T, typename = void>
struct IsPrintable : std::false_type {};
template <typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

template <typename T>
void Print(std::ostream& out, const T& value) {
  if constexpr (IsPrintable<T>::value) {
    out << value;
  } else if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else {
    out << '?';
  }
}

// "a == b (1 vs. 2)".
template <typename A, typename B>
ABSL_ATTRIBUTE_NOINLINE std::string Compared(const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << text << " (";
  Print(out, a);
  out << " vs. ";
  Print(out, b);
  out << ')';
  return out.str();
}

inline std::string StatusText(const absl::Status& status) { return status.ToString(); }
template <typename StatusOr>
std::string StatusText(const StatusOr& status_or) {
  return status_or.status().ToString();
}

}  // namespace check_internal
}  // namespace sluice

#define SLUICE_CHECK(condition)           \
  ABSL_PREDICT_TRUE(condition)            \
  ? static_cast<void>(0)                  \
  : ::sluice::check_internal::Voidify() & \
          ::sluice::check_internal::FailedCheck(__FILE__, __LINE__, #condition).stream()

// The operands are evaluated once where the check holds and once more for the text where it does not.
#define SLUICE_CHECK_OP_(op, a, b)                                                                               \
  ABSL_PREDICT_TRUE((a)op(b))                                                                                    \
  ? static_cast<void>(0)                                                                                         \
  : ::sluice::check_internal::Voidify() &                                                                        \
          ::sluice::check_internal::FailedCheck(__FILE__, __LINE__,                                              \
                                                ::sluice::check_internal::Compared(#a " " #op " " #b, (a), (b))) \
              .stream()
#define SLUICE_CHECK_EQ(a, b) SLUICE_CHECK_OP_(==, a, b)
#define SLUICE_CHECK_NE(a, b) SLUICE_CHECK_OP_(!=, a, b)
#define SLUICE_CHECK_LT(a, b) SLUICE_CHECK_OP_(<, a, b)
#define SLUICE_CHECK_LE(a, b) SLUICE_CHECK_OP_(<=, a, b)
#define SLUICE_CHECK_GT(a, b) SLUICE_CHECK_OP_(>, a, b)
#define SLUICE_CHECK_GE(a, b) SLUICE_CHECK_OP_(>=, a, b)

// For an absl::Status or absl::StatusOr; the text has the status. The expression is evaluated again for it.
#define SLUICE_CHECK_OK(expr)                                                                                  \
  ABSL_PREDICT_TRUE((expr).ok())                                                                               \
  ? static_cast<void>(0)                                                                                       \
  : ::sluice::check_internal::Voidify() &                                                                      \
          ::sluice::check_internal::FailedCheck(__FILE__, __LINE__,                                            \
                                                #expr " is OK: " + ::sluice::check_internal::StatusText(expr)) \
              .stream()

#ifdef NDEBUG
#define SLUICE_DCHECK_ENABLED_ false
#else
#define SLUICE_DCHECK_ENABLED_ true
#endif

// Compiled in any case; evaluated only where NDEBUG is not defined.
#define SLUICE_DCHECK(condition) !SLUICE_DCHECK_ENABLED_ ? static_cast<void>(0) : SLUICE_CHECK(condition)
#define SLUICE_DCHECK_EQ(a, b) SLUICE_DCHECK_OP_(==, a, b)
#define SLUICE_DCHECK_NE(a, b) SLUICE_DCHECK_OP_(!=, a, b)
#define SLUICE_DCHECK_LT(a, b) SLUICE_DCHECK_OP_(<, a, b)
#define SLUICE_DCHECK_LE(a, b) SLUICE_DCHECK_OP_(<=, a, b)
#define SLUICE_DCHECK_GT(a, b) SLUICE_DCHECK_OP_(>, a, b)
#define SLUICE_DCHECK_GE(a, b) SLUICE_DCHECK_OP_(>=, a, b)
#define SLUICE_DCHECK_OP_(op, a, b) !SLUICE_DCHECK_ENABLED_ ? static_cast<void>(0) : SLUICE_CHECK_OP_(op, a, b)

// `level` is INFO, WARNING or ERROR. The operands of << are evaluated only when the line is written.
#define SLUICE_LOG(level)                               \
  ::sluice::MinLogLevel() > SLUICE_LOG_LEVEL_##level##_ \
      ? static_cast<void>(0)                            \
      : ::sluice::check_internal::Voidify() &           \
            ::sluice::check_internal::LogLine(SLUICE_LOG_LEVEL_##level##_, __FILE__, __LINE__).stream()
#define SLUICE_LOG_LEVEL_INFO_ ::sluice::LogLevel::kInfo
#define SLUICE_LOG_LEVEL_WARNING_ ::sluice::LogLevel::kWarning
#define SLUICE_LOG_LEVEL_ERROR_ ::sluice::LogLevel::kError

#endif  // SLUICE_GRAPH_BASE_CHECK_H_

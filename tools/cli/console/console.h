#ifndef SLUICE_TOOLS_CLI_CONSOLE_CONSOLE_H_
#define SLUICE_TOOLS_CLI_CONSOLE_CONSOLE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Exit statuses of every command.
inline constexpr int kExitOk = 0;      // Done; for `check`: no errors.
inline constexpr int kExitFailed = 1;  // The work failed, or something is wrong with the model.
inline constexpr int kExitUsage = 2;   // The command line is wrong.

// Marks up text for a terminal, or leaves it alone. A value type.
class Paint {
 public:
  explicit Paint(bool enabled) : enabled_(enabled) {}

  std::string Bold(absl::string_view text) const { return Wrap("1", text); }
  std::string Dim(absl::string_view text) const { return Wrap("2", text); }
  std::string Red(absl::string_view text) const { return Wrap("1;31", text); }
  std::string Green(absl::string_view text) const { return Wrap("32", text); }
  std::string Yellow(absl::string_view text) const { return Wrap("33", text); }
  std::string Cyan(absl::string_view text) const { return Wrap("36", text); }
  bool enabled() const { return enabled_; }

 private:
  std::string Wrap(absl::string_view code, absl::string_view text) const;

  bool enabled_;
};

// Where a command writes: results to standard output, everything else to standard error.
// Texts may hold what came from a file: all of them pass through TerminalText, so that no control character but a line
// feed, and no mark-up but Paint's, reaches a terminal or a log. Only WriteBytes lets bytes through as they are.
// Results are gathered and written when they are many, at Flush() and at the end. A reader that goes away (`| head`)
// ends the output quietly; any other failed write makes Flush() fail.
// Owned by main for the whole run; commands borrow it. Not thread-safe.
class Console {
 public:
  // Looks at the two streams once: whether they are terminals, and whether NO_COLOR is set.
  Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // Writes what is left; errors are lost, so commands call Flush().
  ~Console();

  // Set from --quiet: no notes and no progress. Errors are always shown.
  void set_quiet(bool quiet) { quiet_ = quiet; }
  bool quiet() const { return quiet_; }

  // Colours for results and for diagnostics.
  const Paint& out() const { return out_paint_; }
  const Paint& err() const { return err_paint_; }
  bool out_is_terminal() const { return out_is_terminal_; }

  // Appends `text` to standard output, fit for a terminal. A character must not be divided between two calls.
  void Write(absl::string_view text);
  // Appends `bytes` as they are: the content of a file.
  void WriteBytes(absl::string_view bytes);
  // From now on polls `is_stopped` between writes, and while the reader takes nothing: once it returns true, nothing
  // more is written and was_stopped() is true. Empty: never.
  void set_stop(absl::AnyInvocable<bool()> is_stopped) { is_stopped_ = std::move(is_stopped); }
  bool was_stopped() const { return was_stopped_; }
  // Whether anything was written there.
  bool has_written() const { return has_written_; }
  // Writes everything; kFileWrite. Call it before reporting success.
  absl::Status Flush();

  // One line on standard error; not when quiet.
  void Note(absl::string_view text);
  void Warn(absl::string_view text);
  // The same even when quiet: for warnings without which results would mislead.
  void WarnAlways(absl::string_view text);
  // Lines that belong to a warning, each with its line feed; not when quiet.
  void Details(absl::string_view text);
  // One line about what went wrong, even when quiet. Line feeds in it are escaped, as in notes and warnings.
  void Complain(absl::string_view text);
  // Shows an error in the form for people (FormatError), with the first 50 causes if it stands for many.
  void Problem(const absl::Status& status);
  // All that Problem() and Complain() have shown, without colours: for JSON output.
  const std::vector<absl::Status>& problems() const { return problems_; }
  const std::vector<std::string>& complaints() const { return complaints_; }
  // Shows what is being done, in a line that the next output on standard error overwrites. Only on a terminal, not when
  // quiet.
  void Progress(absl::string_view text);
  // Clears that line.
  void EndProgress();

 private:
  void Diagnose(absl::string_view text);
  // One line, whatever is in `text`.
  void DiagnoseLine(absl::string_view text);
  void Drain();
  bool AskStop();

  const bool out_is_terminal_;
  const bool err_is_terminal_;
  const Paint out_paint_;
  const Paint err_paint_;
  bool quiet_ = false;
  bool has_progress_ = false;
  bool reader_is_gone_ = false;
  int write_errno_ = 0;
  bool has_written_ = false;
  bool was_stopped_ = false;
  absl::AnyInvocable<bool()> is_stopped_;
  std::string pending_;
  std::vector<absl::Status> problems_;
  std::vector<std::string> complaints_;
};

// A text that FormatError or FormatErrorGroup made, a line feed after each line, with colours where they go.
std::string PaintedErrorText(absl::string_view formatted, const Paint& paint);

// Escapes everything in `text` that is unsafe on a terminal: control characters but line feeds, bytes that are not
// UTF-8, invisible marks and marks that change the direction of text. Paint's marks stay if `paint` makes them.
std::string TerminalText(absl::string_view text, const Paint& paint);

// Writes all of `text` to the file descriptor, in as many writes as needed. Returns the error number, or 0.
int WriteFully(int fd, absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CONSOLE_CONSOLE_H_

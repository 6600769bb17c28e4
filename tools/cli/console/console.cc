#include "tools/cli/console/console.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "tools/cli/console/number_text.h"

namespace sluice {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;

bool ColorIsWanted(bool is_terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool is_dumb = term != nullptr && std::strcmp(term, "dumb") == 0;
  return is_terminal && !is_dumb && (no_color == nullptr || *no_color == '\0');
}

// FormatError, with only the first causes of a load that fails for very many: a model whose every node is wrong would
// scroll all else away.
std::string ShortText(const absl::Status& status) {
  constexpr size_t kMaxCauses = 50;
  const std::vector<absl::Status> errors = AllErrors(status);
  if (errors.size() <= kMaxCauses) return FormatError(status);
  const std::vector<ErrorGroup> causes = GroupErrors(errors);
  if (causes.size() <= kMaxCauses) return FormatError(status);
  std::string text;
  for (size_t i = 0; i < kMaxCauses; ++i) absl::StrAppend(&text, FormatErrorGroup(causes[i]), "\n");
  return absl::StrCat(text, CountText(CountErrors(status)), " errors; those of the first ", kMaxCauses,
                      " causes are shown (`sluice check --all` lists each)");
}

// The bytes of the mark of Paint that `text` begins with, or 0.
size_t MarkBytes(absl::string_view text) {
  for (const absl::string_view code : {"0", "1", "2", "1;31", "32", "33", "36"}) {
    const std::string mark = absl::StrCat("\x1b[", code, "m");
    if (absl::StartsWith(text, mark)) return mark.size();
  }
  return 0;
}

bool IsPlain(char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; }

}  // namespace

std::string TerminalText(absl::string_view text, const Paint& paint) {
  std::string out;
  while (!text.empty()) {
    const auto plain = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), &IsPlain) - text.begin());
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    size_t part = paint.enabled() ? MarkBytes(text) : 0;
    if (part > 0) {
      out.append(text.data(), part);
    } else {
      part = 1;  // Up to the next plain character or mark, so that characters of several bytes stay whole.
      while (part < text.size() && !IsPlain(text[part]) && text[part] != '\x1b') ++part;
      out += PrintableName(text.substr(0, part), std::string::npos);
    }
    text.remove_prefix(part);
  }
  return out;
}

std::string Paint::Wrap(absl::string_view code, absl::string_view text) const {
  if (!enabled_ || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

int WriteFully(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // Another process made the pipe non-blocking: wait until it takes more.
      pollfd ready = {fd, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Console::Console()
    : out_is_terminal_(::isatty(STDOUT_FILENO) == 1),
      err_is_terminal_(::isatty(STDERR_FILENO) == 1),
      out_paint_(ColorIsWanted(out_is_terminal_)),
      err_paint_(ColorIsWanted(err_is_terminal_)) {}

Console::~Console() {
  Drain();
  EndProgress();
}

void Console::Write(absl::string_view text) {
  // Piece by piece, to notice a stop in between; lines and characters stay whole.
  while (!text.empty() && !was_stopped_) {
    size_t size = std::min(text.size(), kBufferBytes);
    while (size < text.size() && !IsPlain(text[size])) ++size;
    WriteBytes(std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), &IsPlain)
                   ? text.substr(0, size)
                   : absl::string_view(TerminalText(text.substr(0, size), out_paint_)));
    text.remove_prefix(size);
  }
}

void Console::WriteBytes(absl::string_view bytes) {
  if (reader_is_gone_ || write_errno_ != 0 || was_stopped_) return;
  has_written_ = has_written_ || !bytes.empty();
  pending_.append(bytes.data(), bytes.size());
  if (pending_.size() >= kBufferBytes) Drain();
}

bool Console::AskStop() {
  was_stopped_ = was_stopped_ || (is_stopped_ && is_stopped_());
  return was_stopped_;
}

void Console::Drain() {
  if (pending_.empty()) return;
  EndProgress();
  int error = 0;
  absl::string_view rest = pending_;
  while (error == 0 && !rest.empty()) {
    if (!is_stopped_) {
      error = WriteFully(STDOUT_FILENO, rest);
      break;
    }
    if (AskStop()) break;
    constexpr int kPatienceMs = 50;
    pollfd ready = {STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&ready, 1, kPatienceMs) == 0) continue;        // The reader takes nothing: a write would wait.
    const absl::string_view part = rest.substr(0, PIPE_BUF);  // A ready pipe takes this much without waiting.
    error = WriteFully(STDOUT_FILENO, part);
    rest.remove_prefix(part.size());
  }
  pending_.clear();
  if (error == EPIPE)
    reader_is_gone_ = true;
  else if (error != 0)
    write_errno_ = error;
}

absl::Status Console::Flush() {
  Drain();
  if (write_errno_ == 0) return absl::OkStatus();
  return Error(ErrorCode::kFileWrite).Text(absl::StrCat("cannot write standard output: ", std::strerror(write_errno_)));
}

void Console::Diagnose(absl::string_view text) {
  const std::string line = absl::StrCat(has_progress_ ? "\r\x1b[K" : "", TerminalText(text, err_paint_));
  has_progress_ = false;
  (void)WriteFully(STDERR_FILENO, line);  // An error here cannot be reported.
}

void Console::DiagnoseLine(absl::string_view text) {
  Diagnose(absl::StrCat(absl::StrReplaceAll(text, {{"\n", "\\n"}}), "\n"));
}

void Console::Note(absl::string_view text) {
  if (!quiet_) DiagnoseLine(err_paint_.Dim(text));
}

void Console::Warn(absl::string_view text) {
  if (!quiet_) WarnAlways(text);
}

void Console::WarnAlways(absl::string_view text) {
  DiagnoseLine(absl::StrCat(err_paint_.Yellow("warning:"), " ", text));
}

std::string PaintedErrorText(absl::string_view formatted, const Paint& paint) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(formatted, '\n')) {
    if (absl::StartsWith(line, "SLC")) {
      const size_t end = line.find(": ");
      absl::StrAppend(&out, paint.Red(line.substr(0, end)), end == line.npos ? "" : line.substr(end));
    } else if (absl::StartsWith(line, "  ") && line.size() > 8) {
      absl::StrAppend(&out, "  ", paint.Cyan(line.substr(2, 5)), line.substr(7));
    } else {
      absl::StrAppend(&out, line);
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

void Console::Problem(const absl::Status& status) {
  problems_.push_back(status);
  Diagnose(PaintedErrorText(ShortText(status), err_paint_));
}

void Console::Complain(absl::string_view text) {
  complaints_.emplace_back(text);
  DiagnoseLine(text);
}

void Console::Details(absl::string_view text) {
  if (!quiet_) Diagnose(text);
}

void Console::Progress(absl::string_view text) {
  if (quiet_ || !err_is_terminal_) return;
  Diagnose(err_paint_.Dim(text));
  has_progress_ = true;
}

void Console::EndProgress() {
  if (has_progress_) Diagnose("");
}

}  // namespace sluice

#include "tools/cli/console/console.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// FormatError, but of a load that fails for a great many causes only the first ones: the errors of a model whose every
// node is wrong would scroll all else away.
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

}  // namespace

std::string Paint::Wrap(absl::string_view code, absl::string_view text) const {
  if (!enabled_ || text.empty()) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

int WriteFully(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // Somebody made the pipe non-blocking: wait until it takes more.
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
  if (reader_is_gone_ || write_errno_ != 0) return;
  has_written_ = has_written_ || !text.empty();
  pending_.append(text.data(), text.size());
  if (pending_.size() >= kBufferBytes) Drain();
}

void Console::Drain() {
  if (pending_.empty()) return;
  EndProgress();
  const int error = WriteFully(STDOUT_FILENO, pending_);
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
  const std::string line = absl::StrCat(has_progress_ ? "\r\x1b[K" : "", text);
  has_progress_ = false;
  (void)WriteFully(STDERR_FILENO, line);  // An error here has nowhere to go.
}

void Console::Note(absl::string_view text) {
  if (!quiet_) Diagnose(absl::StrCat(err_paint_.Dim(text), "\n"));
}

void Console::Warn(absl::string_view text) {
  if (!quiet_) WarnAlways(text);
}

void Console::WarnAlways(absl::string_view text) {
  Diagnose(absl::StrCat(err_paint_.Yellow("warning:"), " ", text, "\n"));
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
  Diagnose(absl::StrCat(text, "\n"));
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

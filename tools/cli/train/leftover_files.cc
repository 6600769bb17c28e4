#include "tools/cli/train/leftover_files.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <limits>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Takes the digits at the beginning of `text`; how many there were.
size_t TakeDigits(absl::string_view* text) {
  size_t count = 0;
  while (count < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[count]))) ++count;
  text->remove_prefix(count);
  return count;
}

// "data-00000-of-00001".
bool IsShard(absl::string_view name) {
  return absl::ConsumePrefix(&name, "data-") && TakeDigits(&name) == 5 && absl::ConsumePrefix(&name, "-of-") &&
         TakeDigits(&name) == 5 && name.empty();
}

// Takes ".NUMBER" from the end of `text`: the number, or -1.
int64_t TakeNumber(absl::string_view* text) {
  const size_t point = text->rfind('.');
  if (point == absl::string_view::npos) return -1;
  const absl::string_view digits = text->substr(point + 1);
  absl::string_view rest = digits;
  int64_t number = 0;
  const bool is_plain = TakeDigits(&rest) > 0 && rest.empty() && (digits == "0" || digits[0] != '0');
  if (!is_plain || !absl::SimpleAtoi(digits, &number)) return -1;
  text->remove_suffix(text->size() - point);
  return number;
}

}  // namespace

// See TrainCheckpoints and TrainLog.
bool IsTrainingFile(absl::string_view name) {
  if (name == "checkpoint" || name == "loss.csv" || name == "loss.svg") return true;
  if (!absl::ConsumePrefix(&name, "model.")) return false;
  absl::ConsumePrefix(&name, "again.");
  if (!absl::ConsumePrefix(&name, "ckpt-") || TakeDigits(&name) == 0 || !absl::ConsumePrefix(&name, ".")) return false;
  return name == "index" || name == "meta" || IsShard(name);
}

bool MayBeAlive(int64_t process) { return ::kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH; }

int64_t MakerOfTemporary(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".tmp") || TakeNumber(&name) < 0) return 0;
  const int64_t process = TakeNumber(&name);
  const bool is_process = process > 0 && process <= std::numeric_limits<pid_t>::max();
  return is_process && IsTrainingFile(name) ? process : 0;
}

void RemoveLeftovers(const std::string& directory) {
  std::error_code failed, ignored;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
    const int64_t maker = MakerOfTemporary(it->path().filename().string());
    if (maker == 0 || it->symlink_status(ignored).type() != fs::file_type::regular) continue;
    if (maker == ::getpid() || !MayBeAlive(maker)) leftovers.push_back(it->path());
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, ignored);
}

}  // namespace sluice

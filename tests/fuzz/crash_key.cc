#include "tests/fuzz/crash_key.h"

#include <cctype>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice {
namespace {

// Hexadecimal numbers and process numbers differ from run to run.
std::string WithoutNumbers(absl::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::StartsWith(text.substr(i), "0x")) {
      for (i += 2; i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      }
      kept += "#";
      if (i >= text.size()) break;
    }
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!is_digit || (i > 0 && text[i - 1] == ':')) kept += text[i];
  }
  return kept.substr(0, 160);
}

// "sluice::Foo::Bar" of "    #3 0x55 in sluice::Foo::Bar(int) foo.cc:12"; empty for frames that are not ours.
std::string OwnFrame(absl::string_view line) {
  const size_t at = line.find(" in sluice::");
  if (at == absl::string_view::npos || absl::StrContains(line, "check_internal") ||
      absl::StrContains(line, "Promise") || absl::StrContains(line, "PrintFrames")) {
    return "";
  }
  absl::string_view name = line.substr(at + 4);
  return std::string(name.substr(0, name.find_first_of("(<")));
}

bool SaysWhy(absl::string_view line) {
  for (const char* const text :
       {"Broken promise:", "Check failed", "runtime error:", "ERROR: AddressSanitizer", "ERROR: LeakSanitizer",
        "terminate called", "what():", "malloc()", "free()", "double free", "corrupted"}) {
    if (absl::StrContains(line, text)) return true;
  }
  return false;
}

}  // namespace

std::string CrashKey(absl::string_view log) {
  std::string key;
  size_t frames = 0;
  bool is_detail = false;  // The line after a broken promise says what was found.
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    const bool says_why = SaysWhy(line);
    if ((says_why || is_detail) && frames == 0) absl::StrAppend(&key, key.empty() ? "" : "; ", WithoutNumbers(line));
    is_detail = absl::StartsWith(line, "Broken promise:");
    const std::string frame = OwnFrame(line);
    if (frame.empty() || frames >= 3) continue;
    absl::StrAppend(&key, " | ", frame);
    ++frames;
  }
  return key.empty() ? "no report" : key;
}

}  // namespace sluice

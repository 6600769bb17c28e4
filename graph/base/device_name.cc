#include "graph/base/device_name.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// A letter, then letters, digits and '_': jobs and device types.
bool ConsumeWord(absl::string_view* text, absl::string_view* word) {
  if (text->empty() || !absl::ascii_isalpha(static_cast<unsigned char>(text->front()))) return false;
  size_t n = 1;
  while (n < text->size() && (absl::ascii_isalnum(static_cast<unsigned char>((*text)[n])) || (*text)[n] == '_')) ++n;
  *word = text->substr(0, n);
  text->remove_prefix(n);
  return true;
}

// One or more digits, value at most 2^31-1.
bool ConsumeNumber(absl::string_view* text, int32_t* number) {
  if (text->empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text->front()))) return false;
  int64_t value = 0;
  while (!text->empty() && absl::ascii_isdigit(static_cast<unsigned char>(text->front()))) {
    value = value * 10 + (text->front() - '0');
    if (value > std::numeric_limits<int32_t>::max()) return false;
    text->remove_prefix(1);
  }
  *number = static_cast<int32_t>(value);
  return true;
}

// A number, or "*" for none.
bool ConsumeNumberOrStar(absl::string_view* text, int32_t* number) {
  if (absl::ConsumePrefix(text, "*")) {
    *number = -1;
    return true;
  }
  return ConsumeNumber(text, number);
}

// A name as views into its text: parsing allocates nothing.
struct Parts {
  absl::string_view job, type;
  int32_t replica = -1, task = -1, id = -1;
};

// What follows "/device:": TYPE, TYPE:ID, with "*" for either.
bool ConsumeDevice(absl::string_view* text, Parts* parts) {
  parts->type = {};
  parts->id = -1;
  if (!absl::ConsumePrefix(text, "*") && !ConsumeWord(text, &parts->type)) return false;
  return !absl::ConsumePrefix(text, ":") || ConsumeNumberOrStar(text, &parts->id);
}

// One "/key:value". The first letter decides, so that each part costs one comparison.
bool ConsumePart(absl::string_view* text, Parts* parts) {
  if (text->size() < 2 || text->front() != '/') return false;
  switch ((*text)[1]) {
    case 'j':
      if (!absl::ConsumePrefix(text, "/job:")) return false;
      parts->job = {};
      return absl::ConsumePrefix(text, "*") || ConsumeWord(text, &parts->job);
    case 'r':
      return absl::ConsumePrefix(text, "/replica:") && ConsumeNumberOrStar(text, &parts->replica);
    case 't':
      return absl::ConsumePrefix(text, "/task:") && ConsumeNumberOrStar(text, &parts->task);
    case 'd':
      return absl::ConsumePrefix(text, "/device:") && ConsumeDevice(text, parts);
    case 'c':
    case 'C':
      if (!absl::ConsumePrefix(text, "/cpu:") && !absl::ConsumePrefix(text, "/CPU:")) return false;
      parts->type = "CPU";
      return ConsumeNumberOrStar(text, &parts->id);
    case 'g':
    case 'G':
      if (!absl::ConsumePrefix(text, "/gpu:") && !absl::ConsumePrefix(text, "/GPU:")) return false;
      parts->type = "GPU";
      return ConsumeNumberOrStar(text, &parts->id);
    default:
      return false;
  }
}

bool ParseParts(absl::string_view text, Parts* parts) {
  if (text == "/") return true;
  while (!text.empty()) {
    if (!ConsumePart(&text, parts)) return false;
  }
  return true;
}

void Assign(const Parts& parts, DeviceName* name) {
  name->job.assign(parts.job.data(), parts.job.size());
  name->type.assign(parts.type.data(), parts.type.size());
  name->replica = parts.replica;
  name->task = parts.task;
  name->id = parts.id;
}

bool TextsAgree(absl::string_view a, absl::string_view b) { return a.empty() || b.empty() || a == b; }
bool NumbersAgree(int32_t a, int32_t b) { return a < 0 || b < 0 || a == b; }

absl::Status Conflict(absl::string_view part, const DeviceName& target, const DeviceName& other) {
  return Error(ErrorCode::kColocation)
      .Found(other.ToString())
      .Expected(target.ToString())
      .Text(absl::StrCat("the two devices differ in their ", part));
}

}  // namespace

std::string DeviceName::ToString() const {
  std::string text;
  if (!job.empty()) absl::StrAppend(&text, "/job:", job);
  if (replica >= 0) absl::StrAppend(&text, "/replica:", replica);
  if (task >= 0) absl::StrAppend(&text, "/task:", task);
  if (type.empty() && id < 0) return text;
  absl::StrAppend(&text, "/device:", type.empty() ? "*" : type, ":");
  return id < 0 ? absl::StrCat(text, "*") : absl::StrCat(text, id);
}

bool ParseDeviceName(absl::string_view text, DeviceName* name) {
  Parts parts;
  if (!ParseParts(text, &parts)) return false;
  if (name != nullptr) Assign(parts, name);
  return true;
}

bool IsValidDeviceSpec(absl::string_view text) { return ParseDeviceName(text, nullptr); }

bool MatchesDevice(const DeviceName& pattern, const DeviceName& name) {
  return (pattern.job.empty() || pattern.job == name.job) && (pattern.replica < 0 || pattern.replica == name.replica) &&
         (pattern.task < 0 || pattern.task == name.task) && (pattern.type.empty() || pattern.type == name.type) &&
         (pattern.id < 0 || pattern.id == name.id);
}

bool AreCompatible(const DeviceName& a, const DeviceName& b) {
  return TextsAgree(a.job, b.job) && NumbersAgree(a.replica, b.replica) && NumbersAgree(a.task, b.task) &&
         TextsAgree(a.type, b.type) && NumbersAgree(a.id, b.id);
}

absl::Status MergeDeviceNames(const DeviceName& other, bool allow_soft, DeviceName* target) {
  if (!TextsAgree(target->job, other.job)) return Conflict("job", *target, other);
  if (!NumbersAgree(target->replica, other.replica)) return Conflict("replica", *target, other);
  if (!NumbersAgree(target->task, other.task)) return Conflict("task", *target, other);
  const bool same_type = TextsAgree(target->type, other.type);
  const bool same_id = NumbersAgree(target->id, other.id);
  if (!allow_soft && !same_type) return Conflict("type", *target, other);
  if (!allow_soft && !same_id) return Conflict("number", *target, other);
  *target = OverrideDeviceName(*target, other);
  if (!same_type || !same_id) {
    // Leaves the choice to soft placement, which finds a device with the kernels.
    if (!same_type) target->type.clear();
    target->id = -1;
  }
  return absl::OkStatus();
}

DeviceName OverrideDeviceName(const DeviceName& base, const DeviceName& other) {
  DeviceName name = base;
  if (!other.job.empty()) name.job = other.job;
  if (other.replica >= 0) name.replica = other.replica;
  if (other.task >= 0) name.task = other.task;
  if (!other.type.empty()) name.type = other.type;
  if (other.id >= 0) name.id = other.id;
  return name;
}

std::string TaskName(const DeviceName& name) {
  return absl::StrCat("/job:", name.job, "/replica:", name.replica, "/task:", name.task);
}

}  // namespace sluice

#include "kernels/strings/unicode/unicode.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/strings/unicode/unicode_runs.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {

uint32_t TakeNumber(absl::string_view* data) {
  uint32_t number = 0;
  for (int shift = 0; !data->empty() && shift < 32; shift += 5) {
    const char c = data->front();
    data->remove_prefix(1);
    uint32_t digit = 0;
    if (c >= 'A' && c <= 'Z') {
      digit = static_cast<uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      digit = static_cast<uint32_t>(c - 'a' + 26);
    } else if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0' + 52);
    } else {
      digit = c == '+' ? 62 : 63;
    }
    number |= (digit & 31) << shift;
    if (digit < 32) break;
  }
  return number;
}

namespace {

// A run of equal code points up to `end`, which is beyond it.
struct Run {
  uint32_t end;
  uint32_t value;
};

std::vector<Run> ReadRuns(absl::string_view data) {
  std::vector<Run> runs;
  uint32_t at = 0;
  while (!data.empty()) {
    at += TakeNumber(&data);
    runs.push_back({at, TakeNumber(&data)});
  }
  return runs;
}

// The value at `rune`; 0 beyond the runs.
uint32_t ValueAt(const std::vector<Run>& runs, uint32_t rune) {
  const auto run =
      std::upper_bound(runs.begin(), runs.end(), rune, [](uint32_t at, const Run& other) { return at < other.end; });
  return run == runs.end() ? 0 : run->value;
}

// Code points first, first + stride, ..., last, each of which maps to the one at `distance`.
struct MappingRun {
  uint32_t first;
  uint32_t last;
  uint32_t stride;
  int32_t distance;
};

std::vector<MappingRun> ReadMappings(absl::string_view data) {
  std::vector<MappingRun> runs;
  uint32_t at = 0;
  while (!data.empty()) {
    at += TakeNumber(&data);
    const uint32_t shape = TakeNumber(&data);
    const uint32_t zigzag = TakeNumber(&data);
    const uint32_t stride = shape % 4 + 1;
    const uint32_t last = at + (shape / 4 - 1) * stride;
    runs.push_back({at, last, stride, static_cast<int32_t>(zigzag >> 1) ^ -static_cast<int32_t>(zigzag & 1)});
    at = last;
  }
  return runs;
}

// What `rune` maps to; itself where nothing is said.
uint32_t Map(const std::vector<MappingRun>& runs, uint32_t rune) {
  auto run = std::upper_bound(runs.begin(), runs.end(), rune,
                              [](uint32_t at, const MappingRun& other) { return at < other.first; });
  if (run == runs.begin()) return rune;
  --run;
  if (rune > run->last || (rune - run->first) % run->stride != 0) return rune;
  return static_cast<uint32_t>(static_cast<int32_t>(rune) + run->distance);
}

struct Expansion {
  uint32_t rune;
  std::string text;
};

std::vector<Expansion> ReadExpansions(absl::string_view data) {
  std::vector<Expansion> expansions;
  while (!data.empty()) {
    Expansion one;
    one.rune = TakeNumber(&data);
    for (uint32_t left = TakeNumber(&data); left > 0; --left) AppendUtf8(TakeNumber(&data), &one.text);
    expansions.push_back(std::move(one));
  }
  return expansions;
}

// The mappings of one case. Immutable.
class CaseTable {
 public:
  CaseTable(absl::string_view mappings, absl::string_view expansions)
      : mappings_(ReadMappings(mappings)), expansions_(ReadExpansions(expansions)) {}

  void Append(uint32_t rune, std::string* out) const {
    const auto found = std::lower_bound(expansions_.begin(), expansions_.end(), rune,
                                        [](const Expansion& one, uint32_t at) { return one.rune < at; });
    if (found != expansions_.end() && found->rune == rune) {
      out->append(found->text);
    } else {
      AppendUtf8(Map(mappings_, rune), out);
    }
  }

 private:
  const std::vector<MappingRun> mappings_;
  const std::vector<Expansion> expansions_;
};

constexpr uint32_t kCapitalSigma = 0x3A3;
constexpr uint32_t kSmallSigma = 0x3C3;
constexpr uint32_t kFinalSigma = 0x3C2;

enum Cased : uint32_t { kNotCased = 0, kCased = 1, kSkipped = 2 };

uint32_t CasedAt(uint32_t rune) {
  static const std::vector<Run>& runs = *std::make_unique<std::vector<Run>>(ReadRuns(CasedRuns())).release();
  return ValueAt(runs, rune);
}

// Whether the first code point of `text` that is not skipped is a letter with case.
bool CasedFollows(absl::string_view text) {
  while (!text.empty()) {
    const DecodedRune next = DecodeUtf8(text);
    const uint32_t cased = CasedAt(next.rune);
    if (cased != kSkipped) return cased == kCased;
    text.remove_prefix(static_cast<size_t>(next.size));
  }
  return false;
}

}  // namespace

int32_t ScriptNumber(int32_t rune) {
  if (rune < 0 || rune > static_cast<int32_t>(kMaxRune)) return -1;
  static const std::vector<Run>& scripts = *std::make_unique<std::vector<Run>>(ReadRuns(ScriptRuns())).release();
  return static_cast<int32_t>(ValueAt(scripts, static_cast<uint32_t>(rune)));
}

void AppendLower(absl::string_view text, std::string* out) {
  static const CaseTable& lower = *std::make_unique<CaseTable>(LowerMappings(), LowerExpansions()).release();
  bool after_cased = false;  // Whether the last code point that is not skipped is a letter with case.
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      const char c = text.front();
      const bool is_upper = c >= 'A' && c <= 'Z';
      out->push_back(is_upper ? static_cast<char>(c - 'A' + 'a') : c);
      text.remove_prefix(1);
      if (is_upper || (c >= 'a' && c <= 'z')) {
        after_cased = true;
      } else if (CasedAt(static_cast<unsigned char>(c)) != kSkipped) {
        after_cased = false;
      }
      continue;
    }
    const DecodedRune next = DecodeUtf8(text);
    text.remove_prefix(static_cast<size_t>(next.size));
    if (next.rune == kCapitalSigma) {
      AppendUtf8(after_cased && !CasedFollows(text) ? kFinalSigma : kSmallSigma, out);
    } else {
      lower.Append(next.rune, out);
    }
    const uint32_t cased = CasedAt(next.rune);
    if (cased != kSkipped) after_cased = cased == kCased;
  }
}

void AppendUpper(absl::string_view text, std::string* out) {
  static const CaseTable& upper = *std::make_unique<CaseTable>(UpperMappings(), UpperExpansions()).release();
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      const char c = text.front();
      out->push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
      text.remove_prefix(1);
      continue;
    }
    const DecodedRune next = DecodeUtf8(text);
    text.remove_prefix(static_cast<size_t>(next.size));
    upper.Append(next.rune, out);
  }
}

}  // namespace sluice

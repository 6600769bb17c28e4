#include "kernels/strings/unicode/unicode.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

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

constexpr absl::string_view kCategories[] = {"Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc",
                                             "Me", "Mn", "Nd", "Nl", "No", "Pc", "Pd", "Pe", "Pf", "Pi",
                                             "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"};

// A script and its number in UnicodeScript (103: that one does not know it).
struct Script {
  absl::string_view name;
  int32_t number;
};

constexpr int32_t kUnknownScript = 103;
constexpr Script kScripts[] = {
    {"Adlam", 167},
    {"Ahom", 161},
    {"Anatolian_Hieroglyphs", 156},
    {"Arabic", 2},
    {"Armenian", 3},
    {"Avestan", 117},
    {"Balinese", 62},
    {"Bamum", 130},
    {"Bassa_Vah", 134},
    {"Batak", 63},
    {"Bengali", 4},
    {"Bhaiksuki", 168},
    {"Bopomofo", 5},
    {"Brahmi", 65},
    {"Braille", 46},
    {"Buginese", 55},
    {"Buhid", 44},
    {"Canadian_Aboriginal", 40},
    {"Carian", 104},
    {"Caucasian_Albanian", 159},
    {"Chakma", 118},
    {"Cham", 66},
    {"Cherokee", 6},
    {"Chorasmian", 189},
    {"Common", 0},
    {"Coptic", 7},
    {"Cuneiform", 101},
    {"Cypriot", 47},
    {"Cypro_Minoan", 103},
    {"Cyrillic", 8},
    {"Deseret", 9},
    {"Devanagari", 10},
    {"Dives_Akuru", 190},
    {"Dogra", 178},
    {"Duployan", 135},
    {"Egyptian_Hieroglyphs", 71},
    {"Elbasan", 136},
    {"Elymaic", 185},
    {"Ethiopic", 11},
    {"Georgian", 12},
    {"Glagolitic", 56},
    {"Gothic", 13},
    {"Grantha", 137},
    {"Greek", 14},
    {"Gujarati", 15},
    {"Gunjala_Gondi", 179},
    {"Gurmukhi", 16},
    {"Han", 17},
    {"Hangul", 18},
    {"Hanifi_Rohingya", 182},
    {"Hanunoo", 43},
    {"Hatran", 162},
    {"Hebrew", 19},
    {"Hiragana", 20},
    {"Imperial_Aramaic", 116},
    {"Inherited", 1},
    {"Inscriptional_Pahlavi", 122},
    {"Inscriptional_Parthian", 125},
    {"Javanese", 78},
    {"Kaithi", 120},
    {"Kannada", 21},
    {"Katakana", 22},
    {"Kawi", 103},
    {"Kayah_Li", 79},
    {"Kharoshthi", 57},
    {"Khitan_Small_Script", 191},
    {"Khmer", 23},
    {"Khojki", 157},
    {"Khudawadi", 145},
    {"Lao", 24},
    {"Latin", 25},
    {"Lepcha", 82},
    {"Limbu", 48},
    {"Linear_A", 83},
    {"Linear_B", 49},
    {"Lisu", 131},
    {"Lycian", 107},
    {"Lydian", 108},
    {"Mahajani", 160},
    {"Makasar", 180},
    {"Malayalam", 26},
    {"Mandaic", 84},
    {"Manichaean", 121},
    {"Marchen", 169},
    {"Masaram_Gondi", 175},
    {"Medefaidrin", 181},
    {"Meetei_Mayek", 115},
    {"Mende_Kikakui", 140},
    {"Meroitic_Cursive", 141},
    {"Meroitic_Hieroglyphs", 86},
    {"Miao", 92},
    {"Modi", 163},
    {"Mongolian", 27},
    {"Mro", 149},
    {"Multani", 164},
    {"Myanmar", 28},
    {"Nabataean", 143},
    {"Nag_Mundari", 103},
    {"Nandinagari", 187},
    {"New_Tai_Lue", 59},
    {"Newa", 170},
    {"Nko", 87},
    {"Nushu", 150},
    {"Nyiakeng_Puachue_Hmong", 186},
    {"Ogham", 29},
    {"Ol_Chiki", 109},
    {"Old_Hungarian", 76},
    {"Old_Italic", 30},
    {"Old_North_Arabian", 142},
    {"Old_Permic", 89},
    {"Old_Persian", 61},
    {"Old_Sogdian", 184},
    {"Old_South_Arabian", 133},
    {"Old_Turkic", 88},
    {"Old_Uyghur", 103},
    {"Oriya", 31},
    {"Osage", 171},
    {"Osmanya", 50},
    {"Pahawh_Hmong", 75},
    {"Palmyrene", 144},
    {"Pau_Cin_Hau", 165},
    {"Phags_Pa", 90},
    {"Phoenician", 91},
    {"Psalter_Pahlavi", 123},
    {"Rejang", 110},
    {"Runic", 32},
    {"Samaritan", 126},
    {"Saurashtra", 111},
    {"Sharada", 151},
    {"Shavian", 51},
    {"Siddham", 166},
    {"SignWriting", 112},
    {"Sinhala", 33},
    {"Sogdian", 183},
    {"Sora_Sompeng", 152},
    {"Soyombo", 176},
    {"Sundanese", 113},
    {"Syloti_Nagri", 58},
    {"Syriac", 34},
    {"Tagalog", 42},
    {"Tagbanwa", 45},
    {"Tai_Le", 52},
    {"Tai_Tham", 106},
    {"Tai_Viet", 127},
    {"Takri", 153},
    {"Tamil", 35},
    {"Tangsa", 103},
    {"Tangut", 154},
    {"Telugu", 36},
    {"Thaana", 37},
    {"Thai", 38},
    {"Tibetan", 39},
    {"Tifinagh", 60},
    {"Tirhuta", 158},
    {"Toto", 103},
    {"Ugaritic", 53},
    {"Vai", 99},
    {"Vithkuqi", 103},
    {"Wancho", 188},
    {"Warang_Citi", 146},
    {"Yezidi", 192},
    {"Yi", 41},
    {"Zanabazar_Square", 177},
};

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

// Folds lead upwards in the data; the way back to the smallest is read off here.
struct Folds {
  std::vector<MappingRun> up;
  std::vector<RuneRange> back;  // From the largest of each circle to the smallest, ascending.
  std::vector<uint32_t> all;    // Ascending.
};

Folds ReadFolds() {
  Folds folds;
  folds.up = ReadMappings(FoldMappings());
  std::vector<RuneRange> pairs;
  for (const MappingRun& run : folds.up) {
    for (uint32_t rune = run.first; rune <= run.last; rune += run.stride) {
      pairs.push_back({rune, static_cast<uint32_t>(static_cast<int32_t>(rune) + run.distance)});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const RuneRange& a, const RuneRange& b) { return a.last < b.last; });
  const auto below = [](const RuneRange& link, uint32_t rune) { return link.last < rune; };
  for (const RuneRange& pair : pairs) {
    uint32_t smallest = pair.first;
    for (auto at = std::lower_bound(pairs.begin(), pairs.end(), smallest, below);
         at != pairs.end() && at->last == smallest;
         at = std::lower_bound(pairs.begin(), pairs.end(), smallest, below)) {
      smallest = at->first;
    }
    if (Map(folds.up, pair.last) == pair.last) folds.back.push_back({smallest, pair.last});
    folds.all.push_back(pair.first);
    folds.all.push_back(pair.last);
  }
  std::sort(folds.all.begin(), folds.all.end());
  folds.all.erase(std::unique(folds.all.begin(), folds.all.end()), folds.all.end());
  return folds;
}

const Folds& AllFolds() {
  static const Folds& folds = *std::make_unique<Folds>(ReadFolds()).release();
  return folds;
}

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

bool FindUnicodeGroup(absl::string_view name, std::vector<RuneRange>* ranges) {
  ranges->clear();
  if (name == "Any") {
    ranges->push_back({0, kMaxRune});
    return true;
  }
  const auto collect = [ranges](absl::string_view data, const std::vector<bool>& wanted) {
    uint32_t at = 0;
    for (const Run& run : ReadRuns(data)) {
      if (wanted[run.value]) {
        if (!ranges->empty() && ranges->back().last + 1 == at) {
          ranges->back().last = run.end - 1;
        } else {
          ranges->push_back({at, run.end - 1});
        }
      }
      at = run.end;
    }
  };
  std::vector<bool> wanted(std::size(kCategories) + 1, false);
  bool is_category = false;
  for (size_t i = 0; i < std::size(kCategories); ++i) {
    wanted[i + 1] = !name.empty() && name.size() <= 2 && kCategories[i].substr(0, name.size()) == name;
    is_category |= wanted[i + 1];
  }
  if (is_category) {
    collect(CategoryRuns(), wanted);
    return true;
  }
  for (size_t i = 0; i < std::size(kScripts); ++i) {
    if (kScripts[i].name != name) continue;
    wanted.assign(std::size(kScripts) + 1, false);
    wanted[i + 1] = true;
    collect(ScriptRuns(), wanted);
    return true;
  }
  return false;
}

uint32_t NextFold(uint32_t rune) {
  const Folds& folds = AllFolds();
  const uint32_t next = Map(folds.up, rune);
  if (next != rune) return next;
  const auto back = std::lower_bound(folds.back.begin(), folds.back.end(), rune,
                                     [](const RuneRange& link, uint32_t at) { return link.last < at; });
  return back != folds.back.end() && back->last == rune ? back->first : rune;
}

const std::vector<uint32_t>& FoldingRunes() { return AllFolds().all; }

int32_t ScriptNumber(int32_t rune) {
  if (rune < 0 || rune > static_cast<int32_t>(kMaxRune)) return -1;
  static const std::vector<Run>& scripts = *std::make_unique<std::vector<Run>>(ReadRuns(ScriptRuns())).release();
  static const std::vector<Run>& others = *std::make_unique<std::vector<Run>>(ReadRuns(ScriptNumberRuns())).release();
  const uint32_t other = ValueAt(others, static_cast<uint32_t>(rune));
  if (other != 0) return static_cast<int32_t>(other) - 1;
  const uint32_t script = ValueAt(scripts, static_cast<uint32_t>(rune));
  return script == 0 ? kUnknownScript : kScripts[script - 1].number;
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

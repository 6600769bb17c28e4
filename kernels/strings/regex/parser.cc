#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "graph/base/status_macros.h"
#include "kernels/strings/regex/escape.h"
#include "kernels/strings/regex/syntax.h"

namespace sluice {
namespace {

constexpr int kMaxRepeat = 1000;
constexpr int kMaxNesting = 1000;
constexpr size_t kMaxNodes = size_t{1} << 19;  // No such tree becomes a program that is small enough.
constexpr size_t kMaxRanges = size_t{1} << 20;
constexpr int kMaxCopies = 1 << 20;  // Beyond it, exactly how many does not matter.

// What (?i) and its like switch.
struct Flags {
  bool fold = false;        // i
  bool multi_line = false;  // m
  bool dot_all = false;     // s
  bool lazy = false;        // U
};

// {n}, {n,} or {n,m}.
struct Count {
  int min = 0;
  int max = 0;
};

// A decimal number without leading zeros. False where there is none.
bool TakeInteger(absl::string_view* text, int* number) {
  const auto is_digit = [text](size_t i) {
    return i < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[i]));
  };
  if (!is_digit(0) || ((*text)[0] == '0' && is_digit(1))) return false;
  *number = 0;
  while (is_digit(0)) {
    if (*number >= 100000000) return false;
    *number = *number * 10 + (text->front() - '0');
    text->remove_prefix(1);
  }
  return true;
}

// A count in braces; false, and nothing is taken, where it is none: then the brace is itself.
bool TakeCount(absl::string_view* text, Count* count) {
  absl::string_view rest = *text;
  if (!absl::ConsumePrefix(&rest, "{") || !TakeInteger(&rest, &count->min) || rest.empty()) return false;
  count->max = count->min;
  if (absl::ConsumePrefix(&rest, ",")) {
    if (rest.empty()) return false;
    count->max = RegexNode::kUnbounded;
    if (rest.front() != '}' && !TakeInteger(&rest, &count->max)) return false;
  }
  if (!absl::ConsumePrefix(&rest, "}")) return false;
  *text = rest;
  return true;
}

// One walk over a pattern. Groups are parsed by calls of their own, so the depth of nesting has a limit.
class Parser {
 public:
  explicit Parser(absl::string_view pattern) : pattern_(pattern), text_(pattern) {}

  absl::StatusOr<RegexTree> Parse() {
    SLUICE_ASSIGN_OR_RETURN(tree_.root, ParseAlternatives(Flags(), 0));
    if (!text_.empty()) return RegexError("unexpected )", pattern_);
    return std::move(tree_);
  }

 private:
  int Push(RegexNode node) {
    for (const int child : node.children) node.copies = std::max(node.copies, tree_.nodes[Index(child)].copies);
    tree_.nodes.push_back(std::move(node));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }
  int Push(RegexOp op) {
    RegexNode node;
    node.op = op;
    return Push(std::move(node));
  }
  int PushRanges(std::vector<RuneRange> ranges) {
    RegexNode node;
    node.op = RegexOp::kRanges;
    node.ranges = std::move(ranges);
    num_ranges_ += node.ranges.size();
    return Push(std::move(node));
  }
  int PushRune(uint32_t rune, const Flags& flags) {
    RuneSet set;
    set.AddAll({{rune, rune}}, flags.fold);
    return PushRanges(set.Take());
  }
  int PushList(RegexOp op, std::vector<int> children) {
    if (children.size() == 1) return children[0];
    RegexNode node;
    node.op = children.empty() ? RegexOp::kEmpty : op;
    node.children = std::move(children);
    return Push(std::move(node));
  }
  static size_t Index(int i) { return static_cast<size_t>(i); }

  // An error where the tree has become larger than any that is compiled.
  absl::Status CheckSize() const;
  // Alternatives up to the end or a ')' that is not taken.
  absl::StatusOr<int> ParseAlternatives(Flags flags, int depth);
  // What one step of a sequence reads, added to `items`; nothing for flags.
  absl::Status ParseItem(Flags* flags, int depth, std::vector<int>* items);
  absl::Status ParseGroup(Flags* flags, int depth, std::vector<int>* items);
  absl::Status ParseEscape(const Flags& flags, std::vector<int>* items);
  // Flags after "(?", up to ')' or ':', which is taken: true where it was ')'.
  absl::StatusOr<bool> ParseFlags(absl::string_view whole, Flags* flags);
  // Takes the name of a group "?P<name>", if it is one; `whole` is the pattern from its '(' on. Nothing refers to
  // names, and two groups may have the same.
  absl::StatusOr<bool> TakeGroupName(absl::string_view whole);
  // *, +, ? or a count, put around the last item.
  absl::Status ParseRepeat(Count count, absl::string_view before, const Flags& flags, std::vector<int>* items);

  const absl::string_view pattern_;
  absl::string_view text_;
  RegexTree tree_;
  size_t num_ranges_ = 0;          // Of all classes.
  absl::string_view last_repeat_;  // Of the last item, as written.
};

absl::StatusOr<int> Parser::ParseAlternatives(Flags flags, int depth) {
  if (depth > kMaxNesting) return RegexError("nested too deeply", "");
  std::vector<int> alternatives;
  std::vector<int> items;
  last_repeat_ = absl::string_view();
  while (!text_.empty() && text_.front() != ')') {
    if (absl::ConsumePrefix(&text_, "|")) {
      alternatives.push_back(PushList(RegexOp::kConcat, std::move(items)));
      items.clear();
      last_repeat_ = absl::string_view();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(ParseItem(&flags, depth, &items));
  }
  alternatives.push_back(PushList(RegexOp::kConcat, std::move(items)));
  return PushList(RegexOp::kAlternate, std::move(alternatives));
}

absl::Status Parser::CheckSize() const {
  if (tree_.nodes.size() <= kMaxNodes && num_ranges_ <= kMaxRanges) return absl::OkStatus();
  return RegexError("pattern too large - compile failed", "");
}

absl::Status Parser::ParseItem(Flags* flags, int depth, std::vector<int>* items) {
  SLUICE_RETURN_IF_ERROR(CheckSize());
  const absl::string_view before = text_;
  Count count;
  switch (text_.front()) {
    case '*':
      text_.remove_prefix(1);
      return ParseRepeat({0, RegexNode::kUnbounded}, before, *flags, items);
    case '+':
      text_.remove_prefix(1);
      return ParseRepeat({1, RegexNode::kUnbounded}, before, *flags, items);
    case '?':
      text_.remove_prefix(1);
      return ParseRepeat({0, 1}, before, *flags, items);
    case '{':
      if (TakeCount(&text_, &count)) return ParseRepeat(count, before, *flags, items);
      break;
    default:
      break;
  }
  last_repeat_ = absl::string_view();
  switch (text_.front()) {
    case '(':
      return ParseGroup(flags, depth, items);
    case '\\':
      return ParseEscape(*flags, items);
    case '[': {
      SLUICE_ASSIGN_OR_RETURN(std::vector<RuneRange> ranges, TakeBracketClass(&text_, flags->fold));
      items->push_back(PushRanges(std::move(ranges)));
      return absl::OkStatus();
    }
    case '^':
      items->push_back(Push(flags->multi_line ? RegexOp::kBeginLine : RegexOp::kBeginText));
      break;
    case '$':
      items->push_back(Push(flags->multi_line ? RegexOp::kEndLine : RegexOp::kEndText));
      break;
    case '.':
      items->push_back(flags->dot_all ? PushRanges({{0, kMaxRune}})
                                      : PushRanges({{0, '\n' - 1}, {'\n' + 1, kMaxRune}}));
      break;
    default:
      items->push_back(PushRune(TakeRune(&text_), *flags));
      return absl::OkStatus();
  }
  text_.remove_prefix(1);
  return absl::OkStatus();
}

absl::Status Parser::ParseRepeat(Count count, absl::string_view before, const Flags& flags, std::vector<int>* items) {
  const bool is_lazy = absl::ConsumePrefix(&text_, "?") != flags.lazy;
  const absl::string_view written = before.substr(0, before.size() - text_.size());
  if (!last_repeat_.empty()) {
    const char* const begin = last_repeat_.data();
    return RegexError("bad repetition operator", absl::string_view(begin, static_cast<size_t>(text_.data() - begin)));
  }
  const bool is_counted = before.front() == '{';
  if (is_counted && (count.min > kMaxRepeat || count.max > kMaxRepeat || (count.max >= 0 && count.max < count.min))) {
    return RegexError("invalid repetition size", written);
  }
  if (items->empty()) return RegexError("no argument for repetition operator", written);
  RegexNode node;
  node.op = RegexOp::kRepeat;
  node.min = count.min;
  node.max = count.max;
  node.is_lazy = is_lazy;
  node.children = {items->back()};
  items->back() = Push(std::move(node));
  if (is_counted) {
    const int times = std::max(1, count.max < 0 ? count.min : count.max);
    int& copies = tree_.nodes.back().copies;
    copies = copies > kMaxCopies / times ? kMaxCopies : copies * times;
    if ((count.min >= 2 || count.max >= 2) && copies > kMaxRepeat) {
      return RegexError("invalid repetition size", written);
    }
  }
  last_repeat_ = written;
  return absl::OkStatus();
}

absl::Status Parser::ParseEscape(const Flags& flags, std::vector<int>* items) {
  const char letter = text_.size() >= 2 ? text_[1] : '\0';
  RegexOp op = RegexOp::kEmpty;
  switch (letter) {
    case 'b':
      op = RegexOp::kWordBoundary;
      break;
    case 'B':
      op = RegexOp::kNoWordBoundary;
      break;
    case 'A':
      op = RegexOp::kBeginText;
      break;
    case 'z':
      op = RegexOp::kEndText;
      break;
    case 'C':
      op = RegexOp::kAnyByte;
      break;
    case 'Q':
      text_.remove_prefix(2);
      while (!text_.empty() && !absl::ConsumePrefix(&text_, "\\E")) {
        items->push_back(PushRune(TakeRune(&text_), flags));
        SLUICE_RETURN_IF_ERROR(CheckSize());
      }
      return absl::OkStatus();
    default:
      break;
  }
  if (op != RegexOp::kEmpty) {
    text_.remove_prefix(2);
    items->push_back(Push(op));
    return absl::OkStatus();
  }
  RuneSet set;
  SLUICE_ASSIGN_OR_RETURN(const bool is_class, TakeNamedClass(&text_, flags.fold, &set));
  if (is_class) {
    items->push_back(PushRanges(set.Take()));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(const uint32_t rune, TakeEscape(&text_));
  items->push_back(PushRune(rune, flags));
  return absl::OkStatus();
}

// Letters, marks, decimal digits, letter numbers and connectors.
std::vector<RuneRange> MakeNameRanges() {
  std::vector<RuneRange> ranges;
  RuneSet allowed;
  for (const absl::string_view group : {"L", "Nl", "Mn", "Mc", "Nd", "Pc"}) {
    FindUnicodeGroup(group, &ranges);
    allowed.AddAll(ranges, /*fold=*/false);
  }
  return allowed.Take();
}

// Whether `name` consists of these.
bool IsGroupName(absl::string_view name) {
  static const std::vector<RuneRange>& ranges = *std::make_unique<std::vector<RuneRange>>(MakeNameRanges()).release();
  if (name.empty()) return false;
  while (!name.empty()) {
    const uint32_t rune = TakeRune(&name);
    const auto range = std::lower_bound(ranges.begin(), ranges.end(), rune,
                                        [](const RuneRange& one, uint32_t at) { return one.last < at; });
    if (range == ranges.end() || rune < range->first) return false;
  }
  return true;
}

absl::StatusOr<bool> Parser::TakeGroupName(absl::string_view whole) {
  constexpr absl::string_view kMark = "?P<";
  if (!absl::StartsWith(text_, kMark)) return false;
  const size_t end = text_.find('>', kMark.size());
  if (end == absl::string_view::npos) return RegexError("invalid named capture group", whole);
  if (!IsGroupName(text_.substr(kMark.size(), end - kMark.size()))) {
    return RegexError("invalid named capture group", whole.substr(0, end + 2));
  }
  text_.remove_prefix(end + 1);
  return true;
}

absl::StatusOr<bool> Parser::ParseFlags(absl::string_view whole, Flags* flags) {
  bool is_on = true, has_flag = false;
  while (!text_.empty()) {
    const char c = text_.front();
    text_.remove_prefix(1);
    bool* const flag = c == 'i'   ? &flags->fold
                       : c == 'm' ? &flags->multi_line
                       : c == 's' ? &flags->dot_all
                       : c == 'U' ? &flags->lazy
                                  : nullptr;
    if (flag != nullptr) {
      *flag = is_on;
      has_flag = true;
    } else if (c == '-' && is_on) {
      is_on = has_flag = false;
    } else if ((c == ')' || c == ':') && (is_on || has_flag)) {
      return c == ')';
    } else {
      break;
    }
  }
  return RegexError("invalid perl operator", whole.substr(0, whole.size() - text_.size()));
}

absl::Status Parser::ParseGroup(Flags* flags, int depth, std::vector<int>* items) {
  const absl::string_view whole = text_;
  text_.remove_prefix(1);
  Flags inner = *flags;
  SLUICE_ASSIGN_OR_RETURN(const bool is_named, TakeGroupName(whole));
  int group = 0;
  if (is_named || !absl::StartsWith(text_, "?")) {
    group = ++tree_.num_groups;
  } else {
    text_.remove_prefix(1);
    SLUICE_ASSIGN_OR_RETURN(const bool only_flags, ParseFlags(whole, &inner));
    if (only_flags) {
      *flags = inner;
      return absl::OkStatus();
    }
  }
  SLUICE_ASSIGN_OR_RETURN(const int body, ParseAlternatives(inner, depth + 1));
  if (!absl::ConsumePrefix(&text_, ")")) return RegexError("missing )", pattern_);
  last_repeat_ = absl::string_view();
  if (group == 0) {
    items->push_back(body);
    return absl::OkStatus();
  }
  RegexNode node;
  node.op = RegexOp::kCapture;
  node.min = group;
  node.children = {body};
  items->push_back(Push(std::move(node)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RegexTree> ParseRegex(absl::string_view pattern) {
  if (!IsPatternText(pattern)) return RegexError("invalid UTF-8", "");
  return Parser(pattern).Parse();
}

}  // namespace sluice

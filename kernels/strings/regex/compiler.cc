#include <algorithm>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "kernels/strings/regex/byte_sequences.h"
#include "kernels/strings/regex/escape.h"
#include "kernels/strings/regex/program.h"

namespace sluice {
namespace {

// As many instructions as RE2 makes at most in TensorFlow. Four ranges of a class count as one: so \pL{400} is taken,
// and \pL{500} is not, there and here.
constexpr int kMaxCost = 174000;

// Compiles from the end to the front: each part is told where it leads, and nothing needs to be mended later.
class Compiler {
 public:
  explicit Compiler(const RegexTree& tree) : tree_(tree) {
    for (const RegexNode& node : tree.nodes) nullable_.push_back(IsNullable(node));
  }

  absl::StatusOr<RegexProgram> Compile() {
    const int32_t match = Add({RegexInst::Kind::kMatch, 0, 0, 0});
    program_.start = CompileNode(tree_.root, match);
    program_.start_anywhere = Add({RegexInst::Kind::kAlt, program_.start, 0, 0});
    const int32_t any = AddBytes({{0, 255, program_.start_anywhere}});
    At(program_.start_anywhere).other = any;
    if (cost_ > kMaxCost) return RegexError("pattern too large - compile failed", "");
    program_.num_groups = tree_.num_groups;
    FindClasses();
    FindFirstBytes();
    if (program_.first_bytes.count() == 1) {
      while (!program_.first_bytes[static_cast<size_t>(++program_.only_first_byte)]) {
      }
    }
    return std::move(program_);
  }

 private:
  RegexInst& At(int32_t id) { return program_.insts[static_cast<size_t>(id)]; }
  const RegexNode& Node(int i) const { return tree_.nodes[static_cast<size_t>(i)]; }

  bool IsNullable(const RegexNode& node) const {
    const auto of_child = [this](int child) { return nullable_[static_cast<size_t>(child)]; };
    switch (node.op) {
      case RegexOp::kRanges:
      case RegexOp::kAnyByte:
        return false;
      case RegexOp::kCapture:
        return of_child(node.children[0]);
      case RegexOp::kRepeat:
        return node.min == 0 || of_child(node.children[0]);
      case RegexOp::kConcat:
        return std::all_of(node.children.begin(), node.children.end(), of_child);
      case RegexOp::kAlternate:
        return std::any_of(node.children.begin(), node.children.end(), of_child);
      default:
        return true;
    }
  }

  int32_t Add(RegexInst inst) {
    ++cost_;
    program_.insts.push_back(inst);
    return static_cast<int32_t>(program_.insts.size()) - 1;
  }
  int32_t AddAlt(int32_t body, int32_t next, bool is_lazy) {
    return Add({RegexInst::Kind::kAlt, is_lazy ? next : body, is_lazy ? body : next, 0});
  }
  int32_t AddPlace(RegexPlace place, int32_t next) {
    program_.asks_for_places = true;
    return Add({RegexInst::Kind::kPlace, next, 0, place});
  }
  // Equal ones are made once.
  int32_t AddBytes(absl::Span<const RegexBytes> ranges);
  int32_t CompileSequences(absl::Span<const ByteSequence> sequences, int depth, int32_t next);
  int32_t CompileRepeat(const RegexNode& node, int32_t next);
  int32_t CompileNode(int index, int32_t next);

  void FindClasses();
  void FindFirstBytes();

  const RegexTree& tree_;
  std::vector<bool> nullable_;
  RegexProgram program_;
  HashMap<std::string, int32_t> known_bytes_;
  int cost_ = 0;
};

int32_t Compiler::AddBytes(absl::Span<const RegexBytes> ranges) {
  std::string key;
  for (const RegexBytes& range : ranges) {
    key.push_back(static_cast<char>(range.first));
    key.push_back(static_cast<char>(range.last));
    key.append(reinterpret_cast<const char*>(&range.out), sizeof(range.out));
  }
  const auto known = known_bytes_.find(key);
  if (known != known_bytes_.end()) return known->second;
  cost_ += static_cast<int>(ranges.size()) / 4;
  const int32_t first = static_cast<int32_t>(program_.ranges.size());
  program_.ranges.insert(program_.ranges.end(), ranges.begin(), ranges.end());
  const int32_t id = Add({RegexInst::Kind::kBytes, 0, first, static_cast<int32_t>(ranges.size())});
  known_bytes_.emplace(std::move(key), id);
  return id;
}

// `sequences` agree in their first `depth` bytes. Those that agree in one more are next to each other.
int32_t Compiler::CompileSequences(absl::Span<const ByteSequence> sequences, int depth, int32_t next) {
  std::vector<RegexBytes> ranges;
  for (size_t begin = 0; begin < sequences.size();) {
    const ByteSequence& first = sequences[begin];
    size_t end = begin + 1;
    while (end < sequences.size() && sequences[end].first[depth] == first.first[depth] &&
           sequences[end].last[depth] == first.last[depth]) {
      ++end;
    }
    const bool is_last = first.size == depth + 1;
    const int32_t out = is_last ? next : CompileSequences(sequences.subspan(begin, end - begin), depth + 1, next);
    if (!ranges.empty() && ranges.back().out == out && ranges.back().last + 1 == first.first[depth]) {
      ranges.back().last = first.last[depth];
    } else {
      ranges.push_back({first.first[depth], first.last[depth], out});
    }
    begin = end;
  }
  return AddBytes(ranges);
}

int32_t Compiler::CompileRepeat(const RegexNode& node, int32_t next) {
  const int body = node.children[0];
  int copies = node.min;
  if (node.max == RegexNode::kUnbounded) {
    // The loop is x+ where x may be empty too: then (x+)? has the priorities of x*.
    const bool is_plus = node.min > 0 || nullable_[static_cast<size_t>(body)];
    const int32_t loop = AddAlt(0, next, node.is_lazy);
    const int32_t entry = CompileNode(body, loop);
    (node.is_lazy ? At(loop).other : At(loop).out) = entry;
    if (!is_plus) return loop;
    if (node.min == 0) return AddAlt(entry, next, node.is_lazy);
    next = entry;
    --copies;
  } else {
    int32_t rest = next;
    for (int i = node.min; i < node.max && cost_ <= kMaxCost; ++i) {
      rest = AddAlt(CompileNode(body, rest), next, node.is_lazy);
    }
    next = rest;
  }
  for (int i = 0; i < copies && cost_ <= kMaxCost; ++i) {
    const int32_t entry = CompileNode(body, next);
    if (entry == next) break;  // A body without instructions: as many copies as there are make none.
    next = entry;
  }
  return next;
}

int32_t Compiler::CompileNode(int index, int32_t next) {
  if (cost_ > kMaxCost) return next;  // The answer is known.
  const RegexNode& node = Node(index);
  switch (node.op) {
    case RegexOp::kEmpty:
      return next;
    case RegexOp::kRanges:
      return CompileSequences(ByteSequencesOf(node.ranges), 0, next);
    case RegexOp::kAnyByte:
      return AddBytes({{0, 255, next}});
    case RegexOp::kBeginLine:
      return AddPlace(kAtBeginLine, next);
    case RegexOp::kEndLine:
      return AddPlace(kAtEndLine, next);
    case RegexOp::kBeginText:
      return AddPlace(kAtBeginText, next);
    case RegexOp::kEndText:
      return AddPlace(kAtEndText, next);
    case RegexOp::kWordBoundary:
      return AddPlace(kAtWordBoundary, next);
    case RegexOp::kNoWordBoundary:
      return AddPlace(kAtNoWordBoundary, next);
    case RegexOp::kCapture: {
      const int32_t end = Add({RegexInst::Kind::kCapture, next, 2 * node.min + 1, 0});
      const int32_t body = CompileNode(node.children[0], end);
      return Add({RegexInst::Kind::kCapture, body, 2 * node.min, 0});
    }
    case RegexOp::kRepeat:
      return CompileRepeat(node, next);
    case RegexOp::kConcat:
      for (size_t i = node.children.size(); i-- > 0;) next = CompileNode(node.children[i], next);
      return next;
    case RegexOp::kAlternate: {
      int32_t rest = CompileNode(node.children.back(), next);
      for (size_t i = node.children.size() - 1; i-- > 0;) {
        rest = AddAlt(CompileNode(node.children[i], next), rest, /*is_lazy=*/false);
      }
      return rest;
    }
  }
  return next;
}

void Compiler::FindClasses() {
  std::bitset<257> begins;
  begins.set(0);
  const auto cut = [&begins](uint8_t first, uint8_t last) {
    begins.set(first);
    begins.set(last + size_t{1});
  };
  for (const RegexBytes& range : program_.ranges) cut(range.first, range.last);
  if (program_.asks_for_places) {
    cut('\n', '\n');
    cut('0', '9');
    cut('A', 'Z');
    cut('_', '_');
    cut('a', 'z');
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    if (begins[byte]) program_.class_bytes.push_back(static_cast<uint8_t>(byte));
    program_.byte_class[byte] = static_cast<uint8_t>(program_.class_bytes.size() - 1);
  }
}

void Compiler::FindFirstBytes() {
  std::vector<bool> seen(program_.insts.size(), false);
  std::vector<int32_t> open = {program_.start};
  while (!open.empty()) {
    const int32_t id = open.back();
    open.pop_back();
    if (seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    const RegexInst& inst = At(id);
    switch (inst.kind) {
      case RegexInst::Kind::kMatch:
      case RegexInst::Kind::kPlace:
        program_.first_bytes.set();
        return;
      case RegexInst::Kind::kAlt:
        open.push_back(inst.other);
        open.push_back(inst.out);
        break;
      case RegexInst::Kind::kCapture:
        open.push_back(inst.out);
        break;
      case RegexInst::Kind::kBytes:
        for (int32_t i = inst.other; i < inst.other + inst.count; ++i) {
          const RegexBytes& range = program_.ranges[static_cast<size_t>(i)];
          for (size_t byte = range.first; byte <= range.last; ++byte) program_.first_bytes.set(byte);
        }
        break;
    }
  }
}

}  // namespace

absl::StatusOr<RegexProgram> CompileRegex(const RegexTree& tree) { return Compiler(tree).Compile(); }

uint32_t PlacesAt(absl::string_view text, size_t at) {
  uint32_t places = 0;
  if (at == 0) places |= kAtBeginText | kAtBeginLine;
  if (at == text.size()) places |= kAtEndText | kAtEndLine;
  if (at > 0 && text[at - 1] == '\n') places |= kAtBeginLine;
  if (at < text.size() && text[at] == '\n') places |= kAtEndLine;
  const bool after_word = at > 0 && IsWordByte(static_cast<uint8_t>(text[at - 1]));
  const bool before_word = at < text.size() && IsWordByte(static_cast<uint8_t>(text[at]));
  return places | (after_word != before_word ? kAtWordBoundary : kAtNoWordBoundary);
}

}  // namespace sluice

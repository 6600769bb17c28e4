#include "kernels/strings/regex/one_pass.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int32_t kMaxSlots = 20;                // Of the match and of groups 1 to 9, which a rewrite can name.
constexpr size_t kMaxActions = size_t{1} << 15;  // In tables of a node each: 384 KiB.

int LowestBit(uint32_t bits) { return __builtin_ctz(bits); }

}  // namespace

RegexOnePass::RegexOnePass(const RegexProgram& program)
    : num_classes_(program.class_bytes.size()), byte_class_(program.byte_class) {
  nodes_.assign(program.insts.size(), kNowhere);
  marks_.assign(program.insts.size(), 0);
  is_usable_ = Build(program);
  if (!is_usable_) {
    actions_ = std::vector<Action>();
    ends_ = std::vector<MatchEnd>();
  }
  entries_ = nodes_ = marks_ = std::vector<int32_t>();
  open_ = std::vector<Open>();
}

bool RegexOnePass::Build(const RegexProgram& program) {
  NodeOf(program.start);
  for (size_t node = 0; node < entries_.size(); ++node) {
    if (!AddNode(program, entries_[node])) return false;
  }
  return true;
}

int32_t RegexOnePass::NodeOf(int32_t inst) {
  int32_t& node = nodes_[static_cast<size_t>(inst)];
  if (node == kNowhere) {
    node = static_cast<int32_t>(entries_.size());
    entries_.push_back(inst);
  }
  return node;
}

bool RegexOnePass::AddNode(const RegexProgram& program, int32_t entry) {
  const size_t row = actions_.size();
  if (row + num_classes_ > kMaxActions) return false;
  actions_.resize(row + num_classes_);
  ends_.emplace_back();
  const int32_t mark = static_cast<int32_t>(ends_.size());
  open_.assign(1, {entry, Way()});
  while (!open_.empty()) {
    Open next = open_.back();
    open_.pop_back();
    if (marks_[static_cast<size_t>(next.inst)] == mark) return false;
    marks_[static_cast<size_t>(next.inst)] = mark;
    const RegexInst& inst = program.insts[static_cast<size_t>(next.inst)];
    switch (inst.kind) {
      case RegexInst::Kind::kMatch:
        ends_.back() = {true, next.way};
        break;
      case RegexInst::Kind::kAlt:
        open_.push_back({inst.other, next.way});
        open_.push_back({inst.out, next.way});
        break;
      case RegexInst::Kind::kPlace:
        next.way.places |= static_cast<uint32_t>(inst.count);
        open_.push_back({inst.out, next.way});
        break;
      case RegexInst::Kind::kCapture:
        if (inst.other < kMaxSlots) next.way.slots |= uint32_t{1} << inst.other;
        open_.push_back({inst.out, next.way});
        break;
      case RegexInst::Kind::kBytes:
        if (!AddBytes(program, inst, next.way, row)) return false;
        break;
    }
  }
  return true;
}

bool RegexOnePass::AddBytes(const RegexProgram& program, const RegexInst& inst, const Way& way, size_t row) {
  for (int32_t i = inst.other; i < inst.other + inst.count; ++i) {
    const RegexBytes& range = program.ranges[static_cast<size_t>(i)];
    const int32_t next = NodeOf(range.out);
    // Classes are runs of bytes: each begins with its own byte.
    for (size_t c = byte_class_[range.first]; c <= byte_class_[range.last]; ++c) {
      Action& action = actions_[row + c];
      if (action.next != kNowhere) return false;
      action = {next, way};
    }
  }
  return true;
}

void RegexOnePass::Note(const Way& way, size_t at, absl::Span<int64_t> slots) {
  for (uint32_t left = way.slots; left != 0; left &= left - 1) {
    const size_t slot = static_cast<size_t>(LowestBit(left));
    if (slot < slots.size()) slots[slot] = static_cast<int64_t>(at);
  }
}

bool RegexOnePass::Holds(const Way& way, absl::string_view text, size_t at) {
  return way.places == 0 || (way.places & ~PlacesAt(text, at)) == 0;
}

bool RegexOnePass::Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots,
                       size_t* stopped) const {
  std::fill(slots.begin(), slots.end(), -1);
  size_t node = 0;
  for (size_t at = begin; at < end; ++at) {
    const Action& action = actions_[node * num_classes_ + byte_class_[static_cast<uint8_t>(text[at])]];
    if (action.next == kNowhere || !Holds(action.way, text, at)) {
      *stopped = at;
      return false;
    }
    if (action.way.slots != 0) Note(action.way, at, slots);
    node = static_cast<size_t>(action.next);
  }
  *stopped = end;
  const MatchEnd& match = ends_[node];
  if (!match.is_reachable || !Holds(match.way, text, end)) return false;
  Note(match.way, end, slots);
  slots[0] = static_cast<int64_t>(begin);
  slots[1] = static_cast<int64_t>(end);
  return true;
}

}  // namespace sluice

#include "kernels/strings/regex/dfa.h"

#include <cstring>
#include <utility>

namespace sluice {

RegexDfa::RegexDfa(const RegexProgram& program, Goal goal)
    : program_(program),
      goal_(goal),
      num_classes_(program.class_bytes.size() + 1),
      can_skip_(goal == Goal::kFirst && !program.asks_for_places && !program.first_bytes.all()),
      marks_(program.insts.size(), 0) {}

void RegexDfa::Forget() {
  states_.clear();
  next_.clear();
  ids_.clear();
  starts_.fill(Link());
  bytes_ = 0;
  ++num_forgets_;
}

RegexDfa::Link RegexDfa::FindState(std::vector<int32_t> insts, Before before, bool is_match) {
  if (!program_.asks_for_places || insts.empty()) before = kOtherByte;
  std::string key(reinterpret_cast<const char*>(insts.data()), insts.size() * sizeof(int32_t));
  key.push_back(static_cast<char>(before));
  key.push_back(is_match ? 1 : 0);
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  bytes_ += 2 * key.size() + sizeof(State) + num_classes_ * sizeof(Link) + 64;
  const Link link(states_.size() * num_classes_, is_match, insts.empty());
  next_.resize((states_.size() + 1) * num_classes_);
  states_.push_back({std::move(insts), before});
  ids_.emplace(std::move(key), link);
  return link;
}

RegexDfa::Link RegexDfa::StartState(absl::string_view text, size_t begin) {
  Before before = kNothing;
  if (begin > 0) {
    const uint8_t byte = static_cast<uint8_t>(text[begin - 1]);
    before = byte == '\n' ? kNewline : IsWordByte(byte) ? kWordByte : kOtherByte;
  }
  Link& start = starts_[before];
  if (!start.is_known()) {
    start = FindState({goal_ == Goal::kWholeText ? program_.start : program_.start_anywhere}, before, false);
  }
  return start;
}

uint32_t RegexDfa::Places(Before before, bool at_end, uint8_t byte) const {
  uint32_t places = 0;
  if (before == kNothing) places |= kAtBeginText | kAtBeginLine;
  if (before == kNewline) places |= kAtBeginLine;
  if (at_end) places |= kAtEndText | kAtEndLine;
  if (!at_end && byte == '\n') places |= kAtEndLine;
  const bool before_word = !at_end && IsWordByte(byte);
  return places | ((before == kWordByte) != before_word ? kAtWordBoundary : kAtNoWordBoundary);
}

bool RegexDfa::Close(const std::vector<int32_t>& insts, uint32_t places, std::vector<int32_t>* closed) {
  ++mark_;
  bool has_match = false;
  for (const int32_t first : insts) {
    open_.assign(1, first);
    while (!open_.empty()) {
      const int32_t id = open_.back();
      open_.pop_back();
      if (marks_[static_cast<size_t>(id)] == mark_) continue;
      marks_[static_cast<size_t>(id)] = mark_;
      const RegexInst& inst = program_.insts[static_cast<size_t>(id)];
      switch (inst.kind) {
        case RegexInst::Kind::kMatch:
          has_match = true;
          if (goal_ == Goal::kFirst) return true;
          break;
        case RegexInst::Kind::kAlt:
          open_.push_back(inst.other);
          open_.push_back(inst.out);
          break;
        case RegexInst::Kind::kPlace:
          if ((static_cast<uint32_t>(inst.count) & ~places) == 0) open_.push_back(inst.out);
          break;
        case RegexInst::Kind::kCapture:
          open_.push_back(inst.out);
          break;
        case RegexInst::Kind::kBytes:
          closed->push_back(id);
          break;
      }
    }
  }
  return has_match;
}

RegexDfa::Link RegexDfa::Step(size_t row, size_t byte_class) {
  const bool at_end = byte_class + 1 == num_classes_;
  const uint8_t byte = at_end ? 0 : program_.class_bytes[byte_class];
  std::vector<int32_t> closed;
  const State& state = states_[row / num_classes_];
  bool is_match = Close(state.insts, Places(state.before, at_end, byte), &closed);
  if (goal_ == Goal::kWholeText) is_match = is_match && at_end;
  std::vector<int32_t> insts;
  if (!at_end) {
    ++mark_;
    for (const int32_t id : closed) {
      const int32_t out = program_.Step(program_.insts[static_cast<size_t>(id)], byte);
      if (out < 0 || marks_[static_cast<size_t>(out)] == mark_) continue;
      marks_[static_cast<size_t>(out)] = mark_;
      insts.push_back(out);
    }
  }
  const Before before = byte == '\n' ? kNewline : IsWordByte(byte) ? kWordByte : kOtherByte;
  const bool forget = bytes_ > kMaxBytes;
  if (forget) Forget();
  const Link to = FindState(std::move(insts), before, is_match);
  if (!forget) next_[row + byte_class] = to;
  return to;
}

size_t RegexDfa::SkipTo(absl::string_view text, size_t at) const {
  if (program_.only_first_byte >= 0) {
    const void* const found =
        at < text.size() ? std::memchr(text.data() + at, program_.only_first_byte, text.size() - at) : nullptr;
    return found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (at < text.size() && !program_.first_bytes[static_cast<uint8_t>(text[at])]) ++at;
  return at;
}

int64_t RegexDfa::Run(absl::string_view text, size_t begin, size_t* first_begin) {
  *first_begin = begin;
  int64_t end = -1;
  Link link = StartState(text, begin);
  const uint64_t num_forgets = num_forgets_;
  // Where nothing has begun; it stays so up to a byte that a match can begin with.
  size_t idle = can_skip_ ? link.row() : next_.max_size();
  for (size_t at = begin; at <= text.size(); ++at) {
    if (link.row() == idle) *first_begin = at = SkipTo(text, at);
    const size_t byte_class =
        at == text.size() ? num_classes_ - 1 : program_.byte_class[static_cast<uint8_t>(text[at])];
    Link next = next_[link.row() + byte_class];
    if (!next.is_known()) {
      next = Step(link.row(), byte_class);
      if (num_forgets_ != num_forgets) idle = next_.max_size();  // It is forgotten, its number that of another.
    }
    if (next.is_match()) end = static_cast<int64_t>(at);
    if (next.is_dead()) break;
    link = next;
  }
  return end;
}

}  // namespace sluice

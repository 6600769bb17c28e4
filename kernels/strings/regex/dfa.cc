#include "kernels/strings/regex/dfa.h"

#include <utility>

namespace sluice {

RegexDfa::RegexDfa(const RegexProgram& program, Goal goal)
    : program_(program), goal_(goal), num_classes_(program.class_bytes.size() + 1), marks_(program.insts.size(), 0) {}

void RegexDfa::Forget() {
  states_.clear();
  next_.clear();
  ids_.clear();
  bytes_ = 0;
}

int32_t RegexDfa::FindState(std::vector<int32_t> insts, Before before, bool is_match) {
  if (!program_.asks_for_places || insts.empty()) before = kOtherByte;
  std::string key(reinterpret_cast<const char*>(insts.data()), insts.size() * sizeof(int32_t));
  key.push_back(static_cast<char>(before));
  key.push_back(is_match ? 1 : 0);
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  bytes_ += 2 * key.size() + sizeof(State) + num_classes_ * sizeof(int32_t) + 64;
  const int32_t id = static_cast<int32_t>(states_.size());
  next_.resize(next_.size() + num_classes_, kUnknown);
  states_.push_back({std::move(insts), before, is_match});
  ids_.emplace(std::move(key), id);
  return id;
}

int32_t RegexDfa::StartState(absl::string_view text, size_t begin) {
  Before before = kNothing;
  if (begin > 0) {
    const uint8_t byte = static_cast<uint8_t>(text[begin - 1]);
    before = byte == '\n' ? kNewline : IsWordByte(byte) ? kWordByte : kOtherByte;
  }
  return FindState({goal_ == Goal::kWholeText ? program_.start : program_.start_anywhere}, before, false);
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

int32_t RegexDfa::Step(int32_t from, size_t byte_class) {
  const bool at_end = byte_class + 1 == num_classes_;
  const uint8_t byte = at_end ? 0 : program_.class_bytes[byte_class];
  std::vector<int32_t> closed;
  const State& state = states_[static_cast<size_t>(from)];
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
  const int32_t to = FindState(std::move(insts), before, is_match);
  if (!forget) next_[static_cast<size_t>(from) * num_classes_ + byte_class] = to;
  return to;
}

int64_t RegexDfa::Run(absl::string_view text, size_t begin) {
  int64_t end = -1;
  int32_t state = StartState(text, begin);
  for (size_t at = begin; at <= text.size(); ++at) {
    const size_t byte_class =
        at == text.size() ? num_classes_ - 1 : program_.byte_class[static_cast<uint8_t>(text[at])];
    int32_t next = next_[static_cast<size_t>(state) * num_classes_ + byte_class];
    if (next == kUnknown) next = Step(state, byte_class);
    const State& reached = states_[static_cast<size_t>(next)];
    if (reached.is_match) end = static_cast<int64_t>(at);
    if (reached.insts.empty()) break;
    state = next;
  }
  return end;
}

}  // namespace sluice

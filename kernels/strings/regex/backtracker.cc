#include "kernels/strings/regex/backtracker.h"

#include <algorithm>

namespace sluice {

bool RegexBacktracker::MarkNew(int32_t inst, size_t at) {
  const size_t bit = static_cast<size_t>(inst) * (end_ - begin_ + 1) + (at - begin_);
  uint64_t& word = marks_[bit / 64];
  const uint64_t mask = uint64_t{1} << bit % 64;
  if ((word & mask) != 0) return false;
  word |= mask;
  return true;
}

bool RegexBacktracker::Follow(int32_t id, size_t at, absl::Span<int64_t> slots) {
  while (MarkNew(id, at)) {
    const RegexInst& inst = program_.insts[static_cast<size_t>(id)];
    switch (inst.kind) {
      case RegexInst::Kind::kMatch:
        slots[1] = static_cast<int64_t>(at);
        return true;
      case RegexInst::Kind::kAlt:
        open_.push_back({inst.other, 0, static_cast<int64_t>(at)});
        break;
      case RegexInst::Kind::kPlace:
        if ((static_cast<uint32_t>(inst.count) & ~PlacesAt(text_, at)) != 0) return false;
        break;
      case RegexInst::Kind::kCapture: {
        const size_t slot = static_cast<size_t>(inst.other);
        if (slot < slots.size()) {
          open_.push_back({-1, inst.other, slots[slot]});
          slots[slot] = static_cast<int64_t>(at);
        }
        break;
      }
      case RegexInst::Kind::kBytes: {
        const int32_t out = at == end_ ? -1 : program_.Step(inst, static_cast<uint8_t>(text_[at]));
        if (out < 0) return false;
        ++at;
        id = out;
        continue;
      }
    }
    id = inst.out;
  }
  return false;
}

bool RegexBacktracker::TryAt(size_t from, absl::Span<int64_t> slots) {
  open_.assign(1, {program_.start, 0, static_cast<int64_t>(from)});
  while (!open_.empty()) {
    const Open next = open_.back();
    open_.pop_back();
    if (next.inst < 0) {
      slots[static_cast<size_t>(next.slot)] = next.at;
    } else if (Follow(next.inst, static_cast<size_t>(next.at), slots)) {
      slots[0] = static_cast<int64_t>(from);
      return true;
    }
  }
  return false;
}

bool RegexBacktracker::Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots) {
  text_ = text;
  begin_ = begin;
  end_ = end;
  marks_.assign(program_.insts.size() * (end - begin + 1) / 64 + 1, 0);
  std::fill(slots.begin(), slots.end(), -1);
  for (size_t from = begin; from <= end; ++from) {
    const bool can_begin =
        from == end ? program_.first_bytes.all() : program_.first_bytes[static_cast<uint8_t>(text[from])];
    if (can_begin && TryAt(from, slots)) return true;
  }
  return false;
}

}  // namespace sluice

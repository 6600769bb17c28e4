#include "kernels/strings/regex/pike.h"

#include <algorithm>
#include <utility>

namespace sluice {

RegexPike::RegexPike(const RegexProgram& program)
    : program_(program), can_skip_(!program.first_bytes.all()), marks_(program.insts.size(), 0) {}

void RegexPike::Add(Threads* threads, int32_t id, absl::string_view text, size_t at) {
  open_.assign(1, {id, 0, 0});
  uint32_t places = 0;
  bool knows_places = false;
  while (!open_.empty()) {
    const Open next = open_.back();
    open_.pop_back();
    if (next.id < 0) {
      slots_[static_cast<size_t>(next.slot)] = next.value;
      continue;
    }
    if (marks_[static_cast<size_t>(next.id)] == mark_) continue;
    marks_[static_cast<size_t>(next.id)] = mark_;
    const RegexInst& inst = program_.insts[static_cast<size_t>(next.id)];
    switch (inst.kind) {
      case RegexInst::Kind::kAlt:
        open_.push_back({inst.other, 0, 0});
        open_.push_back({inst.out, 0, 0});
        break;
      case RegexInst::Kind::kPlace:
        if (!knows_places) places = PlacesAt(text, at);
        knows_places = true;
        if ((static_cast<uint32_t>(inst.count) & ~places) == 0) open_.push_back({inst.out, 0, 0});
        break;
      case RegexInst::Kind::kCapture: {
        const size_t slot = static_cast<size_t>(inst.other);
        if (slot < num_slots_) {
          open_.push_back({-1, inst.other, slots_[slot]});
          slots_[slot] = static_cast<int64_t>(at);
        }
        open_.push_back({inst.out, 0, 0});
        break;
      }
      case RegexInst::Kind::kMatch:
      case RegexInst::Kind::kBytes:
        threads->insts.push_back(next.id);
        threads->slots.insert(threads->slots.end(), slots_.begin(), slots_.end());
        break;
    }
  }
}

bool RegexPike::Run(absl::string_view text, size_t begin, size_t end, absl::Span<int64_t> slots) {
  num_slots_ = slots.size();
  now_.insts.clear();
  now_.slots.clear();
  bool has_match = false;
  ++mark_;
  for (size_t at = begin; at <= end; ++at) {
    if (!has_match) {
      if (can_skip_ && now_.insts.empty()) {
        while (at < end && !program_.first_bytes[static_cast<uint8_t>(text[at])]) ++at;
      }
      slots_.assign(num_slots_, -1);
      slots_[0] = static_cast<int64_t>(at);
      Add(&now_, program_.start, text, at);
    }
    next_.insts.clear();
    next_.slots.clear();
    ++mark_;
    for (size_t i = 0; i < now_.insts.size(); ++i) {
      const RegexInst& inst = program_.insts[static_cast<size_t>(now_.insts[i])];
      const int64_t* const own = now_.slots.data() + i * num_slots_;
      if (inst.kind == RegexInst::Kind::kMatch) {
        std::copy(own, own + num_slots_, slots.begin());
        slots[1] = static_cast<int64_t>(at);
        has_match = true;
        break;  // Those after it are less preferred.
      }
      if (at == end) continue;
      const int32_t out = program_.Step(inst, static_cast<uint8_t>(text[at]));
      if (out < 0) continue;
      slots_.assign(own, own + num_slots_);
      Add(&next_, out, text, at + 1);
    }
    std::swap(now_, next_);
    if (now_.insts.empty() && has_match) break;
  }
  return has_match;
}

}  // namespace sluice

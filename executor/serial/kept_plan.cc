#include "executor/serial/kept_plan.h"

#include <algorithm>

#include "executor/serial/register_plan.h"

namespace sluice {

KeptPlan::KeptPlan(const SerialCode& code) : code_(code), segments_(*code.segments()) {
  index_of_.assign(code.num_values(), -1);
  of_segments_.resize(static_cast<size_t>(segments_.num_segments()));
  of_stops_.resize(segments_.stops().size());
  FindValues();
  FindReads();
  for (Value& value : values_) FindEnd(value);
  AssignSlots();
}

// Calls `visit(step, position, segment, stop)` for all steps in order; `stop` is that of a start, or -1.
template <typename Visit>
void KeptPlan::VisitSteps(Visit&& visit) const {
  const absl::Span<const int32_t> begins = code_.segment_begins();
  for (int32_t segment = 0; segment < segments_.num_segments(); ++segment) {
    for (int32_t at = begins[static_cast<size_t>(segment)]; at < begins[static_cast<size_t>(segment) + 1]; ++at) {
      const SerialStep& step = code_.steps()[static_cast<size_t>(at)];
      visit(step, at, segment, step.op == SerialOp::kStart ? segments_.stop_of(step.node) : -1);
    }
  }
}

void KeptPlan::FindValues() {
  const SerialStructure& s = code_.structure();
  struct Definition {
    int32_t segment = -1, stop = -1;
    GuardId guard = kAlways;
    bool is_kept = false;
  };
  std::vector<Definition> definitions(code_.num_values());
  for (const NodeId id : s.order()) {
    if (s.role(id) == SerialRole::kArg && s.guard(id) != kNever) {
      definitions[static_cast<size_t>(s.value({id, 0}))].segment = 0;
    }
  }
  std::vector<int32_t> kept;
  VisitSteps([&](const SerialStep& step, int32_t, int32_t segment, int32_t stop) {
    RegisterPlan::VisitReads(code_, step, [&](int32_t value) {
      Definition& definition = definitions[static_cast<size_t>(value)];
      if (code_.Constant(value) != nullptr || definition.is_kept) return;
      if (stop < 0 && definition.segment == segment) return;
      definition.is_kept = true;
      kept.push_back(value);
    });
    RegisterPlan::VisitDefinitions(code_, step, [&](int32_t value) {
      Definition& definition = definitions[static_cast<size_t>(value)];
      if (definition.segment >= 0) return;
      definition = {segment, stop, RegisterPlan::GuardOfDefinition(code_, step), stop >= 0};
      if (stop >= 0) kept.push_back(value);
    });
  });
  for (const int32_t value : kept) {
    const Definition& definition = definitions[static_cast<size_t>(value)];
    values_.emplace_back();
    values_.back().value = value;
    values_.back().segment = definition.segment;
    values_.back().stop = definition.stop;
    values_.back().guard = definition.guard;
  }
  std::stable_sort(values_.begin(), values_.end(),
                   [](const Value& a, const Value& b) { return a.segment < b.segment; });
  for (size_t i = 0; i < values_.size(); ++i) {
    index_of_[static_cast<size_t>(values_[i].value)] = static_cast<int32_t>(i);
  }
}

void KeptPlan::FindReads() {
  VisitSteps([&](const SerialStep& step, int32_t position, int32_t segment, int32_t stop) {
    RegisterPlan::VisitReads(code_, step, [&](int32_t value) {
      const int32_t index = index_of_[static_cast<size_t>(value)];
      if (index < 0) return;
      // Those of this segment came last: others may be a great many.
      std::vector<Read>& reads = values_[static_cast<size_t>(index)].reads;
      for (size_t i = reads.size(); i-- > 0 && reads[i].segment == segment;) {
        if (reads[i].stop != stop) continue;
        reads[i].is_twice = reads[i].position == position;
        reads[i].position = position;
        return;
      }
      reads.push_back({segment, stop, position, false});
    });
  });
}

bool KeptPlan::EndsInSegment(const Value& value) const {
  int32_t last = -1;
  for (const Read& read : value.reads) {
    if (read.stop < 0) last = std::max(last, read.segment);
  }
  if (last < 0) return false;
  return std::all_of(value.reads.begin(), value.reads.end(), [&](const Read& read) {
    if (read.stop >= 0) return segments_.IsBefore(read.stop, last);
    return read.segment == last || segments_.Precedes(read.segment, last);
  });
}

bool KeptPlan::EndsInCall(const Value& value) const {
  const Read* call = nullptr;
  for (const Read& read : value.reads) {
    if (read.stop < 0) continue;
    if (call != nullptr) return false;
    call = &read;
  }
  // A call that is skipped does not consume its input.
  if (call == nullptr || call->is_twice) return false;
  if (code_.steps()[static_cast<size_t>(call->position)].guard != value.guard) return false;
  return std::all_of(value.reads.begin(), value.reads.end(), [&](const Read& read) {
    if (read.segment == call->segment) return read.position <= call->position;
    return segments_.Precedes(read.segment, call->segment);
  });
}

void KeptPlan::FindEnd(Value& value) {
  // References own nothing; a value without readers is dropped when its call has ended.
  if (code_.IsRef(value.value) || value.reads.empty()) return;
  if (EndsInSegment(value)) {
    value.ends = Ends::kInSegment;
  } else if (EndsInCall(value)) {
    value.ends = Ends::kInCall;
  } else {
    value.ends = Ends::kCounted;
  }
}

bool KeptPlan::HasEndedBefore(const Value& value, int32_t segment) const {
  if (value.segment == segment || (value.stop >= 0 && !segments_.IsBefore(value.stop, segment))) return false;
  if (!segments_.Precedes(value.segment, segment)) return false;
  // The last first, which is the least likely to have ended.
  return std::all_of(value.reads.rbegin(), value.reads.rend(), [&](const Read& read) {
    if (read.stop >= 0) return segments_.IsBefore(read.stop, segment);
    return segments_.Precedes(read.segment, segment);
  });
}

void KeptPlan::AssignSlots() {
  // Tries the slots whose values ended earliest first.
  constexpr size_t kMaxTries = 64;
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& value = values_[i];
    for (size_t slot = 0; slot < std::min(slots_.size(), kMaxTries) && value.slot < 0; ++slot) {
      if (HasEndedBefore(values_[static_cast<size_t>(slots_[slot])], value.segment)) {
        value.slot = static_cast<int32_t>(slot);
      }
    }
    if (value.slot < 0) {
      value.slot = static_cast<int32_t>(slots_.size());
      slots_.push_back(0);
    }
    slots_[static_cast<size_t>(value.slot)] = static_cast<int32_t>(i);
    if (value.ends != Ends::kCounted) continue;
    const Drop drop{value.slot, static_cast<int32_t>(counters_.size())};
    counters_.push_back(static_cast<int32_t>(value.reads.size()));
    for (const Read& read : value.reads) {
      std::vector<std::vector<Drop>>& of = read.stop >= 0 ? of_stops_ : of_segments_;
      of[static_cast<size_t>(read.stop >= 0 ? read.stop : read.segment)].push_back(drop);
    }
  }
}

}  // namespace sluice

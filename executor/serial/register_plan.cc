#include "executor/serial/register_plan.h"

#include <algorithm>
#include <utility>

#include "graph/base/hash_table.h"

namespace sluice {
namespace {

constexpr GuardId kNoneYet{-1};
constexpr GuardId kSeveral{-2};

}  // namespace

RegisterPlan::RegisterPlan(const SerialCode& code) : code_(code) {
  if (code.segments() != nullptr) kept_.emplace(code);
  lives_.resize(code.num_values());
  registers_.assign(code.num_values(), -1);
  FindLives();
  FindEnds();
  AssignRegisters();
  // Data that only planning needs; it lives until the program is written.
  std::vector<Life>().swap(lives_);
  std::vector<int32_t>().swap(loop_of_);
}

GuardId RegisterPlan::GuardOfDefinition(const SerialCode& code, const SerialStep& step) {
  const SerialStructure& s = code.structure();
  const bool calls = step.op == SerialOp::kCompute || step.op == SerialOp::kStart;
  const bool is_merge = !calls && step.node.valid() && s.role(step.node) == SerialRole::kMerge;
  return is_merge ? s.output_guard({step.node, 0}) : step.guard;
}

void RegisterPlan::Define(int32_t value, int32_t step, int32_t loop, GuardId guard) {
  Life& life = lives_[static_cast<size_t>(value)];
  if (life.begin != -2) return;
  life.begin = step;
  life.loop = loop;
  life.guard = guard;
}

void RegisterPlan::FindLives() {
  const SerialStructure& s = code_.structure();
  for (const NodeId id : s.order()) {
    if (s.role(id) == SerialRole::kArg && s.guard(id) != kNever) Define(s.value({id, 0}), -1, 0, kAlways);
  }
  loops_.push_back({});
  loop_of_.reserve(code_.steps().size());
  int32_t current = 0;
  int32_t position = 0;
  for (const SerialStep& step : code_.steps()) {
    if (step.op == SerialOp::kLoop) {
      loops_.push_back({current, step.a, position, -1});
      current = static_cast<int32_t>(loops_.size()) - 1;
    } else if (step.op == SerialOp::kEnd) {
      loops_[static_cast<size_t>(current)].end = position;
      current = loops_[static_cast<size_t>(current)].parent;
    }
    loop_of_.push_back(current);
    const GuardId guard = GuardOfDefinition(code_, step);
    VisitDefinitions(code_, step, [&](int32_t value) { Define(value, position, current, guard); });
    ++position;
  }
}

// The life reaches `step`, and the end of every loop around it that the value comes into from outside.
void RegisterPlan::Touch(Life& life, int32_t step, int32_t loop) const {
  int32_t end = step;
  for (; loop != life.loop && loop > 0; loop = loops_[static_cast<size_t>(loop)].parent) {
    end = std::max(end, loops_[static_cast<size_t>(loop)].end);
  }
  life.end = std::max(life.end, end);
}

bool RegisterPlan::IsLast(int32_t value, Life& life, const SerialStep& step, int32_t loop, bool is_repeated) const {
  const SerialStructure& s = code_.structure();
  const bool none_later =
      life.later == kNoneYet || (life.later != kSeveral && s.guards().Excludes(life.later, step.guard));
  life.later = life.later == kNoneYet || life.later == step.guard ? step.guard : kSeveral;
  if (is_repeated || !none_later || code_.IsRef(value)) return false;
  if (IsKept(value)) {
    if (step.op == SerialOp::kStart) return kept_->EndsInCall(value);
    if (!kept_->EndsInSegment(value)) return false;
  }
  if (loop == life.loop) return true;
  // A loop variable, read in the part of the body after which it is overwritten.
  const int32_t frame =
      static_cast<size_t>(value) < s.values().size() ? s.values()[static_cast<size_t>(value)].carried_by : -1;
  if (frame <= 0 || !life.is_redefined || loops_[static_cast<size_t>(loop)].frame != frame) return false;
  return s.guards().Contains(step.guard, {s.loops()[static_cast<size_t>(frame)].condition, 1});
}

void RegisterPlan::FindEnds() {
  std::vector<int32_t> read_at(lives_.size(), -1), repeated_at(lives_.size(), -1);
  std::vector<bool> reversed;
  std::vector<int32_t> reads;
  const absl::Span<const SerialStep> steps = code_.steps();
  for (int32_t position = static_cast<int32_t>(steps.size()); position-- > 0;) {
    const SerialStep& step = steps[static_cast<size_t>(position)];
    const int32_t loop = loop_of_[static_cast<size_t>(position)];
    VisitDefinitions(code_, step, [&](int32_t value) {
      Life& life = lives_[static_cast<size_t>(value)];
      Touch(life, position, loop);
      life.is_touched = true;
      // Reads before this definition read another value.
      if (position == life.begin) return;
      life.later = kNoneYet;
      life.is_redefined = true;
    });
    reads.clear();
    RegisterPlan::VisitReads(code_, step, [&](int32_t value) {
      reads.push_back(value);
      int32_t& at = read_at[static_cast<size_t>(value)];
      if (at == position) repeated_at[static_cast<size_t>(value)] = position;
      at = position;
    });
    for (size_t i = reads.size(); i-- > 0;) {
      const int32_t value = reads[i];
      Life& life = lives_[static_cast<size_t>(value)];
      if (code_.Constant(value) != nullptr) {
        reversed.push_back(false);
        continue;
      }
      Touch(life, position, loop);
      const bool is_predicate = step.op == SerialOp::kOpen;
      const bool is_repeated = repeated_at[static_cast<size_t>(value)] == position;
      const bool is_last = IsLast(value, life, step, loop, is_repeated || is_predicate);
      reversed.push_back(is_last);
      // Nothing to clear where the last reader always runs; predicates are scalars.
      if (!life.is_touched) {
        life.needs_clear = !is_predicate && !(is_last && step.guard == life.guard && loop == life.loop) &&
                           (!IsKept(value) || kept_->EndsInSegment(value));
      }
      life.is_touched = true;
    }
  }
  last_reads_.assign(reversed.rbegin(), reversed.rend());
}

void RegisterPlan::End(int32_t value, int32_t after, std::vector<int32_t>* free) {
  const bool needs_clear = lives_[static_cast<size_t>(value)].needs_clear && !code_.IsRef(value);
  if (IsKept(value)) {
    if (needs_clear && kept_->EndsInSegment(value)) kept_clears_.emplace_back(after, kept_->slot_of(value));
    return;
  }
  const int32_t assigned = registers_[static_cast<size_t>(value)];
  if (needs_clear) clears_.emplace_back(after, assigned);
  free->push_back(assigned);
}

void RegisterPlan::AssignRegisters() {
  std::vector<int32_t> free;  // Registers.
  const auto take = [&](int32_t value) {
    int32_t& assigned = registers_[static_cast<size_t>(value)];
    if (assigned >= 0 || IsKept(value)) return;
    if (free.empty()) {
      assigned = num_registers_++;
    } else {
      assigned = free.back();
      free.pop_back();
    }
  };
  // Values by the step after which they end.
  const absl::Span<const SerialStep> steps = code_.steps();
  std::vector<int32_t> first_ending(steps.size() + 1, -1), next_ending(lives_.size(), -1);
  for (size_t value = 0; value < lives_.size(); ++value) {
    const Life& life = lives_[value];
    if (life.begin == -2 || (life.begin == -1 && !life.is_touched)) continue;
    if (life.begin == -1) take(static_cast<int32_t>(value));
    int32_t& first = first_ending[static_cast<size_t>(std::max(life.end, 0))];
    next_ending[value] = first;
    first = static_cast<int32_t>(value);
  }
  // Ended values wait until the text is back in the loop and at the depth of blocks where they began.
  HashMap<std::pair<int32_t, size_t>, std::vector<int32_t>> waiting;
  std::vector<size_t> depths = {0};  // Open blocks, by loop.
  for (size_t position = 0; position < steps.size(); ++position) {
    const SerialStep& step = steps[position];
    if (step.op == SerialOp::kLoop) depths.push_back(0);
    if (step.op == SerialOp::kEnd) depths.pop_back();
    if (step.op == SerialOp::kOpen) ++depths.back();
    if (step.op == SerialOp::kClose) --depths.back();
    VisitDefinitions(code_, step, take);
    const auto end = [&](int32_t value) { End(value, static_cast<int32_t>(position), &free); };
    const std::pair<int32_t, size_t> here(loop_of_[position], depths.back());
    // Depths change only where blocks and loops end.
    if (step.op == SerialOp::kClose || step.op == SerialOp::kEnd) {
      const auto found = waiting.find(here);
      if (found != waiting.end()) {
        for (const int32_t value : found->second) end(value);
        found->second.clear();
      }
    }
    for (int32_t v = first_ending[position]; v >= 0; v = next_ending[static_cast<size_t>(v)]) {
      const Life& life = lives_[static_cast<size_t>(v)];
      const std::pair<int32_t, size_t> begin(life.loop, code_.structure().guard_length(life.guard));
      if (begin == here) {
        end(v);
      } else {
        waiting[begin].push_back(v);
      }
    }
  }
}

}  // namespace sluice

#include "executor/serial/guard_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {

GuardTable::GuardTable() : sets_(2) { ids_.emplace(Set(), kAlways); }

bool GuardTable::DeclarePredicate(int32_t pred, int32_t num_ports, int32_t rank) {
  const Predicate& known = predicates_.emplace(pred, Predicate{num_ports, rank}).first->second;
  return known.num_ports == num_ports && known.rank >= rank;
}

int32_t GuardTable::RankUnder(GuardId guard) const {
  int32_t rank = 0;
  for (const GuardLiteral literal : literals(guard)) rank = std::max(rank, predicates_.at(literal.pred).rank + 1);
  return rank;
}

bool GuardTable::Before(GuardLiteral a, GuardLiteral b) const {
  const int32_t rank_a = predicates_.at(a.pred).rank, rank_b = predicates_.at(b.pred).rank;
  return rank_a != rank_b ? rank_a < rank_b : a.pred < b.pred;
}

GuardId GuardTable::Intern(Set set) {
  const auto found = ids_.find(set);
  if (found != ids_.end()) return found->second;
  const GuardId id(static_cast<int32_t>(sets_.size()));
  sets_.push_back(set);
  ids_.emplace(std::move(set), id);
  return id;
}

std::optional<GuardId> GuardTable::And(GuardId a, GuardId b) {
  if (a == b || b == kAlways) return a;
  if (a == kAlways) return b;
  if (a == kNever || b == kNever) return kNever;
  const std::pair<int32_t, int32_t> pair = std::minmax(a.value(), b.value());
  const auto found = ands_.find(pair);
  if (found != ands_.end()) return found->second;
  GuardId result = kNever;
  if (!Excludes(a, b)) {
    Set all;
    std::set_union(literals(a).begin(), literals(a).end(), literals(b).begin(), literals(b).end(),
                   std::back_inserter(all), [this](GuardLiteral x, GuardLiteral y) { return Before(x, y); });
    if (all.size() > kMaxLiterals) return std::nullopt;
    result = Intern(std::move(all));
  }
  ands_.emplace(pair, result);
  return result;
}

std::optional<GuardId> GuardTable::And(GuardId a, GuardLiteral literal) { return And(a, Intern(Set{literal})); }

std::optional<GuardId> GuardTable::Join(absl::Span<const GuardId> alternatives) {
  std::vector<GuardId> possible;
  for (const GuardId guard : alternatives) {
    if (guard != kNever) possible.push_back(guard);
  }
  if (possible.empty()) return kNever;
  if (possible.size() == 1) return possible[0];
  const absl::Span<const GuardLiteral> first = literals(possible[0]);
  // Any literal of the first may be the one that tells the alternatives apart: the innermost is tried first.
  for (size_t i = first.size(); i-- > 0;) {
    const int32_t pred = first[i].pred;
    if (static_cast<size_t>(num_ports(pred)) != possible.size()) continue;
    Set rest(first.begin(), first.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<bool> seen(possible.size());
    bool fits = true;
    for (const GuardId guard : possible) {
      Set others;
      int32_t port = -1;
      for (const GuardLiteral literal : literals(guard)) {
        if (literal.pred == pred) {
          port = literal.port;
        } else {
          others.push_back(literal);
        }
      }
      fits = fits && port >= 0 && others == rest && !seen[static_cast<size_t>(port)];
      if (!fits) break;
      seen[static_cast<size_t>(port)] = true;
    }
    if (fits) return Intern(std::move(rest));
  }
  return std::nullopt;
}

bool GuardTable::Excludes(GuardId a, GuardId b) const {
  if (a == kNever || b == kNever) return true;
  for (const GuardLiteral x : literals(a)) {
    for (const GuardLiteral y : literals(b)) {
      if (x.pred == y.pred && x.port != y.port) return true;
    }
  }
  return false;
}

bool GuardTable::Contains(GuardId guard, GuardLiteral literal) const {
  const absl::Span<const GuardLiteral> all = literals(guard);
  return std::find(all.begin(), all.end(), literal) != all.end();
}

}  // namespace sluice

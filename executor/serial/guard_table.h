#ifndef SLUICE_EXECUTOR_SERIAL_GUARD_TABLE_H_
#define SLUICE_EXECUTOR_SERIAL_GUARD_TABLE_H_

// Note [Guards]
// A node after Switches runs only when each of them sent its value there. Its guard is the conjunction of literals
// (predicate, port) that says so: the union of the guards of all its inputs, data and control alike, and for an output
// of a Switch one literal more. A Merge over one input for every port of a predicate undoes that literal. A guard with
// two ports of one predicate never holds. Guards count within one frame: a loop as a whole has the guard of its
// Enters. A graph whose every Merge and every loop fits this picture is structured: it can be written down as a
// program of blocks and loops (Note [Serial programs]); others are left to the propagators.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/strong_id.h"

namespace sluice {

using GuardId = StrongId<struct GuardIdTag, int32_t>;

inline constexpr GuardId kAlways{0};  // The empty conjunction.
inline constexpr GuardId kNever{1};

// Port `port` of the Switches that decide by value `pred` is taken.
struct GuardLiteral {
  int32_t pred = -1;
  int32_t port = 0;

  friend bool operator==(GuardLiteral a, GuardLiteral b) { return a.pred == b.pred && a.port == b.port; }
  friend bool operator!=(GuardLiteral a, GuardLiteral b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H state, GuardLiteral literal) {
    return H::combine(std::move(state), literal.pred, literal.port);
  }
};

// The guards of one graph, each stored once. See Note [Guards]. Not thread-safe; made for one compilation.
class GuardTable {
 public:
  static constexpr size_t kMaxLiterals = 24;  // Deeper nesting than any program has; keeps everything linear.

  GuardTable();

  // Declares that `pred` has `num_ports` ports. `rank` is RankUnder() of the guards under which its value is computed.
  // Returns false if it was declared before with another number of ports or a lower rank.
  bool DeclarePredicate(int32_t pred, int32_t num_ports, int32_t rank);
  // Returns a rank above those of all predicates of `guard`.
  int32_t RankUnder(GuardId guard) const;
  int32_t num_ports(int32_t pred) const { return predicates_.at(pred).num_ports; }

  // Returns the guard that holds when both do, or nullopt if it would be too long.
  std::optional<GuardId> And(GuardId a, GuardId b);
  std::optional<GuardId> And(GuardId a, GuardLiteral literal);
  // Returns the guard G that holds when one of `alternatives` does, if these are G with each port of one predicate
  // once, apart from those that never hold; otherwise nullopt.
  std::optional<GuardId> Join(absl::Span<const GuardId> alternatives);
  // Whether the two can never both hold.
  bool Excludes(GuardId a, GuardId b) const;
  bool Contains(GuardId guard, GuardLiteral literal) const;
  // The number of guards; ids are smaller.
  size_t size() const { return sets_.size(); }
  // In the order in which blocks are opened: a predicate computed in a block comes after that block's.
  absl::Span<const GuardLiteral> literals(GuardId guard) const { return sets_[static_cast<size_t>(guard.value())]; }

 private:
  struct Predicate {
    int32_t num_ports = 0;
    int32_t rank = 0;  // Above those of all predicates that it is computed under.
  };
  using Set = std::vector<GuardLiteral>;

  bool Before(GuardLiteral a, GuardLiteral b) const;
  GuardId Intern(Set set);

  HashMap<int32_t, Predicate> predicates_;
  std::vector<Set> sets_;
  HashMap<Set, GuardId> ids_;
  HashMap<std::pair<int32_t, int32_t>, GuardId> ands_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SERIAL_GUARD_TABLE_H_

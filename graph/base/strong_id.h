#ifndef SLUICE_GRAPH_BASE_STRONG_ID_H_
#define SLUICE_GRAPH_BASE_STRONG_ID_H_

// Integers that cannot be mistaken for one another: a NodeId is neither a StepId nor a count.

#include <cstdint>
#include <ostream>
#include <utility>

namespace sluice {

// An index or a number with a type of its own. A value type as cheap as its Rep: no check, no conversion, literal in
// constant expressions. A default-made one is invalid (-1). Compares, hashes (std and Abseil containers) and prints
// as its value.
//
//   using QueueId = StrongId<struct QueueIdTag, int32_t>;
//   QueueId first(0);
//   queues[static_cast<size_t>(first.value())];
template <typename Tag, typename Rep>
class StrongId {
 public:
  using rep = Rep;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }
  constexpr bool valid() const { return value_ >= Rep{0}; }

  // The next one, for walks over all ids of a kind.
  constexpr StrongId& operator++() {
    ++value_;
    return *this;
  }

  friend constexpr bool operator==(StrongId a, StrongId b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(StrongId a, StrongId b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(StrongId a, StrongId b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(StrongId a, StrongId b) { return a.value_ > b.value_; }
  friend constexpr bool operator<=(StrongId a, StrongId b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>=(StrongId a, StrongId b) { return a.value_ >= b.value_; }

  template <typename H>
  friend H AbslHashValue(H state, StrongId id) {
    return H::combine(std::move(state), id.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << id.value_; }

 private:
  Rep value_ = Rep{-1};
};

// A node of one Graph; dense, so that arrays can be indexed by it.
using NodeId = StrongId<struct NodeIdTag, int32_t>;
// One run of a session.
using StepId = StrongId<struct StepIdTag, int64_t>;

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_STRONG_ID_H_

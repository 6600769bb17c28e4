#ifndef SLUICE_EXECUTOR_DATAFLOW_NODE_COST_H_
#define SLUICE_EXECUTOR_DATAFLOW_NODE_COST_H_

#include <algorithm>
#include <cstdint>

namespace sluice {

// How long recent calls of a node's kernel took, and how many bytes their inputs had. A value type of 8 bytes, read and
// written as a whole; zero before the first call.
// Aligned as its size, so that every compiler loads and stores it whole, without calls into libatomic.
struct alignas(8) NodeCost {
  static constexpr uint32_t kMaxNs = 1'000'000'000;

  uint32_t ns;
  uint32_t input_bytes;  // Cut off at 4 GiB.

  bool is_known() const { return ns != 0; }
  // Whether `bytes` of inputs are too many for these figures to predict a call's time. Small inputs never are.
  bool IsOutgrownBy(uint32_t bytes) const { return bytes / 2 > std::max(input_bytes, kSmallBytes); }
  // How long a call with `bytes` of inputs may take: scaled up in proportion to more bytes, but never down, because not
  // every kernel's time depends on the bytes.
  uint32_t Expected(uint32_t bytes) const {
    if (!IsOutgrownBy(bytes)) return ns;
    const uint64_t scaled = uint64_t{ns} * bytes / std::max(input_bytes, kSmallBytes);
    return static_cast<uint32_t>(std::min<uint64_t>(scaled, kMaxNs));
  }
  // Returns the figures after one more call: a mean of recent calls, or only the new call if its inputs outgrow the
  // others.
  NodeCost With(int64_t call_ns, uint32_t bytes) const {
    const uint64_t now = static_cast<uint64_t>(std::clamp<int64_t>(call_ns, 1, kMaxNs));
    if (!is_known() || IsOutgrownBy(bytes)) return {static_cast<uint32_t>(now), bytes};
    return {static_cast<uint32_t>((7 * uint64_t{ns} + now) / 8),
            static_cast<uint32_t>((7 * uint64_t{input_bytes} + bytes) / 8)};
  }

 private:
  static constexpr uint32_t kSmallBytes = 1024;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_NODE_COST_H_

#ifndef SLUICE_TESTS_FUZZ_FUZZ_COUNTS_H_
#define SLUICE_TESTS_FUZZ_FUZZ_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Counts of what a fuzzer has done so far. Plain atomics without pointers: it lies in memory that the process which
// fuzzes shares with the one that watches it, so that a crash loses none of it. Relaxed: counts publish nothing.
struct FuzzCounts {
  static constexpr size_t kMaxOps = 2048;
  static constexpr size_t kMaxCodes = 10'000;
  using Count = std::atomic<uint64_t>;

  // Inputs executed; with a graph those that passed import, that one signature at least was prepared of, that reached
  // a run, and one of whose runs ended well.
  Count executions{0}, imported{0}, prepared{0}, reached_run{0}, ran_ok{0};
  Count runs{0}, runs_ok{0};  // Steps: several an input.
  // Inputs to which gradients or a training step could be added, whose runs then ended well, and those that have none.
  Count differentiated{0}, gradients_ok{0}, gradients_refused{0};
  Count converted{0};                     // Inputs that went to binary and text and back.
  Count internal_errors{0};               // Steps that ended with INTERNAL or UNKNOWN: no input should see these.
  Count differences{0};                   // Inputs on which the drivers gave different values.
  Count rejected{0};                      // Inputs of file fuzzers that were refused.
  std::array<Count, kMaxOps> op_calls{};  // By number of the op in BuiltinOps(): kernel calls seen.
  std::array<Count, kMaxCodes> codes{};   // By number of the error code.

  static void Add(Count& count, uint64_t n = 1) { count.fetch_add(n, std::memory_order_relaxed); }
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_COUNTS_H_

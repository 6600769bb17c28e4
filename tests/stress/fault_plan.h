#ifndef SLUICE_TESTS_STRESS_FAULT_PLAN_H_
#define SLUICE_TESTS_STRESS_FAULT_PLAN_H_

#include <atomic>
#include <cstdint>

#include "graph/value/allocator.h"

namespace sluice {

// What goes wrong in a step.
enum class Fault : uint8_t {
  kNone,
  kAllocation,     // An allocation of tensor memory gives nothing.
  kError,          // A kernel fails.
  kThrow,          // A kernel throws a std::exception.
  kThrowBadAlloc,  // A kernel throws std::bad_alloc.
  kThrowOther,     // A kernel throws an object that is not a std::exception.
  kThrowInShard,   // A shard of a kernel's ParallelFor throws, on whatever thread it is.
  kDroppedDone,    // An asynchronous kernel drops its callback.
  kCancel,         // Another thread cancels the step.
  kDeadline,       // The step has hardly any time.
};
inline constexpr int kNumFaults = 10;
const char* FaultName(Fault fault);

// One fault, to befall the n-th chance that there is for it. Thread-safe.
class FaultPlan {
 public:
  // REQUIRES: nothing that asks Strikes() runs.
  void Arm(Fault fault, int64_t chances_before) {
    fault_ = fault;
    left_ = chances_before;
    has_struck_ = false;
  }
  Fault fault() const { return fault_; }
  // A chance for `fault`: whether it strikes now. At most once after Arm.
  bool Strikes(Fault fault) {
    if (fault_.load(std::memory_order_relaxed) != fault || left_.fetch_sub(1) != 0) return false;
    has_struck_ = true;
    return true;
  }
  bool has_struck() const { return has_struck_; }

 private:
  std::atomic<Fault> fault_{Fault::kNone};
  std::atomic<int64_t> left_{0};
  std::atomic<bool> has_struck_{false};
};

// The host allocator, counted, whose memory runs out when the plan says so. Borrows the plan. Thread-safe.
class FaultyAllocator final : public Allocator {
 public:
  explicit FaultyAllocator(FaultPlan* plan) : plan_(*plan) {}

  absl::string_view name() const override { return "faulty"; }
  void* Allocate(size_t bytes, StreamTag stream) override {
    if (plan_.Strikes(Fault::kAllocation)) return nullptr;
    live_.fetch_add(1, std::memory_order_relaxed);
    return HostAllocator().Allocate(bytes, stream);
  }
  void Free(void* data, size_t bytes, StreamTag stream) override {
    live_.fetch_sub(1, std::memory_order_relaxed);
    HostAllocator().Free(data, bytes, stream);
  }
  // Blocks not given back.
  int64_t live() const { return live_.load(std::memory_order_relaxed); }

 private:
  FaultPlan& plan_;
  std::atomic<int64_t> live_{0};  // Relaxed: read when everything is at rest.
};

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_FAULT_PLAN_H_

#ifndef SLUICE_TESTS_STRESS_SOAK_COUNTS_H_
#define SLUICE_TESTS_STRESS_SOAK_COUNTS_H_

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "graph/base/cancellation.h"

namespace sluice {

// How the runs of a soak ended. One thread's.
struct SoakCounts {
  int64_t graphs = 0, runs = 0, finished = 0, cancelled = 0, late = 0, wrong = 0;
};

// What befalls one run: nothing, a deadline, or a cancellation by another thread, after a random while.
class Mishap {
 public:
  explicit Mishap(std::mt19937& random) : kind_(random() % 4), after_us_(static_cast<int64_t>(random() % 300)) {
    if (kind_ == 1) deadline_ = absl::Now() + absl::Microseconds(after_us_);
    if (kind_ != 2) return;
    canceller_ = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::microseconds(after_us_));
      cancellation_.StartCancel();
    });
  }
  ~Mishap() { End(); }

  absl::Time deadline() const { return deadline_; }
  CancellationManager& cancellation() { return cancellation_; }
  // The run is over: waits for the canceller.
  void End() {
    if (canceller_.joinable()) canceller_.join();
  }
  // Counts a run that ended like this, whose answer, where there is one, `is_right`. False: it is wrong.
  bool Count(const absl::Status& status, bool is_right, SoakCounts* counts) const {
    ++counts->runs;
    if (kind_ == 1 && status.code() == absl::StatusCode::kDeadlineExceeded) {
      ++counts->late;
    } else if (kind_ == 2 && status.code() == absl::StatusCode::kCancelled) {
      ++counts->cancelled;
    } else if (is_right) {
      ++counts->finished;
    } else {
      ++counts->wrong;
      return false;
    }
    return true;
  }

 private:
  const uint32_t kind_;
  const int64_t after_us_;
  absl::Time deadline_ = absl::InfiniteFuture();
  CancellationManager cancellation_;
  std::thread canceller_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_SOAK_COUNTS_H_

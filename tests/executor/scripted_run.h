#ifndef SLUICE_TESTS_EXECUTOR_SCRIPTED_RUN_H_
#define SLUICE_TESTS_EXECUTOR_SCRIPTED_RUN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "executor/executor.h"
#include "executor/scheduler.h"
#include "gtest/gtest.h"
#include "kernels/run_context.h"

namespace sluice {

// Calls of any run that this thread is in.
inline thread_local int calls_on_stack = 0;

// A run by script: a number of calls are ready, and each that ends makes others ready. Owns itself until Finish.
class ScriptedRun final : public Scheduler::Client {
 public:
  struct Script {
    int num_calls = 1;  // In all.
    int first = 1;      // Ready at the start; each call that ends makes `next` more ready.
    int next = 1;
    uint32_t cost_ns = 10'000;  // Of each call.
    int64_t node_ns = 0;        // Work with the baton for each call that is made ready.
    // What call `i` does. False: it will be ended by End(i).
    std::function<bool(int i)> call = [](int) { return true; };
    std::function<void(absl::Status)> done = [](absl::Status) {};
    std::function<void(int i)> on_node = [](int) {};  // With the baton.
  };

  ScriptedRun(Script script, const Executor::Args& args)
      : script_(std::move(script)), scheduler_(MakeCounted<Scheduler>(this, args)), ready_(script_.first) {
    for (int i = 0; i < script_.num_calls; ++i) calls_.push_back(std::make_unique<NodeCall>(run_));
  }

  Scheduler& scheduler() { return *scheduler_; }
  int num_ended() const { return num_ended_; }
  // Ends a call that has been begun, on any thread.
  void End(int i) { scheduler_->CallEnded(calls_[static_cast<size_t>(i)].get()); }

  Scheduler::Progress RunWithBaton() noexcept override {
    if (holders_.fetch_add(1) > 0) ADD_FAILURE() << "two threads hold the baton";
    const Scheduler::Progress progress = DoRunWithBaton();
    return progress;
  }
  bool RunCall(NodeCall& call) noexcept override {
    if (++calls_on_stack > 1) ADD_FAILURE() << "a call runs inside of a call";
    const bool has_ended = script_.call(IndexOf(call));
    --calls_on_stack;
    return has_ended;
  }
  void Finish() noexcept override {
    EXPECT_EQ(calls_on_stack, 0) << "`done` is called inside of a call";
    EXPECT_FALSE(is_finished_.exchange(true));
    const absl::Status status = scheduler_->status().status();
    auto done = std::move(script_.done);
    done(status);
  }

 private:
  int IndexOf(const NodeCall& call) const {
    int i = 0;
    while (calls_[static_cast<size_t>(i)].get() != &call) ++i;
    return i;
  }
  Scheduler::Progress DoRunWithBaton() {
    for (;;) {
      for (NodeCall* call = scheduler_->inbox().Drain(); call != nullptr;) {
        NodeCall* const next = call->next;
        ++num_ended_;
        --num_under_way_;
        ready_ += script_.next;
        call = next;
      }
      while (ready_ > 0) {
        --ready_;
        if (num_begun_ == script_.num_calls || scheduler_->status().MustStop()) continue;
        NodeCall& call = *calls_[static_cast<size_t>(num_begun_)];
        script_.on_node(num_begun_++);
        call.cost_ns = script_.cost_ns;
        ++num_under_way_;
        scheduler_->Queue(&call);
        scheduler_->SpendTurn(script_.node_ns);
        if (scheduler_->IsTurnOver()) {
          holders_.fetch_sub(1);
          return Scheduler::Progress::kTurnOver;
        }
      }
      if (!scheduler_->inbox().empty()) continue;
      if (num_under_way_ == 0) return Scheduler::Progress::kOver;
      scheduler_->WakeHelpers(false);
      holders_.fetch_sub(1);
      if (scheduler_->inbox().Release()) return Scheduler::Progress::kWaiting;
      holders_.fetch_add(1);
    }
  }

  Script script_;
  const RunContext run_;
  std::vector<std::unique_ptr<NodeCall>> calls_;
  const CountedPtr<Scheduler> scheduler_;
  std::atomic<int> holders_{0};
  std::atomic<bool> is_finished_{false};
  // The baton holder's.
  int ready_, num_begun_ = 0, num_under_way_ = 0, num_ended_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_SCRIPTED_RUN_H_

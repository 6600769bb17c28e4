#include "executor/call_inbox.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/run_context.h"

namespace sluice {
namespace {

class CallInboxTest : public ::testing::Test {
 protected:
  NodeCall* NewCall() {
    calls_.push_back(std::make_unique<NodeCall>(run_));
    return calls_.back().get();
  }
  // The contents of the inbox, as indices of calls.
  std::vector<size_t> Drain() {
    std::vector<size_t> drained;
    for (NodeCall* call = inbox_.Drain(); call != nullptr; call = call->next) {
      size_t i = 0;
      while (calls_[i].get() != call) ++i;
      drained.push_back(i);
    }
    return drained;
  }

  const RunContext run_;
  std::vector<std::unique_ptr<NodeCall>> calls_;
  CallInbox inbox_;
};

TEST_F(CallInboxTest, TheMakerHoldsTheBaton) {
  EXPECT_TRUE(inbox_.empty());
  EXPECT_EQ(inbox_.Drain(), nullptr);
  EXPECT_FALSE(inbox_.Push(NewCall())) << "the holder will see it";
  EXPECT_FALSE(inbox_.empty());
  EXPECT_EQ(Drain(), std::vector<size_t>{0});
  EXPECT_TRUE(inbox_.empty());
}

TEST_F(CallInboxTest, CallsComeOutOldestFirstAndOnce) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(inbox_.Push(NewCall()));
  EXPECT_EQ(Drain(), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(Drain(), std::vector<size_t>());
  EXPECT_FALSE(inbox_.Push(NewCall()));
  EXPECT_EQ(Drain(), std::vector<size_t>{4});
}

TEST_F(CallInboxTest, AFreeBatonGoesToTheOneThatPushes) {
  ASSERT_TRUE(inbox_.Release());
  EXPECT_TRUE(inbox_.Push(NewCall())) << "the baton is the pusher's";
  EXPECT_FALSE(inbox_.Push(NewCall()));
  EXPECT_EQ(Drain(), (std::vector<size_t>{0, 1}));
}

TEST_F(CallInboxTest, TheBatonStaysWhereACallHasCome) {
  inbox_.Push(NewCall());
  EXPECT_FALSE(inbox_.Release());
  EXPECT_EQ(Drain(), std::vector<size_t>{0});
  EXPECT_TRUE(inbox_.Release());
}

// Threads push; each that gets the baton drains. No call is lost or seen twice, and no two hold the baton.
TEST_F(CallInboxTest, ManyThreadsHandTheBatonOn) {
  constexpr int kThreads = 4, kCalls = 2000;
  std::vector<std::vector<std::unique_ptr<NodeCall>>> calls(kThreads);
  for (auto& of_thread : calls) {
    for (int i = 0; i < kCalls; ++i) of_thread.push_back(std::make_unique<NodeCall>(run_));
  }
  int num_drained = 0;  // The holder's: no atomic.
  std::atomic<int> holders{0}, too_many{0};
  const auto hold = [&] {
    if (holders.fetch_add(1) > 0) ++too_many;
    bool is_free = false;
    while (!is_free) {
      for (NodeCall* call = inbox_.Drain(); call != nullptr; call = call->next) ++num_drained;
      holders.fetch_sub(1);
      is_free = inbox_.Release();
      if (!is_free) holders.fetch_add(1);
    }
  };
  ASSERT_TRUE(inbox_.Release());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (auto& call : calls[static_cast<size_t>(t)]) {
        if (inbox_.Push(call.get())) hold();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_drained, kThreads * kCalls);
  EXPECT_EQ(too_many, 0);
}

}  // namespace
}  // namespace sluice

// Queues without kernels: what waits, what is cancelled, and that no element is lost or given twice.

#include "kernels/queues/queue.h"

#include <atomic>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

QueueSpec Spec(const std::string& kind, int64_t capacity, int64_t min_left = 0) {
  QueueSpec spec;
  spec.kind = kind;
  spec.capacity = capacity;
  spec.types = {DType::kInt64};
  spec.shapes = {PartialShape::Scalar()};
  spec.min_after_dequeue = min_left;
  spec.seed = 3;
  spec.seed2 = 5;
  return spec;
}

std::vector<QueueElement> Numbers(const std::vector<int64_t>& numbers) {
  std::vector<QueueElement> elements;
  for (const int64_t number : numbers) elements.push_back({Tensor::Scalar(number)});
  return elements;
}

// The result of an operation, once it has ended.
struct Outcome {
  int calls = 0;
  absl::Status status;
  std::vector<int64_t> numbers;
};

class QueueTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Make(int64_t capacity, int64_t min_left = 0) {
    queue_ = MakeCounted<Queue>(Spec(GetParam(), capacity, min_left));
  }
  std::shared_ptr<Outcome> Put(const std::vector<int64_t>& numbers, CancellationManager* cancellation = nullptr) {
    auto outcome = std::make_shared<Outcome>();
    queue_->Put(Numbers(numbers), cancellation, [outcome](absl::Status status) {
      ++outcome->calls;
      outcome->status = std::move(status);
    });
    return outcome;
  }
  std::shared_ptr<Outcome> Take(int64_t count, CancellationManager* cancellation = nullptr, bool or_fewer = false) {
    auto outcome = std::make_shared<Outcome>();
    queue_->Take(count, or_fewer, cancellation, [outcome](absl::Status status, std::vector<QueueElement> elements) {
      ++outcome->calls;
      outcome->status = std::move(status);
      for (const QueueElement& element : elements) outcome->numbers.push_back(element[0].flat<int64_t>()[0]);
    });
    return outcome;
  }
  std::shared_ptr<Outcome> Close(bool cancel_pending) {
    auto outcome = std::make_shared<Outcome>();
    queue_->Close(cancel_pending, nullptr, [outcome](absl::Status status) {
      ++outcome->calls;
      outcome->status = std::move(status);
    });
    return outcome;
  }
  static std::multiset<int64_t> Sorted(const Outcome& outcome) {
    return {outcome.numbers.begin(), outcome.numbers.end()};
  }

  CountedPtr<Queue> queue_;
};

TEST_P(QueueTest, ATakerWaitsForElements) {
  Make(10);
  const auto taken = Take(2);
  Put({7});
  EXPECT_EQ(taken->calls, 0);
  Put({8, 9});
  EXPECT_EQ(taken->calls, 1);
  EXPECT_OK(taken->status);
  EXPECT_EQ(taken->numbers.size(), 2u);
  EXPECT_EQ(queue_->size(), 1);
}

TEST_P(QueueTest, APutterWaitsForRoom) {
  Make(2);
  const auto put = Put({1, 2, 3});
  EXPECT_EQ(put->calls, 0);
  EXPECT_EQ(queue_->size(), 2);
  const auto later = Put({4});
  EXPECT_EQ(Take(1)->calls, 1);
  EXPECT_EQ(put->calls, 1);
  EXPECT_EQ(later->calls, 0);  // In turn.
  EXPECT_EQ(Take(1)->calls, 1);
  EXPECT_EQ(later->calls, 1);
  EXPECT_EQ(Sorted(*Take(2)).size(), 2u);
}

TEST_P(QueueTest, MoreElementsThanThereIsRoomForGoThrough) {
  Make(GetParam() == std::string("PriorityQueue") ? 6 : 2);  // The former takes all at once.
  const auto taken = Take(6);
  const auto put = Put({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(put->calls, 1);
  EXPECT_EQ(Sorted(*taken), (std::multiset<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_P(QueueTest, WhatACancelledTakerHadTakenGoesBack) {
  Make(10);
  CancellationManager cancellation;
  const auto taken = Take(4, &cancellation);
  Put({1, 2, 3});
  const auto next = Take(2);
  EXPECT_EQ(next->calls, 0);
  cancellation.StartCancel();
  EXPECT_EQ(taken->calls, 1);
  EXPECT_THAT(taken->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(taken->numbers.empty());
  EXPECT_EQ(next->calls, 1);  // It was behind the cancelled one.
  std::multiset<int64_t> all = Sorted(*next);
  const auto last = Take(1);
  all.insert(last->numbers.begin(), last->numbers.end());
  EXPECT_EQ(all, (std::multiset<int64_t>{1, 2, 3}));
  if (GetParam() == std::string("FIFOQueue")) {
    EXPECT_EQ(next->numbers, (std::vector<int64_t>{1, 2}));
  }
}

#ifdef SLUICE_COUNTS_NEW
TEST_P(QueueTest, WhoHasNoMemoryToWaitLeavesNothingBehind) {
  int failures = 0;
  for (int64_t call = 1; call < 100; ++call) {
    Make(10);
    Put({7});
    CancellationManager cancellation;
    const auto outcome = std::make_shared<Outcome>();
    bool has_thrown = false;
    FailNewCall(call);
    try {
      queue_->Take(2, false, &cancellation,
                   [outcome](const absl::Status&, const std::vector<QueueElement>&) { ++outcome->calls; });
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    const bool has_failed = HasFailedNewCall();
    FailNewCall(0);
    EXPECT_EQ(has_thrown, has_failed) << call;
    EXPECT_EQ(outcome->calls, 0);
    EXPECT_EQ(outcome.use_count(), has_thrown ? 1 : 2) << call << ": whether it waits";
    cancellation.StartCancel();
    EXPECT_EQ(outcome->calls, has_thrown ? 0 : 1);
    EXPECT_EQ(queue_->size(), 1) << call;
    EXPECT_EQ(Take(1)->numbers, (std::vector<int64_t>{7}));
    if (!has_failed) break;
    ++failures;
  }
  EXPECT_GE(failures, 4);
}
#endif

TEST_P(QueueTest, WhoComesAfterTheCancellationDoesNotWait) {
  Make(1);
  CancellationManager cancellation;
  cancellation.StartCancel();
  EXPECT_THAT(Take(1, &cancellation)->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(Put({1}, &cancellation)->status);  // There is nothing to wait for.
  EXPECT_THAT(Put({2}, &cancellation)->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(queue_->size(), 1);
}

TEST_P(QueueTest, ClosingComesAfterThoseWhoWaitToPut) {
  Make(1);
  const auto put = Put({1, 2});
  const auto closed = Close(false);
  EXPECT_EQ(closed->calls, 0);
  EXPECT_FALSE(queue_->is_closed());
  EXPECT_EQ(Take(1)->calls, 1);
  EXPECT_OK(put->status);
  EXPECT_EQ(closed->calls, 1);
  EXPECT_THAT(Put({3})->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(Take(1)->status);
  EXPECT_THAT(Take(1)->status, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Close(false)->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(Close(true)->status);
}

TEST_P(QueueTest, ClosingCanEndThoseWhoWait) {
  Make(1);
  const auto put = Put({1, 2});
  const auto other = Close(false);
  EXPECT_OK(Close(true)->status);
  EXPECT_THAT(put->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(other->status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(put->calls, 1);
  EXPECT_EQ(queue_->size(), 1);  // Elements that were put stay.
}

TEST_P(QueueTest, AClosedQueueGivesWhatIsLeft) {
  Make(10);
  Put({1, 2, 3});
  const auto waiting = Take(5);
  Close(true);
  EXPECT_THAT(waiting->status, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(queue_->size(), 3);
  const auto fewer = Take(5, nullptr, /*or_fewer=*/true);
  if (GetParam() == std::string("PriorityQueue")) {
    EXPECT_THAT(fewer->status, StatusIs(absl::StatusCode::kOutOfRange));
  } else {
    EXPECT_EQ(Sorted(*fewer), (std::multiset<int64_t>{1, 2, 3}));
    EXPECT_THAT(Take(1, nullptr, true)->status, StatusIs(absl::StatusCode::kOutOfRange));
  }
}

TEST_P(QueueTest, TenThousandWaitWithoutAThread) {
  Make(10);
  CancellationManager cancellation;
  std::vector<std::shared_ptr<Outcome>> waiting;
  for (int i = 0; i < 10000; ++i) waiting.push_back(Take(1, &cancellation));
  std::vector<int64_t> numbers(5000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  EXPECT_OK(Put(numbers)->status);
  cancellation.StartCancel();
  for (size_t i = 0; i < waiting.size(); ++i) {
    ASSERT_EQ(waiting[i]->calls, 1);
    ASSERT_EQ(waiting[i]->status.ok(), i < 5000);
  }
}

// Threads that put, threads that take, one at a time or several, all of them cancelled at any moment: each number that
// was put is taken once, or is still there.
TEST_P(QueueTest, NothingIsLostOrTakenTwice) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  Make(5);
  std::atomic<int64_t> next{0}, ended{0}, started{0};
  Mutex mu;
  std::multiset<int64_t> taken;
  std::atomic<int64_t> put_ok{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        auto cancellation = std::make_shared<CancellationManager>();
        ++started;
        if (t % 2 == 0) {
          // One at a time: an operation that is cancelled has put nothing.
          const int64_t number = next++;
          queue_->Put(Numbers({number}), cancellation.get(), [&, cancellation](const absl::Status& status) {
            if (status.ok()) ++put_ok;
            ++ended;
          });
        } else {
          queue_->Take(1 + round % 3, false, cancellation.get(),
                       [&, cancellation](const absl::Status& status, std::vector<QueueElement> elements) {
                         EXPECT_EQ(elements.empty(), !status.ok());
                         {
                           MutexLock lock(&mu);
                           for (const QueueElement& element : elements) taken.insert(element[0].flat<int64_t>()[0]);
                         }
                         ++ended;
                       });
        }
        std::thread([cancellation, round] {
          if (round % 2 == 0) std::this_thread::yield();
          cancellation->StartCancel();
        }).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, started);
  Close(true);
  const auto rest = Take(queue_->size() > 0 ? queue_->size() : 1);
  std::multiset<int64_t> all = taken;
  all.insert(rest->numbers.begin(), rest->numbers.end());
  EXPECT_EQ(static_cast<int64_t>(all.size()), put_ok);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), all.size());
}

INSTANTIATE_TEST_SUITE_P(Kinds, QueueTest, ::testing::Values("FIFOQueue", "RandomShuffleQueue", "PriorityQueue"),
                         [](const auto& info) { return std::string(info.param); });

TEST(QueueOrderTest, PrioritiesComeInOrderAndEqualOnesAsInTensorFlow) {
  QueueSpec spec = Spec("PriorityQueue", 10);
  spec.types = {DType::kInt64, DType::kInt64};
  Queue& queue = *MakeCounted<Queue>(spec).release();
  const CountedPtr<Queue> owner = CountedPtr<Queue>::Adopt(&queue);
  std::vector<QueueElement> elements;
  const std::vector<int64_t> keys = {3, 1, 3, 1, 3, 1, 2, 2};
  for (size_t i = 0; i < keys.size(); ++i) {
    elements.push_back({Tensor::Scalar(keys[i]), Tensor::Scalar(static_cast<int64_t>(i))});
  }
  queue.Put(std::move(elements), nullptr, [](const absl::Status& status) { EXPECT_OK(status); });
  std::vector<int64_t> values;
  queue.Take(8, false, nullptr, [&](const absl::Status& status, const std::vector<QueueElement>& taken) {
    EXPECT_OK(status);
    for (const QueueElement& element : taken) values.push_back(element[1].flat<int64_t>()[0]);
  });
  EXPECT_EQ(values, (std::vector<int64_t>{1, 5, 3, 6, 7, 2, 0, 4}));  // Recorded.
}

TEST(QueueOrderTest, AShuffleHasTheOrderOfItsSeeds) {
  const CountedPtr<Queue> queue = MakeCounted<Queue>(Spec("RandomShuffleQueue", 20));
  queue->Put(Numbers({0, 1, 2, 3, 4, 5, 6, 7}), nullptr, [](const absl::Status& status) { EXPECT_OK(status); });
  std::vector<int64_t> values;
  queue->Take(8, false, nullptr, [&](const absl::Status& status, const std::vector<QueueElement>& taken) {
    EXPECT_OK(status);
    for (const QueueElement& element : taken) values.push_back(element[0].flat<int64_t>()[0]);
  });
  EXPECT_EQ(values, (std::vector<int64_t>{3, 2, 0, 6, 5, 4, 1, 7}));  // Recorded.
}

TEST(QueueOrderTest, AShuffleKeepsSomeBackUntilItIsClosed) {
  const CountedPtr<Queue> queue = MakeCounted<Queue>(Spec("RandomShuffleQueue", 20, 2));
  queue->Put(Numbers({0, 1, 2}), nullptr, [](const absl::Status& status) { EXPECT_OK(status); });
  int calls = 0;
  const auto count = [&calls](const absl::Status& status, const std::vector<QueueElement>&) {
    EXPECT_OK(status);
    ++calls;
  };
  queue->Take(1, false, nullptr, count);
  EXPECT_EQ(calls, 1);
  queue->Take(2, false, nullptr, count);
  EXPECT_EQ(calls, 1);
  queue->Close(true, nullptr, [](const absl::Status& status) { EXPECT_OK(status); });
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace sluice

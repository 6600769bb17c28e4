// A rendezvous that begins with one shard and spreads (Note [Shards of a rendezvous]): nothing is lost, doubled or out
// of order on the way.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// As many keys as have room in one shard.
constexpr int32_t kFew = static_cast<int32_t>(WaitingTable::kMaxListed);

RendezvousKey Key(int32_t edge, int64_t iteration = 0) { return {EdgeNumber(edge), 0, iteration}; }

class SpreadingTest : public ::testing::Test {
 protected:
  // What a receive was answered: how often, and the last time what.
  struct Answer {
    int count = 0;
    absl::Status status;
    int32_t value = -1;
  };

  absl::Status Send(const RendezvousKey& key, int32_t value) {
    return rendezvous_->Send(key, TransferArgs(), {Tensor::Scalar(value), false});
  }
  void Recv(const RendezvousKey& key, Answer* answer, CancellationManager* cancellation = nullptr) {
    rendezvous_->RecvAsync(
        key, TransferArgs(), cancellation,
        [answer](absl::Status status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
          ++answer->count;
          if (status.ok()) answer->value = *value.tensor.AsScalar<int32_t>();
          answer->status = std::move(status);
        });
  }
  // The value that lies under `key`, which goes.
  int32_t Take(const RendezvousKey& key) {
    Answer answer;
    Recv(key, &answer);
    EXPECT_EQ(answer.count, 1) << "nothing lies under the key";
    return answer.value;
  }
  // Lets so many keys wait that there must be several shards.
  void Spread() {
    ASSERT_FALSE(rendezvous_->has_spread());
    for (int32_t edge = 1000; !rendezvous_->has_spread(); ++edge) {
      ASSERT_LE(edge, 1000 + kFew);
      ASSERT_OK(Send(Key(edge), edge));
      spread_until_ = edge + 1;
    }
  }
  void TakeWhatSpread() {
    for (int32_t edge = 1000; edge < spread_until_; ++edge) EXPECT_EQ(Take(Key(edge)), edge);
  }

  int32_t spread_until_ = 1000;
  CountedPtr<LocalRendezvous> rendezvous_ = MakeCounted<LocalRendezvous>();
};

TEST_F(SpreadingTest, FewKeysStayInOneShardHoweverManyValuesCross) {
  for (int32_t i = 0; i < 1000; ++i) {
    for (int32_t edge = 0; edge < kFew; ++edge) ASSERT_OK(Send(Key(edge, i), i));
    for (int32_t edge = 0; edge < kFew; ++edge) ASSERT_EQ(Take(Key(edge, i)), i);
  }
  for (int32_t i = 0; i < 1000; ++i) ASSERT_OK(Send(Key(1), i));
  EXPECT_FALSE(rendezvous_->has_spread()) << "many values of one key are a queue";
  for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(Take(Key(1)), i);
}

#ifdef SLUICE_COUNTS_NEW

TEST_F(SpreadingTest, AReceiveThatWaitsHoldsLittle) {
  EdgeTable edges;
  CancellationManager cancellation;
  Answer answer;
  rendezvous_ = {};
  const int64_t before = LiveNewBytes();
  rendezvous_ = MakeCounted<LocalRendezvous>(edges);
  const int64_t made = LiveNewBytes() - before;
  Recv(Key(1), &answer, &cancellation);
  // With the manager's entry; the callback here needs no memory.
  const int64_t waiting = LiveNewBytes() - before;
  EXPECT_LE(waiting, 600);
  ASSERT_OK(Send(Key(1), 1));
  EXPECT_LE(LiveNewBytes() - before, waiting);
  RecordProperty("made", std::to_string(made));
  RecordProperty("waiting", std::to_string(waiting));
  EXPECT_EQ(answer.value, 1);
  rendezvous_ = {};
}

#endif  // SLUICE_COUNTS_NEW

TEST_F(SpreadingTest, ValuesComeInOrderThoughTheyWereSentBeforeAndAfter) {
  for (int32_t i = 0; i < 3; ++i) ASSERT_OK(Send(Key(1), i));
  Spread();
  for (int32_t i = 3; i < 6; ++i) ASSERT_OK(Send(Key(1), i));
  for (int32_t i = 0; i < 6; ++i) EXPECT_EQ(Take(Key(1)), i);
  TakeWhatSpread();
  EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
}

TEST_F(SpreadingTest, ReceivesAreAnsweredInOrderThoughTheyWereAskedForBeforeAndAfter) {
  Answer answers[6];
  for (int i = 0; i < 3; ++i) Recv(Key(1), &answers[i]);
  Spread();
  for (int i = 3; i < 6; ++i) Recv(Key(1), &answers[i]);
  for (int32_t i = 0; i < 6; ++i) {
    ASSERT_OK(Send(Key(1), i));
    EXPECT_EQ(answers[i].count, 1);
    EXPECT_EQ(answers[i].value, i);
  }
  TakeWhatSpread();
}

TEST_F(SpreadingTest, ACancellationEndsReceivesOfBeforeAndAfterAndNoOthers) {
  CancellationManager cancelled, other;
  Answer before[2], after[20], left[2];
  Recv(Key(1), &before[0], &cancelled);
  Recv(Key(1), &left[0], &other);
  Recv(Key(2), &before[1], &cancelled);
  Spread();
  for (int32_t i = 0; i < 20; ++i) Recv(Key(i), &after[i], &cancelled);
  Recv(Key(1), &left[1], &other);
  cancelled.StartCancel();
  for (const Answer& answer : before) EXPECT_THAT(answer.status, IsError(ErrorCode::kReceiveCancelled));
  for (const Answer& answer : after) EXPECT_THAT(answer.status, IsError(ErrorCode::kReceiveCancelled));
  ASSERT_OK(Send(Key(1), 7));
  ASSERT_OK(Send(Key(1), 8));
  EXPECT_EQ(left[0].value, 7);
  EXPECT_EQ(left[1].value, 8);
  for (const Answer& answer : before) EXPECT_EQ(answer.count, 1);
  TakeWhatSpread();
}

TEST_F(SpreadingTest, AnAbortReachesEveryShard) {
  Answer before, after[20];
  Recv(Key(1), &before);
  Spread();
  for (int32_t i = 0; i < 20; ++i) Recv(Key(i), &after[i]);
  rendezvous_->StartAbort(absl::AbortedError("over"));
  EXPECT_THAT(before.status, StatusIs(absl::StatusCode::kAborted, "over"));
  for (const Answer& answer : after) EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kAborted, "over"));
  EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
  for (int32_t i = 0; i < 20; ++i) EXPECT_THAT(Send(Key(i), i), StatusIs(absl::StatusCode::kAborted));
  ASSERT_TRUE(rendezvous_->Clear());
  for (int32_t i = 0; i < 20; ++i) ASSERT_OK(Send(Key(i), i));
  for (int32_t i = 0; i < 20; ++i) EXPECT_EQ(Take(Key(i)), i);
  EXPECT_EQ(before.count, 1);
}

TEST_F(SpreadingTest, AfterAnAbortNothingSpreads) {
  rendezvous_->StartAbort(absl::AbortedError("over"));
  Answer answers[3 * kFew];
  for (int32_t i = 0; i < 3 * kFew; ++i) Recv(Key(i), &answers[i]);
  for (const Answer& answer : answers) EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kAborted, "over"));
  EXPECT_FALSE(rendezvous_->has_spread());
}

TEST_F(SpreadingTest, ReportsCountEveryShard) {
  Answer first;
  Recv(Key(1), &first);
  Spread();
  const size_t spread = static_cast<size_t>(spread_until_ - 1000);
  EXPECT_EQ(rendezvous_->num_waiting_keys(), 1 + spread);
  EXPECT_EQ(rendezvous_->WaitingReceives(100), std::vector<RendezvousKey>{Key(1)});
  EXPECT_EQ(rendezvous_->WaitingSends(100).size(), spread);
  EXPECT_EQ(rendezvous_->WaitingSends(2).size(), 2u);
  rendezvous_ = {};
  EXPECT_THAT(first.status, StatusIs(absl::StatusCode::kCancelled)) << "destruction ends it";
}

// Sends, receives and cancellations in any order, against queues: each receive gets what the queue says.
TEST_F(SpreadingTest, AnyOrderOfSendsReceivesAndCancellationsGivesWhatQueuesGive) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    rendezvous_ = MakeCounted<LocalRendezvous>();
    std::deque<CancellationManager> managers(3);
    std::map<int32_t, std::deque<int32_t>> values;
    std::map<int32_t, std::deque<std::pair<Answer*, size_t>>> waiting;  // With the number of their manager.
    std::deque<Answer> answers;
    const int32_t num_keys = 1 + static_cast<int32_t>(random() % 12);
    for (int32_t step = 0; step < 200; ++step) {
      const int32_t edge = static_cast<int32_t>(random() % static_cast<unsigned>(num_keys));
      const unsigned act = random() % 20;
      if (act == 0) {
        const size_t which = random() % managers.size();
        managers[which].StartCancel();
        for (auto& [key, queue] : waiting) {
          for (auto at = queue.begin(); at != queue.end();) {
            if (at->second != which) {
              ++at;
              continue;
            }
            ASSERT_EQ(at->first->count, 1);
            ASSERT_FALSE(at->first->status.ok());
            at = queue.erase(at);
          }
        }
        managers.emplace_back();  // For later ones.
        continue;
      }
      if (act < 10) {
        ASSERT_OK(Send(Key(edge), step));
        if (waiting[edge].empty()) {
          values[edge].push_back(step);
        } else {
          ASSERT_EQ(waiting[edge].front().first->value, step);
          waiting[edge].pop_front();
        }
        continue;
      }
      const size_t which = managers.size() - 1 - random() % 2;
      const bool is_cancelled = managers[which].IsCancelled();
      Answer& answer = answers.emplace_back();
      Recv(Key(edge), &answer, &managers[which]);
      if (!values[edge].empty()) {
        ASSERT_EQ(answer.value, values[edge].front());
        values[edge].pop_front();
      } else if (is_cancelled) {
        ASSERT_THAT(answer.status, IsError(ErrorCode::kReceiveCancelled));
      } else {
        ASSERT_EQ(answer.count, 0);
        waiting[edge].push_back({&answer, which});
      }
    }
    rendezvous_->StartAbort(absl::AbortedError("over"));
    for (const Answer& answer : answers) ASSERT_EQ(answer.count, 1);
    rendezvous_ = {};
  }
}

// Two threads for each edge: whether or not they find the lock held, each value is received once, in order.
TEST_F(SpreadingTest, ThreadsThatSpreadItLoseNothing) {
  constexpr int kPairs = 4, kValues = 2'000;
  for (int round = 0; round < 5; ++round) {
    rendezvous_ = MakeCounted<LocalRendezvous>();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int32_t pair = 0; pair < kPairs; ++pair) {
      threads.emplace_back([&, pair] {
        for (int32_t i = 0; i < kValues; ++i) EXPECT_OK(Send(Key(pair, i), i));
      });
      threads.emplace_back([&, pair] {
        for (int32_t i = 0; i < kValues; ++i) {
          Notification over;
          rendezvous_->RecvAsync(
              Key(pair, i), TransferArgs(), nullptr,
              [&](const absl::Status& status, RendezvousValue value, const TransferArgs&, const TransferArgs&) {
                if (!status.ok() || *value.tensor.AsScalar<int32_t>() != i) ++wrong;
                over.Notify();
              });
          over.WaitForNotification();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
  }
}

TEST_F(SpreadingTest, CancelsThatRaceWithSpreadingAnswerEachReceiveOnce) {
  constexpr int kReceives = 3 * kFew;
  for (int round = 0; round < 300; ++round) {
    rendezvous_ = MakeCounted<LocalRendezvous>();
    CancellationManager cancellation;
    std::atomic<int> answered{0};
    std::thread canceller([&] {
      for (int i = 0; i < round % 20; ++i) std::this_thread::yield();
      cancellation.StartCancel();
    });
    for (int32_t i = 0; i < kReceives; ++i) {
      rendezvous_->RecvAsync(
          Key(i), TransferArgs(), &cancellation,
          [&](const absl::Status& status, RendezvousValue, const TransferArgs&, const TransferArgs&) {
            EXPECT_FALSE(status.ok());
            ++answered;
          });
    }
    canceller.join();
    EXPECT_EQ(answered, kReceives);
    EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
  }
}

#ifdef SLUICE_COUNTS_NEW

// Any allocation may fail, that of the shards too: the call throws and has done nothing, or needs no memory.
TEST_F(SpreadingTest, WithoutMemoryACallDoesNothingOrGoesOnWithoutShards) {
  constexpr int32_t kReceives = 3 * kFew;
  for (int64_t n = 1; n < 200; ++n) {
    rendezvous_ = MakeCounted<LocalRendezvous>();
    CancellationManager cancellation;
    Answer answers[kReceives];
    bool has_begun[kReceives] = {};
    FailNewCall(n, /*and_later=*/true);
    for (int32_t i = 0; i < kReceives; ++i) {
      try {
        Recv(Key(i), &answers[i], &cancellation);
        has_begun[i] = true;
      } catch (const std::bad_alloc&) {
      }
    }
    const bool has_failed = HasFailedNewCall();
    FailNewCall(0);
    for (int32_t i = 0; i < kReceives; ++i) {
      if (!has_begun[i]) Recv(Key(i), &answers[i], &cancellation);
      EXPECT_EQ(answers[i].count, 0) << i;
    }
    for (int32_t i = 0; i < kReceives; ++i) ASSERT_OK(Send(Key(i), i));
    for (int32_t i = 0; i < kReceives; ++i) {
      EXPECT_EQ(answers[i].count, 1) << i;
      EXPECT_EQ(answers[i].value, i);
    }
    EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
    if (!has_failed) return;
  }
  FAIL() << "more allocations than expected";
}

#endif  // SLUICE_COUNTS_NEW

}  // namespace
}  // namespace sluice

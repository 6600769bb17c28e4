#include "rendezvous/local_rendezvous.h"

#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

RendezvousKey Key(int32_t edge, int64_t iteration = 0) { return {EdgeNumber(edge), 0, iteration}; }

// What a receive was answered.
struct Answer {
  Notification done;
  absl::Status status = absl::UnknownError("not answered");
  RendezvousValue value;
  TransferArgs sender, receiver;
};

class LocalRendezvousTest : public ::testing::Test {
 protected:
  absl::Status Send(const RendezvousKey& key, float value, bool is_dead = false) {
    return rendezvous_->Send(key, TransferArgs(), {Tensor::Scalar(value), is_dead});
  }
  void Recv(const RendezvousKey& key, Answer* answer, CancellationManager* cancellation = nullptr,
            const TransferArgs& receiver = TransferArgs()) {
    rendezvous_->RecvAsync(
        key, receiver, cancellation,
        [answer](absl::Status status, RendezvousValue value, const TransferArgs& sent, const TransferArgs& received) {
          answer->status = std::move(status);
          answer->value = std::move(value);
          answer->sender = sent;
          answer->receiver = received;
          answer->done.Notify();
        });
  }
  // Receives a value that is there, or waits for it.
  float Await(const RendezvousKey& key) {
    Answer answer;
    Recv(key, &answer);
    answer.done.WaitForNotification();
    EXPECT_OK(answer.status);
    return answer.status.ok() ? *answer.value.tensor.AsScalar<float>() : -1;
  }
  void TearDown() override { EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u); }

  CountedPtr<LocalRendezvous> rendezvous_ = MakeCounted<LocalRendezvous>();
};

TEST_F(LocalRendezvousTest, SendThenReceive) {
  ASSERT_OK(Send(Key(1), 2.5f));
  EXPECT_EQ(Await(Key(1)), 2.5f);
}

TEST_F(LocalRendezvousTest, ReceiveThenSendAnswersOnTheSendersThread) {
  Answer answer;
  Recv(Key(1), &answer);
  EXPECT_FALSE(answer.done.HasBeenNotified());
  EXPECT_EQ(rendezvous_->WaitingReceives(10).size(), 1u);
  ASSERT_OK(Send(Key(1), 2, /*is_dead=*/true));
  ASSERT_TRUE(answer.done.HasBeenNotified());
  EXPECT_TRUE(answer.value.is_dead);
}

TEST_F(LocalRendezvousTest, IterationsAndFramesAreKeysOfTheirOwn) {
  ASSERT_OK(Send(Key(1, 0), 1));
  ASSERT_OK(Send(Key(1, 1), 2));
  ASSERT_OK(Send({EdgeNumber(1), 77, 0}, 3));
  EXPECT_EQ(Await({EdgeNumber(1), 77, 0}), 3);
  EXPECT_EQ(Await(Key(1, 1)), 2);
  EXPECT_EQ(Await(Key(1, 0)), 1);
}

TEST_F(LocalRendezvousTest, ManyValuesOfOneKeyComeInOrder) {
  for (int i = 0; i < 1000; ++i) ASSERT_OK(Send(Key(1), static_cast<float>(i)));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(Await(Key(1)), static_cast<float>(i));
}

TEST_F(LocalRendezvousTest, PingPong) {
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(Await(Key(1)), static_cast<float>(i));
      EXPECT_OK(Send(Key(2), static_cast<float>(-i)));
    }
  });
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(Send(Key(1), static_cast<float>(i)));
    ASSERT_EQ(Await(Key(2)), static_cast<float>(-i));
  }
  other.join();
}

TEST_F(LocalRendezvousTest, RandomOrdersFromManyThreadsAllMeet) {
  constexpr int kKeys = 200;
  std::atomic<int> received{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = t / 2; i < kKeys; i += 4) {
        if (random() % 4 == 0) std::this_thread::yield();
        if (t % 2 == 0) {
          EXPECT_OK(Send(Key(i), static_cast<float>(i)));
        } else {
          EXPECT_EQ(Await(Key(i)), static_cast<float>(i));
          received.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(received.load(), kKeys);
}

TEST_F(LocalRendezvousTest, AbortEndsWaitsAndDropsValues) {
  Answer answer;
  Recv(Key(1), &answer);
  ASSERT_OK(Send(Key(2), 1));
  rendezvous_->StartAbort(absl::AbortedError("first"));
  rendezvous_->StartAbort(absl::InternalError("second"));
  EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kAborted, "first"));
  EXPECT_THAT(Send(Key(3), 1), StatusIs(absl::StatusCode::kAborted, "first"));
  Answer late;
  Recv(Key(2), &late);
  EXPECT_THAT(late.status, StatusIs(absl::StatusCode::kAborted, "first"));
}

TEST_F(LocalRendezvousTest, CancelledManagerIsAnsweredAtOnce) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  Answer answer;
  Recv(Key(1), &answer, &cancellation);
  EXPECT_THAT(answer.status, IsError(ErrorCode::kReceiveCancelled));
  EXPECT_TRUE(ErrorInfoOf(answer.status)->derived);
}

TEST_F(LocalRendezvousTest, CancelEndsItsOwnWaitsOnlyAndKeepsTheOrder) {
  CancellationManager first, second;
  Answer answers[4];
  Recv(Key(1), &answers[0], &first);
  Recv(Key(1), &answers[1], &second);
  Recv(Key(1), &answers[2], &first);
  Recv(Key(1), &answers[3], &second);
  first.StartCancel();
  EXPECT_THAT(answers[0].status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(answers[2].status, StatusIs(absl::StatusCode::kCancelled));
  ASSERT_OK(Send(Key(1), 1));
  ASSERT_OK(Send(Key(1), 3));
  EXPECT_EQ(*answers[1].value.tensor.AsScalar<float>(), 1);
  EXPECT_EQ(*answers[3].value.tensor.AsScalar<float>(), 3);
}

TEST_F(LocalRendezvousTest, ItMayGoInsideOfTheCancellationThatEndsItsLastReceive) {
  CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
  CancellationManager cancellation;
  int left = 12;
  for (int32_t edge = 0; edge < 12; ++edge) {
    rendezvous->RecvAsync(Key(edge), TransferArgs(), &cancellation,
                          [&](const absl::Status& status, RendezvousValue, const TransferArgs&, const TransferArgs&) {
                            EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
                            if (--left == 0) rendezvous = {};
                          });
  }
  cancellation.StartCancel();
  EXPECT_EQ(left, 0);
  EXPECT_FALSE(rendezvous);
}

// A `done` frees the manager that ended its receive, and the next one has its address.
TEST_F(LocalRendezvousTest, AManagerAtTheAddressOfAnEarlierOneIsANewOne) {
  std::optional<CancellationManager> cancellation(std::in_place);
  Answer second;
  absl::Status first = absl::UnknownError("not answered");
  rendezvous_->RecvAsync(Key(1), TransferArgs(), &*cancellation,
                         [&](absl::Status status, RendezvousValue, const TransferArgs&, const TransferArgs&) {
                           first = std::move(status);
                           cancellation.emplace();
                           Recv(Key(2), &second, &*cancellation);
                         });
  cancellation->StartCancel();
  EXPECT_EQ(first.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(second.done.HasBeenNotified()) << second.status;
  ASSERT_OK(Send(Key(2), 1));
  EXPECT_OK(second.status);
  EXPECT_FALSE(cancellation->IsCancelling());
  EXPECT_TRUE(rendezvous_->Clear());
}

TEST_F(LocalRendezvousTest, CancelAfterDeliveryIsHarmless) {
  CancellationManager cancellation;
  Answer answer;
  Recv(Key(1), &answer, &cancellation);
  ASSERT_OK(Send(Key(1), 1));
  cancellation.StartCancel();
  EXPECT_OK(answer.status);
}

TEST_F(LocalRendezvousTest, CancelRacingWithSendAnswersExactlyOnce) {
  for (int i = 0; i < 500; ++i) {
    CancellationManager cancellation;
    Answer answer;
    Recv(Key(i), &answer, &cancellation);
    std::thread canceller([&] { cancellation.StartCancel(); });
    ASSERT_OK(Send(Key(i), 1));
    canceller.join();
    answer.done.WaitForNotification();
    if (answer.status.ok()) continue;
    EXPECT_EQ(Await(Key(i)), 1);  // The value stayed for another receive.
  }
}

TEST_F(LocalRendezvousTest, CancellingManyReceivesRacingWithSendsAnswersEachOnce) {
  constexpr int kKeys = 40;
  for (int round = 0; round < 100; ++round) {
    CancellationManager cancellation, other;
    Answer answers[kKeys], kept[kKeys];
    for (int i = 0; i < kKeys; ++i) Recv(Key(i), &answers[i], &cancellation);
    for (int i = 0; i < kKeys; ++i) Recv(Key(i), &kept[i], &other);
    std::thread canceller([&] { cancellation.StartCancel(); });
    for (int i = 0; i < kKeys; ++i) ASSERT_OK(Send(Key(i), 1));
    canceller.join();
    for (int i = 0; i < kKeys; ++i) {
      answers[i].done.WaitForNotification();
      EXPECT_NE(answers[i].status.ok(), kept[i].done.HasBeenNotified()) << "the value went to one of the two";
    }
    for (int i = 0; i < kKeys; ++i) {
      if (!kept[i].done.HasBeenNotified()) {
        ASSERT_OK(Send(Key(i), 1));
      }
      EXPECT_OK(kept[i].status);
    }
  }
}

TEST_F(LocalRendezvousTest, DestructionEndsWhatWaits) {
  CancellationManager cancellation;
  Answer answer;
  Recv(Key(1), &answer, &cancellation);
  ASSERT_OK(Send(Key(2), 1));
  rendezvous_ = MakeCounted<LocalRendezvous>();
  EXPECT_THAT(answer.status, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(LocalRendezvousTest, DeviceContextsReachTheOtherSide) {
  TransferArgs sender, receiver;
  sender.device_context = MakeCounted<DeviceContext>();
  receiver.device_context = MakeCounted<DeviceContext>();
  Answer answer;
  Recv(Key(1), &answer, nullptr, receiver);
  ASSERT_OK(rendezvous_->Send(Key(1), sender, {Tensor::Scalar(1.0f), false}));
  EXPECT_EQ(answer.sender.device_context, sender.device_context);
  EXPECT_EQ(answer.receiver.device_context, receiver.device_context);
}

TEST_F(LocalRendezvousTest, AfterAClearItIsAsGoodAsNew) {
  CancellationManager cancellation;
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(Send(Key(1), 1.5f));
    ASSERT_OK(Send(Key(1), 2.5f));
    Answer waits;
    Recv(Key(2), &waits, &cancellation);
    rendezvous_->StartAbort(absl::AbortedError("the step is over"));
    EXPECT_THAT(waits.status, StatusIs(absl::StatusCode::kAborted));
    EXPECT_THAT(Send(Key(1), 3.5f), StatusIs(absl::StatusCode::kAborted));
    ASSERT_TRUE(rendezvous_->Clear());
    EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
    ASSERT_OK(Send(Key(1), 4.5f));
    EXPECT_EQ(Await(Key(1)), 4.5f);
    ASSERT_OK(Send(Key(3), 5.5f));
    ASSERT_TRUE(rendezvous_->Clear());
    EXPECT_EQ(rendezvous_->num_waiting_keys(), 0u);
  }
}

}  // namespace
}  // namespace sluice

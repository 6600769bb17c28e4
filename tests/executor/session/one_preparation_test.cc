// Of several threads that want one signature at once, one prepares it. See Note [One preparation].

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/session/prepared_signatures.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

// Long enough for other threads to come to where they wait; what is tested holds also where they do not.
constexpr absl::Duration kWhile = absl::Milliseconds(50);

class OnePreparationTest : public SessionFixture {
 protected:
  using OnKernel = std::function<void(int)>;

  OnePreparationTest() { RegisterAllKernels(registry_); }

  // Nodes of `op` hand on their input. `on_kernel` is called where the kernel of one is made: with how many were made.
  void AddOp(const std::string& op, std::atomic<int>* num_made, OnKernel on_kernel) {
    ASSERT_OK(registry_.Add(OwnedKernelRow(op, [num_made, on_kernel](const KernelConstruction&) {
      on_kernel(++*num_made);
      return std::make_unique<FunctionKernel>(
          [](KernelContext& context) {
            context.SetOutput(0, context.TakeInput(0));
            return absl::OkStatus();
          },
          CostHint::kCheap);
    })));
  }
  void OpenSession(int num_threads = 2) {
    const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    Output last = b_.Op("Neg", "y", {x});
    b_.Op("Abs", "z", {x});
    for (int i = 0; i < 300; ++i) last = b_.Op("AddV2", i < 299 ? absl::StrCat("n", i) : "long", {last, x});
    SessionOptions options;
    options.kernels = &registry_;
    options.num_threads = num_threads;
    Open(options);
  }
  // "y" hands on "x".
  void OpenWith(OnKernel on_kernel) {
    AddOp("Neg", &num_made_, std::move(on_kernel));
    OpenSession();
  }
  absl::Status Run(const CallOptions& options = {}, const std::string& fetch = "") {
    return Fetch(fetch.empty() ? fetch_ : fetch, {{"x", Int(3)}}, options).status();
  }
  // Begins threads that want what this one is preparing.
  void BeginOthers(int count) {
    others_ = std::vector<absl::Status>(static_cast<size_t>(count), absl::UnknownError(""));
    for (absl::Status& outcome : others_) threads_.emplace_back([this, &outcome] { outcome = Run(); });
    absl::SleepFor(kWhile);
  }
  void JoinOthers() {
    for (std::thread& thread : threads_) thread.join();
  }

  KernelRegistry registry_;
  std::atomic<int> num_made_{0};
  std::string fetch_ = "y";  // Or "long", with many nodes after it: there is time to be stopped.
  std::vector<absl::Status> others_;
  std::vector<std::thread> threads_;
};

TEST_F(OnePreparationTest, ThreadsThatWantOneSignatureHaveItPreparedOnce) {
  OpenWith([&](int count) {
    if (count == 1) BeginOthers(4);
  });
  EXPECT_OK(Run());
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_OK(outcome);
  EXPECT_EQ(num_made_, 1);
  EXPECT_EQ(session_->num_prepared(), 1u);
}

TEST_F(OnePreparationTest, AlsoWhereNothingIsKept) {
  AddOp("Neg", &num_made_, [&](int count) {
    if (count == 1) BeginOthers(4);
  });
  b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32, PartialShape::Scalar())});
  SessionOptions options;
  options.kernels = &registry_;
  options.max_prepared = 0;
  Open(options);
  EXPECT_OK(Run());
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_OK(outcome);
  EXPECT_EQ(num_made_, 1);
  EXPECT_EQ(session_->num_prepared(), 0u);
}

// The other thread does not know that it is waited for: it gives up waiting and prepares by itself.
TEST_F(OnePreparationTest, AFactoryMayWaitForAThreadThatWantsTheSame) {
  OpenWith([&](int count) {
    if (count > 1) return;
    BeginOthers(1);
    JoinOthers();
  });
  EXPECT_OK(Run());
  EXPECT_OK(others_[0]);
  EXPECT_EQ(num_made_, 2);
}

// It may have failed for want of memory.
TEST_F(OnePreparationTest, AFailureIsThatOfTheThreadThatHasMetIt) {
  OpenWith([&](int count) {
    if (count > 1) return;
    BeginOthers(4);
    throw std::runtime_error("once");
  });
  EXPECT_FALSE(Run().ok());
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_OK(outcome);
  EXPECT_EQ(session_->num_prepared(), 1u);
}

TEST_F(OnePreparationTest, WhereAllFailEachHasItsError) {
  OpenWith([&](int count) {
    if (count == 1) BeginOthers(4);
    throw std::runtime_error("always");
  });
  const absl::Status status = Run();
  EXPECT_FALSE(status.ok());
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_EQ(outcome, status);
  EXPECT_EQ(num_made_, 5);
  EXPECT_FALSE(Run().ok()) << "errors are not kept";
  EXPECT_EQ(num_made_, 6);
}

TEST_F(OnePreparationTest, WhereTheThreadThatPreparesIsCancelledAnotherOneTakesItsPlace) {
  CancellationManager cancellation;
  fetch_ = "long";
  OpenWith([&](int count) {
    if (count > 1) return;
    BeginOthers(4);
    cancellation.StartCancel();
  });
  CallOptions options;
  options.cancellation = &cancellation;
  EXPECT_THAT(Run(options), IsError(ErrorCode::kRunCancelled));
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_OK(outcome);
  EXPECT_EQ(num_made_, 2) << "one of the four prepares";
  EXPECT_EQ(session_->num_prepared(), 1u);
}

TEST_F(OnePreparationTest, SoItIsWhereItsDeadlinePasses) {
  fetch_ = "long";
  OpenWith([&](int count) {
    if (count > 1) return;
    BeginOthers(4);
    absl::SleepFor(kWhile);
  });
  CallOptions options;
  options.deadline = absl::Now() + kWhile;
  EXPECT_THAT(Run(options), IsError(ErrorCode::kDeadline));
  JoinOthers();
  for (const absl::Status& outcome : others_) EXPECT_OK(outcome);
  EXPECT_EQ(num_made_, 2);
}

TEST_F(OnePreparationTest, AThreadThatWaitsComesBackAtItsDeadlineOrCancellation) {
  CancellationManager cancellation;
  std::atomic<int> num_back{0};
  OpenWith([&](int count) {
    if (count > 1) return;
    threads_.emplace_back([&] {
      CallOptions options;
      options.deadline = absl::Now() + absl::Milliseconds(20);
      EXPECT_THAT(Run(options), IsError(ErrorCode::kDeadline));
      ++num_back;
    });
    threads_.emplace_back([&] {
      CallOptions options;
      options.cancellation = &cancellation;
      EXPECT_THAT(Run(options), IsError(ErrorCode::kRunCancelled));
      ++num_back;
    });
    absl::SleepFor(kWhile);
    cancellation.StartCancel();
    // The factory does not end before both have come back, or a minute is over.
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (num_back < 2 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_EQ(num_back, 2) << "a thread that waits does not come back";
  });
  EXPECT_OK(Run());
  JoinOthers();
  EXPECT_EQ(num_made_, 1);
}

// Preparing takes four units. The first call has three of them; the second one six, which is enough by itself.
TEST_F(OnePreparationTest, AShortDeadlineOfOthersDoesNotUseUpALongerOne) {
  constexpr absl::Duration kUnit = absl::Milliseconds(150);
  fetch_ = "long";
  OpenWith([&](int count) {
    if (count == 1) {
      threads_.emplace_back([&] {
        CallOptions options;
        options.deadline = absl::Now() + 6 * kUnit;
        EXPECT_OK(Run(options));
      });
    }
    absl::SleepFor(4 * kUnit);
  });
  CallOptions options;
  options.deadline = absl::Now() + 3 * kUnit;
  EXPECT_THAT(Run(options), IsError(ErrorCode::kDeadline));
  JoinOthers();
}

// Calls with one timeout, as a server makes them: the deadline of each is a little later than that of the one before.
TEST_F(OnePreparationTest, CallsWithTheSameTimeoutShare) {
  const auto run = [&] {
    CallOptions options;
    options.deadline = absl::Now() + absl::Seconds(30);
    EXPECT_OK(Run(options));
  };
  OpenWith([&](int count) {
    if (count > 1) return;
    for (int i = 0; i < 4; ++i) threads_.emplace_back(run);
    absl::SleepFor(kWhile);
  });
  run();
  JoinOthers();
  EXPECT_EQ(num_made_, 1);
}

// What fails is a factory, though the deadline has passed by then: each of the others prepares by itself.
TEST_F(OnePreparationTest, AFailureAfterTheDeadlineIsAFailure) {
  std::atomic<int> num_begun{0};  // Of the others: none is through before all have begun.
  OpenWith([&](int count) {
    if (count == 1) {
      BeginOthers(4);
      absl::SleepFor(kWhile);
    } else {
      ++num_begun;
      const absl::Time end = absl::Now() + absl::Seconds(10);
      while (num_begun < 4 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    }
    throw std::runtime_error("always");
  });
  CallOptions options;
  options.deadline = absl::Now() + kWhile;
  EXPECT_THAT(Run(options), StatusIs(absl::StatusCode::kInternal));
  const absl::Time start = absl::Now();
  JoinOthers();
  EXPECT_LT(absl::Now() - start, absl::Seconds(8)) << "one waits for the other";
  for (const absl::Status& outcome : others_) EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(num_made_, 5);
}

TEST_F(OnePreparationTest, CloseEndsTheWait) {
  std::atomic<bool> is_back{false};
  absl::Time closed_at;
  absl::Duration took;
  OpenWith([&](int count) {
    if (count > 1) return;
    threads_.emplace_back([&] {
      EXPECT_THAT(Run(), IsError(ErrorCode::kSessionClosed));
      took = absl::Now() - closed_at;
      is_back = true;
    });
    absl::SleepFor(kWhile);
    closed_at = absl::Now();
    EXPECT_OK(session_->Close());
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (!is_back && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
  });
  Run().IgnoreError();  // It may be through before it looks.
  JoinOthers();
  EXPECT_LT(took, absl::Seconds(2)) << "waits on for the factory of another thread";
  EXPECT_EQ(num_made_, 1) << "a closed session prepares nothing";
}

// A factory may run what is being prepared: then both make it, and all get the same.
TEST_F(OnePreparationTest, WhatIsReturnedIsWhatIsKept) {
  PreparedSignatures prepared(8);
  AddOp("Neg", &num_made_, [](int) {});
  OpenSession();
  const auto make = [&] { return session_->Prepare({{"x"}, {"z"}, {}, {}}); };
  PreparedSignatures::Result inner = nullptr;
  const PreparedSignatures::Result outer = prepared.FindOrPrepare("key", {}, [&] {
    inner = prepared.FindOrPrepare("key", {}, make);
    return make();
  });
  const PreparedSignatures::Result later = prepared.FindOrPrepare("key", {}, make);
  ASSERT_OK(outer);
  ASSERT_OK(inner);
  ASSERT_OK(later);
  EXPECT_EQ(*inner, *later);
  EXPECT_EQ(*outer, *later);
}

// Another thread may be preparing a plan of the former graph.
TEST_F(OnePreparationTest, WhatIsWantedAfterAChangeIsPreparedAnew) {
  OpenWith([&](int count) {
    if (count > 1) return;
    std::thread other([&] {
      GraphBuilder next(NewOpRegistry());
      const Output x = next.Placeholder("x", DType::kInt32, PartialShape::Scalar());
      next.Op("AddV2", "y", {x, next.Const("seven", Int(7))});
      ASSERT_OK(session_->Replace(*next.Build()));
      ExpectFetch("y", 10, {{"x", Int(3)}});
      session_->Reset({});
      ExpectFetch("y", 11, {{"x", Int(4)}});
    });
    other.join();
  });
  ExpectFetch("y", 3, {{"x", Int(3)}});
  ExpectFetch("y", 10, {{"x", Int(3)}});
}

// Two factories; each runs what the other thread is preparing: neither waits for the other.
TEST_F(OnePreparationTest, ThreadsThatPrepareDoNotWaitForEachOther) {
  std::atomic<int> num_begun{0}, others_made{0};
  const auto runs = [&](const std::string& fetch) {
    return [this, &num_begun, fetch](int count) {
      if (count > 1) return;
      ++num_begun;
      while (num_begun < 2) absl::SleepFor(absl::Milliseconds(1));
      EXPECT_OK(Run({}, fetch));
    };
  };
  AddOp("Neg", &num_made_, runs("z"));
  AddOp("Abs", &others_made, runs("y"));
  OpenSession();
  std::thread other([&] { EXPECT_OK(Run({}, "z")); });
  EXPECT_OK(Run());
  other.join();
  EXPECT_EQ(session_->num_prepared(), 2u);
}

// A kernel that waits may hold the only thread of the pool: preparing needs none.
class KernelThatRunsTest : public OnePreparationTest, public ::testing::WithParamInterface<int> {};

TEST_P(KernelThatRunsTest, WaitsForWhatIsPreparedElsewhere) {
  std::atomic<bool> kernel_runs{false};
  AddOp("Neg", &num_made_, [&](int count) {
    while (count == 1 && !kernel_runs) absl::SleepFor(absl::Milliseconds(1));
    absl::SleepFor(kWhile);
  });
  ASSERT_OK(registry_.Add(OwnedKernelRow("Abs", MakeFunction([&](KernelContext& context) {
                                           kernel_runs = true;
                                           const absl::Status ran = Run();
                                           context.SetOutput(0, context.TakeInput(0));
                                           return ran;
                                         }))));
  OpenSession(GetParam());
  std::thread prepares([&] { EXPECT_OK(Run()); });
  EXPECT_OK(Run({}, "z"));
  prepares.join();
  EXPECT_EQ(num_made_, 1);
}

INSTANTIATE_TEST_SUITE_P(Threads, KernelThatRunsTest, ::testing::Values(1, 2, 4));

}  // namespace
}  // namespace sluice

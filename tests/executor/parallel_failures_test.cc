// Exceptions inside the shards of a ParallelFor: they reach the caller, once, and the threads stay usable.

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/runner_adapter.h"
#include "executor/session/session.h"
#include "executor/threads/parallel_job.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kUnits = 64;
constexpr double kUnitNs = 1e6;  // Each unit is worth a shard of its own.

// Threads of some kind. Each owns what its TaskRunner borrows.
struct Threads {
  virtual ~Threads() = default;
  virtual TaskRunner& runner() = 0;
};

template <int kSize>
struct Pool final : Threads {
  TaskRunner& runner() override { return pool; }
  ThreadPool pool{ThreadPoolOptions{kSize}};
};

// A host with threads.
struct PoolByRunner final : Threads {
  TaskRunner& runner() override { return adapter; }
  ThreadPool pool{ThreadPoolOptions{4}};
  const Runner run = [this](absl::AnyInvocable<void()> closure) { pool.Schedule(std::move(closure)); };
  RunnerAdapter adapter{run, 4};
};

// A host that runs closures at once.
struct InlineRunner final : Threads {
  TaskRunner& runner() override { return adapter; }
  const Runner run = [](absl::AnyInvocable<void()> closure) { closure(); };
  RunnerAdapter adapter{run, 4};
};

// A host that runs closures when all is over.
struct LateRunner final : Threads {
  ~LateRunner() override {
    for (absl::AnyInvocable<void()>& closure : kept) closure();
  }
  TaskRunner& runner() override { return adapter; }
  std::vector<absl::AnyInvocable<void()>> kept;
  const Runner run = [this](absl::AnyInvocable<void()> closure) { kept.push_back(std::move(closure)); };
  RunnerAdapter adapter{run, 4};
};

// A host that refuses closures.
struct ThrowingRunner final : Threads {
  TaskRunner& runner() override { return adapter; }
  const Runner run = [](const absl::AnyInvocable<void()>&) { throw std::bad_alloc(); };
  RunnerAdapter adapter{run, 4};
};

using MakeThreads = std::unique_ptr<Threads> (*)();
template <typename T>
std::unique_ptr<Threads> Make() {
  return std::make_unique<T>();
}

class ParallelFailuresTest : public testing::TestWithParam<MakeThreads> {
 protected:
  // Calls `fails` for each unit, and expects "boom" of it.
  template <typename Fails>
  void ExpectBoom(const Fails& fails) {
    std::string found;
    try {
      runner().ParallelFor(kUnits, kUnitNs, false, [&](int64_t begin, int64_t end) {
        inside_.fetch_add(1);
        for (int64_t i = begin; i < end; ++i) {
          if (!fails(i)) continue;
          inside_.fetch_sub(1);
          throw std::runtime_error("boom");
        }
        inside_.fetch_sub(1);
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      found = e.what();
    }
    EXPECT_EQ(found, "boom");
    EXPECT_EQ(inside_, 0) << "a shard is still under way";
  }
  void ExpectUsable() {
    std::atomic<int64_t> sum{0};
    runner().ParallelFor(kUnits, kUnitNs, false, [&](int64_t begin, int64_t end) { sum.fetch_add(end - begin); });
    EXPECT_EQ(sum, kUnits);
  }
  TaskRunner& runner() { return threads_->runner(); }

  const std::unique_ptr<Threads> threads_ = GetParam()();
  std::atomic<int> inside_{0};
};

TEST_P(ParallelFailuresTest, TheFirstShardThrows) {
  for (int round = 0; round < 100; ++round) {
    ExpectBoom([](int64_t i) { return i == 0; });
    ExpectUsable();
  }
}

TEST_P(ParallelFailuresTest, AllShardsThrow) {
  for (int round = 0; round < 100; ++round) {
    ExpectBoom([](int64_t) { return true; });
    ExpectUsable();
  }
}

TEST_P(ParallelFailuresTest, TheLastShardThrows) {
  for (int round = 0; round < 100; ++round) {
    ExpectBoom([](int64_t i) { return i == kUnits - 1; });
    ExpectUsable();
  }
}

// By order, not by the clock: shard 0 fails last.
TEST_P(ParallelFailuresTest, TheFirstExceptionByOrderIsTheOneThatCounts) {
  for (int round = 0; round < 20; ++round) {
    try {
      runner().ParallelFor(kUnits, kUnitNs, false, [&](int64_t begin, int64_t) {
        if (begin == 0) absl::SleepFor(absl::Microseconds(500));
        throw std::runtime_error(absl::StrCat(begin));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "0");
    }
  }
}

TEST_P(ParallelFailuresTest, AnExceptionOfANestedLoopPassesThrough) {
  for (int round = 0; round < 20; ++round) {
    try {
      runner().ParallelFor(4, kUnitNs, false, [&](int64_t, int64_t) {
        runner().ParallelFor(4, kUnitNs, false, [](int64_t, int64_t) { throw std::runtime_error("inner"); });
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "inner");
    }
    ExpectUsable();
  }
}

// Under both drivers: the kernel's node is named, and the next run is right.
TEST_P(ParallelFailuresTest, AKernelWhoseShardThrowsFailsItsRunAlone) {
  std::atomic<bool> fails{true};
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  ASSERT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction([&](KernelContext& context) {
                                         std::atomic<int64_t> sum{0};
                                         runner().ParallelFor(kUnits, kUnitNs, false, [&](int64_t begin, int64_t end) {
                                           if (fails && begin == 0) throw std::runtime_error("boom");
                                           sum += end - begin;
                                         });
                                         context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(sum)));
                                         return absl::OkStatus();
                                       }))));
  GraphBuilder b(NewOpRegistry());
  b.Op("Neg", "n", {b.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    options.kernels = &kernels;
    options.num_threads = 2;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b.graph()));
    const Tensor one = Tensor::Scalar(int32_t{1});
    fails = true;
    for (int run = 0; run < 3; ++run) {
      EXPECT_THAT(session->Run({{"x", one}}, {"n"}, {}), IsError(ErrorCode::kKernelException, "Neg 'n'"));
    }
    fails = false;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session->Run({{"x", one}}, {"n"}, {}));
    EXPECT_EQ(*values[0].AsScalar<int32_t>(), kUnits);
  }
}

// Under both drivers: a kernel that would take hours ends soon after the deadline, and with its code.
TEST(KernelDeadlineTest, ALongParallelForEndsAtTheDeadline) {
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  ASSERT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction([](KernelContext& context) {
                                         context.ParallelFor(10'000'000, 1e6, [](int64_t begin, int64_t end) {
                                           absl::SleepFor(absl::Milliseconds(end - begin));
                                         });
                                         return absl::OkStatus();
                                       }))));
  GraphBuilder b(NewOpRegistry());
  b.Op("Neg", "n", {b.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    options.kernels = &kernels;
    options.num_threads = 2;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b.graph()));
    CallOptions call;
    call.deadline = absl::Now() + absl::Milliseconds(30);
    EXPECT_EQ(session->Run({{"x", Tensor::Scalar(int32_t{1})}}, {"n"}, {}, call).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ParallelFailuresTest,
                         testing::Values(&Make<Pool<1>>, &Make<Pool<2>>, &Make<Pool<8>>, &Make<PoolByRunner>,
                                         &Make<InlineRunner>, &Make<LateRunner>, &Make<ThrowingRunner>));

TEST(ThreadPoolFailuresTest, AShardThatThrowsOnAThreadOfThePool) {
  for (const int size : {2, 8}) {
    ThreadPool pool(ThreadPoolOptions{size});
    for (int round = 0; round < 50; ++round) {
      const pthread_t caller = pthread_self();
      Notification has_joined;
      std::atomic<bool> is_first{true};
      const auto work = [&](int64_t, int64_t) {
        if (pthread_equal(pthread_self(), caller) != 0) return has_joined.WaitForNotification();
        if (is_first.exchange(false)) has_joined.Notify();
        throw std::bad_alloc();
      };
      EXPECT_THROW(pool.ParallelFor(kUnits, kUnitNs, false, work), std::bad_alloc);
    }
  }
}

TEST(ThreadPoolFailuresTest, ATaskThatThrowsIsLoggedAndTheNextOneRuns) {
  const LogCapture log;
  {
    ThreadPool pool(ThreadPoolOptions{2});
    Notification ran;
    pool.Schedule([] { throw std::runtime_error("bad task"); });
    pool.Schedule([] { throw 1; });
    pool.Schedule([&] { ran.Notify(); });
    ran.WaitForNotification();
  }
  ASSERT_EQ(log.lines().size(), 2u);
  EXPECT_TRUE(absl::StrContains(log.lines()[0], "bad task")) << log.lines()[0];
}

TEST(ParallelJobTest, TheFirstExceptionByOrderIsKeptAndNoShardBeginsAfterwards) {
  ParallelJob* self = nullptr;
  std::vector<int64_t> begun;
  const auto work = [&](int64_t begin, int64_t) {
    begun.push_back(begin);
    if (begin == 0) self->Work();  // Shard 1 throws before this one does.
    throw begin;
  };
  ParallelJob job(ShardPlan(4, kUnitNs, 4), work);
  self = &job;
  job.Work();
  EXPECT_TRUE(job.IsExhausted());
  EXPECT_EQ(begun, (std::vector<int64_t>{0, 1}));
  int64_t thrown = -1;
  try {
    job.RethrowFailure();
  } catch (const int64_t shard) {
    thrown = shard;
  }
  EXPECT_EQ(thrown, 0);
}

}  // namespace
}  // namespace sluice

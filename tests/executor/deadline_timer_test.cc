#include "executor/threads/deadline_timer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "executor/threads/service_threads.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"
#include "gtest/gtest.h"
#include "tests/testing/log_capture.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);

int NoThread(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) { return EAGAIN; }

// A timer with threads of its own, which lives for ever.
DeadlineTimer& NewTimer(ServiceThreads::CreateThread create = &pthread_create,
                        ServiceThreads::CreateThread create_service = &pthread_create) {
  static std::vector<std::unique_ptr<DeadlineTimer>>& timers = *new std::vector<std::unique_ptr<DeadlineTimer>>();
  static std::vector<std::unique_ptr<ServiceThreads>>& threads = *new std::vector<std::unique_ptr<ServiceThreads>>();
  threads.push_back(std::make_unique<ServiceThreads>(create_service));
  timers.push_back(std::make_unique<DeadlineTimer>(create, *threads.back()));
  return *timers.back();
}

TEST(DeadlineTimerTest, CallsComeInTheOrderOfTheirTimesAndOnce) {
  // Calls have threads of their own: the order is that in which the timer takes them, which one thread shows.
  DeadlineTimer& timer = NewTimer(&pthread_create, &NoThread);
  Mutex mu;
  std::vector<int> order;
  Notification all;
  const absl::Time now = absl::Now();
  for (const int i : {3, 1, 0, 4, 2}) {
    const DeadlineTimer::Id id = timer.Add(now + absl::Milliseconds(20 + 5 * i), [&, i] {
      MutexLock lock(&mu);
      order.push_back(i);
      if (order.size() == 5) all.Notify();
    });
    EXPECT_NE(id, DeadlineTimer::kNone);
  }
  ASSERT_TRUE(all.WaitForNotificationWithTimeout(kLong));
  MutexLock lock(&mu);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(DeadlineTimerTest, ATimeInThePastIsDueAtOnce) {
  Notification called;
  NewTimer().Add(absl::InfinitePast(), [&] { called.Notify(); });
  EXPECT_TRUE(called.WaitForNotificationWithTimeout(kLong));
}

TEST(DeadlineTimerTest, AnEarlierTimeThatComesInLaterIsKept) {
  DeadlineTimer& timer = NewTimer();
  const absl::Time late = absl::Now() + absl::Hours(1);
  const DeadlineTimer::Id id = timer.Add(late, [] { FAIL(); });
  for (int i = 0; i < 3; ++i) {
    Notification called;
    timer.Add(absl::Now() + absl::Milliseconds(2), [&] { called.Notify(); });
    EXPECT_TRUE(called.WaitForNotificationWithTimeout(kLong));
  }
  timer.Remove(late, id);
}

TEST(DeadlineTimerTest, WhatWasRemovedIsNotCalled) {
  DeadlineTimer& timer = NewTimer();
  std::atomic<int> calls{0};
  for (int i = 0; i < 200; ++i) {
    const absl::Time time = absl::Now() + absl::Microseconds(i % 7 * 20);
    bool may_call = true;  // Not after Remove: ThreadSanitizer sees it if that does not wait.
    const DeadlineTimer::Id id = timer.Add(time, [&] {
      EXPECT_TRUE(may_call);
      ++calls;
    });
    timer.Remove(time, id);
    may_call = false;
    timer.Remove(time, id);
  }
  timer.Remove(absl::Now(), DeadlineTimer::kNone);
  EXPECT_LE(calls, 200);
}

TEST(DeadlineTimerTest, RemoveWaitsForTheCall) {
  DeadlineTimer& timer = NewTimer();
  Notification began;
  std::atomic<bool> has_ended{false};
  const absl::Time time = absl::Now();
  const DeadlineTimer::Id id = timer.Add(time, [&] {
    began.Notify();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    has_ended = true;
  });
  began.WaitForNotification();
  timer.Remove(time, id);
  EXPECT_TRUE(has_ended);
}

// Each call removes the next one, which is due and has the same service threads: waiting for its turn would take a
// thread more each time.
TEST(DeadlineTimerTest, RemoveDoesNotWaitForTheTurnOfACallThatIsDue) {
  static ServiceThreads& threads = *new ServiceThreads(&pthread_create, 1);
  static DeadlineTimer& timer = *new DeadlineTimer(&pthread_create, threads);
  constexpr size_t kCalls = 100;
  const absl::Time time = absl::Now() + absl::Milliseconds(10);
  std::vector<DeadlineTimer::Id> ids(kCalls);
  std::atomic<int> calls{0};
  Mutex mu;
  {
    MutexLock lock(&mu);  // Until all ids are known.
    for (size_t i = 0; i < kCalls; ++i) {
      ids[i] = timer.Add(time, [&, i] {
        DeadlineTimer::Id next = DeadlineTimer::kNone;
        {
          MutexLock lock(&mu);
          if (i + 1 < kCalls) next = ids[i + 1];
        }
        timer.Remove(time, next);
        ++calls;
      });
    }
  }
  while (calls == 0) absl::SleepFor(absl::Milliseconds(1));
  for (const DeadlineTimer::Id id : ids) timer.Remove(time, id);
  EXPECT_LE(calls, static_cast<int>(kCalls));
  EXPECT_LE(threads.most_threads(), 16);
}

// The first call ends when the second one has begun: a timer that runs calls itself would hang.
TEST(DeadlineTimerTest, ACallThatWaitsDoesNotHoldUpTheOthers) {
  DeadlineTimer& timer = NewTimer();
  constexpr int kCalls = 20;
  std::vector<std::unique_ptr<Notification>> began;
  for (int i = 0; i < kCalls; ++i) began.push_back(std::make_unique<Notification>());
  std::atomic<int> ended{0};
  Notification all;
  for (int i = 0; i < kCalls; ++i) {
    timer.Add(absl::Now() + absl::Milliseconds(i / 4), [&, i] {
      began[static_cast<size_t>(i)]->Notify();
      if (i + 1 < kCalls) {
        EXPECT_TRUE(began[static_cast<size_t>(i) + 1]->WaitForNotificationWithTimeout(kLong));
      }
      if (ended.fetch_add(1) + 1 == kCalls) all.Notify();
    });
  }
  EXPECT_TRUE(all.WaitForNotificationWithTimeout(kLong));
}

TEST(DeadlineTimerTest, ACallThatThrowsIsLoggedAndTheNextOneComes) {
  const LogCapture log;
  DeadlineTimer& timer = NewTimer();
  Notification called;
  const absl::Time time = absl::Now();
  const DeadlineTimer::Id id = timer.Add(time, [&] {
    called.Notify();
    throw std::runtime_error("bad call");
  });
  EXPECT_TRUE(called.WaitForNotificationWithTimeout(kLong));
  timer.Remove(time, id);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("bad call"), std::string::npos);
  Notification next;
  timer.Add(absl::Now(), [&] { next.Notify(); });
  EXPECT_TRUE(next.WaitForNotificationWithTimeout(kLong));
}

TEST(DeadlineTimerTest, WithoutAThreadOfTheSystemNothingIsAdded) {
  DeadlineTimer& timer = NewTimer(&NoThread);
  EXPECT_EQ(timer.Add(absl::Now(), [] { FAIL(); }), DeadlineTimer::kNone);
}

TEST(DeadlineTimerTest, WithoutThreadsForCallsTheTimersThreadRunsThem) {
  DeadlineTimer& timer = NewTimer(&pthread_create, &NoThread);
  for (int i = 0; i < 3; ++i) {
    Notification called;
    timer.Add(absl::Now(), [&] { called.Notify(); });
    EXPECT_TRUE(called.WaitForNotificationWithTimeout(kLong));
  }
}

TEST(DeadlineTimerTest, ATimedCallIsMadeWhileItLives) {
  Notification called;
  {
    const TimedCall now(absl::Now(), [&] { called.Notify(); });
    EXPECT_TRUE(called.WaitForNotificationWithTimeout(kLong));
  }
  const TimedCall never(absl::InfiniteFuture(), [] { FAIL(); });
}

// Sanitizers have threads of their own, which a child lacks.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(SLUICE_TSAN)
TEST(DeadlineTimerTest, AForkedChildHasATimerOfItsOwn) {
  Notification called;
  DeadlineTimer::Global().Add(absl::Now(), [&] { called.Notify(); });
  ASSERT_TRUE(called.WaitForNotificationWithTimeout(kLong));
  const absl::Time of_parent = absl::Now() + absl::Hours(1);
  const DeadlineTimer::Id id = DeadlineTimer::Global().Add(of_parent, [] {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Notification in_child;
    DeadlineTimer::Global().Remove(of_parent, id);  // Nothing of the parent's is there.
    DeadlineTimer::Global().Add(absl::Now() + absl::Milliseconds(1), [&] { in_child.Notify(); });
    _exit(in_child.WaitForNotificationWithTimeout(absl::Seconds(20)) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  DeadlineTimer::Global().Remove(of_parent, id);
}
#endif

// ---- Service threads and deferred runs ----

class CountedTask final : public ServiceThreads::Task {
 public:
  explicit CountedTask(std::function<void()> work) : work_(std::move(work)) {}
  void RunTask() noexcept override { work_(); }

 private:
  const std::function<void()> work_;
};

// However few may run at once.
TEST(ServiceThreadsTest, EachTaskHasAThreadThoughAllWait) {
  static ServiceThreads& threads = *new ServiceThreads(&pthread_create, 2);
  constexpr int kTasks = 10;
  std::atomic<int> began{0}, ended{0};
  Notification all_began, go_on, all_ended;
  std::vector<std::unique_ptr<CountedTask>> tasks;
  for (int i = 0; i < kTasks; ++i) {
    tasks.push_back(std::make_unique<CountedTask>([&] {
      if (began.fetch_add(1) + 1 == kTasks) all_began.Notify();
      go_on.WaitForNotification();
      if (ended.fetch_add(1) + 1 == kTasks) all_ended.Notify();
    }));
    EXPECT_TRUE(threads.Run(tasks.back().get()));
  }
  EXPECT_TRUE(all_began.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(threads.num_threads(), kTasks);
  go_on.Notify();
  all_ended.WaitForNotification();
}

TEST(ServiceThreadsTest, ThreadsAreUsedAgain) {
  static ServiceThreads& threads = *new ServiceThreads();
  for (int i = 0; i < 50; ++i) {
    Notification ran;
    CountedTask task([&] { ran.Notify(); });
    EXPECT_TRUE(threads.Run(&task));
    ran.WaitForNotification();
  }
  EXPECT_LE(threads.num_threads(), 50);
  EXPECT_GE(threads.num_threads(), 1);
}

TEST(ServiceThreadsTest, ManyTasksTakeFewThreads) {
  static ServiceThreads& threads = *new ServiceThreads(&pthread_create, 4);
  constexpr int kTasks = 20'000;
  std::atomic<int> ended{0};
  Notification all_ended;
  std::vector<std::unique_ptr<CountedTask>> tasks;
  for (int i = 0; i < kTasks; ++i) {
    tasks.push_back(std::make_unique<CountedTask>([&] {
      if (ended.load() % 100 == 0) absl::SleepFor(absl::Milliseconds(3));
      if (ended.fetch_add(1) + 1 == kTasks) all_ended.Notify();
    }));
    EXPECT_TRUE(threads.Run(tasks.back().get()));
  }
  EXPECT_TRUE(all_ended.WaitForNotificationWithTimeout(kLong));
  // One stands by. More where the machine is so busy that nothing happens for a long time.
  EXPECT_LE(threads.most_threads(), 4 + 1 + 4);
}

// Their turn comes in the order of their urgency, and then of their coming.
TEST(ServiceThreadsTest, UrgentTasksComeFirst) {
  static ServiceThreads& threads = *new ServiceThreads(&pthread_create, 1);
  Notification go_on, all_ended, first_ended;
  Mutex mu;
  std::vector<int> order;
  CountedTask first([&] {
    go_on.WaitForNotification();
    first_ended.Notify();
  });
  EXPECT_TRUE(threads.Run(&first));
  std::vector<std::unique_ptr<CountedTask>> tasks;
  const auto run = [&](int number, ServiceThreads::Urgency urgency) {
    tasks.push_back(std::make_unique<CountedTask>([&, number] {
      MutexLock lock(&mu);
      order.push_back(number);
      if (order.size() == 4) all_ended.Notify();
    }));
    EXPECT_TRUE(threads.Run(tasks.back().get(), urgency));
  };
  for (const int number : {2, 3}) run(number, ServiceThreads::Urgency::kInTurn);
  for (const int number : {0, 1}) run(number, ServiceThreads::Urgency::kSoon);
  EXPECT_TRUE(all_ended.WaitForNotificationWithTimeout(kLong)) << "the first one blocks, the others have their turn";
  go_on.Notify();
  first_ended.WaitForNotification();
  MutexLock lock(&mu);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

// Each waits for the next one.
TEST(ServiceThreadsTest, TasksAtOnceHaveThreadsOfTheirOwn) {
  static ServiceThreads& threads = *new ServiceThreads(&pthread_create, 1);
  constexpr size_t kTasks = 30;
  std::vector<std::unique_ptr<Notification>> ran;
  std::vector<std::unique_ptr<CountedTask>> tasks(kTasks);
  for (size_t i = 0; i <= kTasks; ++i) ran.push_back(std::make_unique<Notification>());
  for (size_t i = 0; i < kTasks; ++i) {
    tasks[i] = std::make_unique<CountedTask>([&, i] {
      if (i + 1 < kTasks) {
        EXPECT_TRUE(threads.Run(tasks[i + 1].get(), ServiceThreads::Urgency::kAtOnce));
        EXPECT_TRUE(ran[i + 1]->WaitForNotificationWithTimeout(kLong));
      }
      ran[i]->Notify();
    });
  }
  const absl::Time start = absl::Now();
  EXPECT_TRUE(threads.Run(tasks[0].get(), ServiceThreads::Urgency::kAtOnce));
  EXPECT_TRUE(ran[0]->WaitForNotificationWithTimeout(kLong));
  EXPECT_GE(threads.most_threads(), static_cast<int>(kTasks));
  RecordProperty("ms", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - start)));
}

TEST(ServiceThreadsTest, SaysThatTheSystemGivesNoThread) {
  ServiceThreads threads(&NoThread);
  CountedTask task([] { FAIL(); });
  EXPECT_FALSE(threads.Run(&task));
  EXPECT_EQ(threads.num_threads(), 0);
}

// A run that notes where it continued.
class NotedRun final : public DeferredRun {
 public:
  NotedRun(std::string name, std::vector<std::string>* log, bool has_threads = false, StepId step_id = StepId())
      : DeferredRun(step_id), name_(std::move(name)), log_(log), has_threads_(has_threads) {}
  void RunTask() noexcept override {
    EXPECT_EQ(ThreadRuns::Current().depth(), 0);
    const ThreadRuns::Scope scope;
    log_->push_back(name_ + " here");
    if (then) then();
  }
  bool HandOver(To) noexcept override {
    if (has_threads_) log_->push_back(name_ + " elsewhere");
    return has_threads_;
  }
  std::function<void()> then;

 private:
  const std::string name_;
  std::vector<std::string>* const log_;
  const bool has_threads_;
};

TEST(ThreadRunsTest, DeferredRunsContinueInOrderAtTheEndOfTheOutermost) {
  std::vector<std::string> log;
  NotedRun a("a", &log), b("b", &log), c("c", &log);
  a.then = [&] { ThreadRuns::Current().Push(&c); };
  ThreadRuns& runs = ThreadRuns::Current();
  {
    const ThreadRuns::Scope outer;
    {
      const ThreadRuns::Scope inner;
      EXPECT_EQ(runs.depth(), 2);
      runs.Push(&a);
      runs.Push(&b);
    }
    EXPECT_TRUE(log.empty());
  }
  EXPECT_EQ(runs.depth(), 0);
  EXPECT_EQ(log, (std::vector<std::string>{"a here", "b here", "c here"}));
}

TEST(ThreadRunsTest, RunsWithThreadsAreHandedOver) {
  std::vector<std::string> log;
  NotedRun a("a", &log, true), b("b", &log), c("c", &log, true);
  ThreadRuns& runs = ThreadRuns::Current();
  {
    const ThreadRuns::Scope scope;
    runs.Push(&a);
    runs.Push(&b);
    runs.HandToOwnThreads();
    EXPECT_EQ(log, std::vector<std::string>{"a elsewhere"});
    const ThreadRuns::HandOverScope serial;
    runs.Push(&c);
    EXPECT_EQ(log, (std::vector<std::string>{"a elsewhere", "c elsewhere"}));
    EXPECT_TRUE(runs.Remove(&b));
    EXPECT_FALSE(runs.Remove(&b));
  }
  EXPECT_EQ(log.size(), 2u);
}

TEST(ThreadRunsTest, ARunWithoutThreadsGoesToAServiceThreadBeforeAWait) {
  std::vector<std::string> log;
  NotedRun a("a", &log);
  Notification ran;
  a.then = [&] { ran.Notify(); };
  const ThreadRuns::Scope scope;
  ThreadRuns::Current().Push(&a);
  const ThreadRuns::WaitScope wait;
  EXPECT_EQ(ThreadRuns::Current().depth(), 0);
  EXPECT_TRUE(ran.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(log, std::vector<std::string>{"a here"});
}

TEST(ThreadRunsTest, AThreadWhoseCallerWaitsContinuesItsRunAndItsStepAndNothingElse) {
  std::vector<std::string> log, log_of_bare;
  NotedRun own("own", &log, true), other("other", &log, true), unknown("unknown", &log, true);
  NotedRun part("part", &log, true, StepId(1)), next("next", &log, true, StepId(2)), bare("bare", &log_of_bare);
  std::unique_ptr<Notification> bare_ran;
  std::thread::id bare_ran_on;
  bare.then = [&] {
    bare_ran_on = std::this_thread::get_id();
    bare_ran->Notify();
  };
  const auto free_all = [&] {
    bare_ran = std::make_unique<Notification>();
    log.clear();
    {
      ThreadRuns& runs = ThreadRuns::Current();
      const ThreadRuns::Scope scope;
      for (NotedRun* const run : {&other, &part, &next, &unknown, &bare, &own}) runs.Push(run);
    }
    ASSERT_TRUE(bare_ran->WaitForNotificationWithTimeout(kLong));
  };
  {
    const ThreadRuns::AwaitScope awaited(own);  // Its step is not known, as that of `other`.
    free_all();
    EXPECT_EQ(log, (std::vector<std::string>{"other elsewhere", "part elsewhere", "next elsewhere", "unknown elsewhere",
                                             "own here"}));
    EXPECT_NE(bare_ran_on, std::this_thread::get_id());
  }
  {
    const ThreadRuns::WaitScope awaited(StepId(1));
    free_all();
    EXPECT_EQ(log, (std::vector<std::string>{"other elsewhere", "part here", "next elsewhere", "unknown elsewhere",
                                             "own elsewhere"}));
    EXPECT_NE(bare_ran_on, std::this_thread::get_id());
  }
  free_all();
  EXPECT_EQ(log, (std::vector<std::string>{"other here", "part here", "next here", "unknown here", "own here"}))
      << "where nothing waits, all of it is continued";
  EXPECT_EQ(bare_ran_on, std::this_thread::get_id());
}

// The call waits for a run that is deferred on the thread that removes it.
TEST(ThreadRunsTest, WhileRemoveWaitsDeferredRunsGoOn) {
  Notification began, ran;
  std::vector<std::string> log;
  NotedRun run("run", &log);
  run.then = [&] { ran.Notify(); };
  bool has_run = false;
  {
    const ThreadRuns::Scope scope;
    ThreadRuns::Current().PushLocal(&run);
    const TimedCall call(absl::Now(), [&] {
      began.Notify();
      has_run = ran.WaitForNotificationWithTimeout(absl::Seconds(20));
    });
    began.WaitForNotification();
  }
  EXPECT_TRUE(has_run);
}

TEST(ThreadRunsTest, AThreadMayContinueWhatItsCallerWaitsForAndWhereItWaitsForNothingAll) {
  std::vector<std::string> log;
  const NotedRun own("own", &log), part("part", &log, false, StepId(1)), other("other", &log);
  const ThreadRuns& runs = ThreadRuns::Current();
  EXPECT_TRUE(runs.MayContinue(own));
  {
    const ThreadRuns::AwaitScope awaited(StepId(1));
    EXPECT_TRUE(runs.MayContinue(part));
    EXPECT_FALSE(runs.MayContinue(other));
    const ThreadRuns::AwaitScope inner(own);
    EXPECT_TRUE(runs.MayContinue(own));
    EXPECT_FALSE(runs.MayContinue(part));
    const ThreadRuns::Scope scope;
    EXPECT_FALSE(runs.MayContinue(own));
  }
  EXPECT_TRUE(runs.MayContinue(other));
}

}  // namespace
}  // namespace sluice

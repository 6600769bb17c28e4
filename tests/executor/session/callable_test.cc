#include "executor/session/callable.h"

#include <atomic>
#include <random>
#include <thread>

#include "absl/time/clock.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

class CallableTest : public SessionFixture {
 protected:
  std::shared_ptr<const Callable> Prepare(FeedFetchSpec spec) {
    absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare(spec);
    EXPECT_OK(made);
    return made.ok() ? *made : nullptr;
  }
};

TEST_F(CallableTest, WrongCountsAndTypesAreRefused) {
  AddSimpleGraph();
  Open();
  const auto f = Prepare({{"x"}, {"z"}, {}, {}});
  Tensor in[] = {Int(1), Int(2)}, out[2];
  const auto inputs = absl::MakeSpan(in), outputs = absl::MakeSpan(out);
  EXPECT_THAT(f->Run(inputs, outputs.subspan(0, 1)), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(f->Run(inputs.subspan(0, 1), outputs), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(f->Run({}, outputs.subspan(0, 1)), IsError(ErrorCode::kWrongUse));
  Tensor none[1];
  EXPECT_THAT(f->Run(absl::MakeSpan(none), outputs.subspan(0, 1)), IsError(ErrorCode::kFeedType));
  ASSERT_OK(f->Run(inputs.subspan(0, 1), outputs.subspan(0, 1)));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 4);
}

TEST_F(CallableTest, OutlivesItsSessionAndSaysThatItIsClosed) {
  AddSimpleGraph();
  Open();
  const auto f = Prepare({{"x"}, {"z"}, {}, {}});
  session_.reset();
  Tensor in[] = {Int(1)}, out[1];
  EXPECT_THAT(f->Run(in, absl::MakeSpan(out)), IsError(ErrorCode::kSessionClosed));
}

TEST_F(CallableTest, ConnectionsReplaceATensorByAnother) {
  AddSimpleGraph();
  b_.Const("ten", Int(10));
  b_.Op("Neg", "after", {Output{b_.graph().Find("z"), 0}});
  Open();
  const auto f = Prepare({{}, {"z"}, {}, {{"ten:0", "y:0"}}});
  Tensor out[1];
  ASSERT_OK(f->Run({}, absl::MakeSpan(out)));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 100);
  EXPECT_FALSE(session_->Prepare({{}, {"z"}, {}, {{"nobody:0", "y:0"}}}).ok());
  EXPECT_FALSE(session_->Prepare({{}, {"z"}, {}, {{"ten:1", "y:0"}}}).ok());
  EXPECT_FALSE(session_->Prepare({{}, {"after"}, {}, {{"z:0", "y:0"}}}).ok());
  EXPECT_FALSE(session_->Prepare({{"y"}, {"z"}, {}, {{"ten:0", "y:0"}}}).ok());
}

TEST_F(CallableTest, GivesTheSameFromManyThreads) {
  AddSimpleGraph();
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    Open(options);
    const auto f = Prepare({{"x"}, {"z", "y"}, {}, {}});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int32_t i = 0; i < 1000; ++i) {
          Tensor in[] = {Int(t * 1000 + i)}, out[2];
          const int32_t y = t * 1000 + i + 1;
          const absl::Status status = f->Run(in, absl::MakeSpan(out));
          if (!status.ok() || *out[0].AsScalar<int32_t>() != y * y || *out[1].AsScalar<int32_t>() != y) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

// A loop of x iterations around an Assert that fails for x == 13.
class StormTest : public CallableTest {
 protected:
  void AddLoop() {
    const Output x = b_.Placeholder("x", DType::kInt32, PartialShape::Scalar());
    const Output fine = b_.Op("NotEqual", "fine", {x, b_.Const("thirteen", Int(13))});
    const Output check = b_.Op("Assert", "check", {fine, x}, {{"T", std::vector<DType>{DType::kInt32}}});
    const Output start = b_.Op("Identity", "start", {b_.Const("zero", Int(0))});
    b_.AddControl(start, check);
    const Output enter = b_.Op("Enter", "enter", {start}, {{"frame_name", "f"}});
    const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
    const Output limit = b_.Op("Enter", "limit", {x}, {{"frame_name", "f"}, {"is_constant", true}});
    const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, limit})});
    const Output ports = b_.Op("Switch", "switch", {merge, condition});
    const Output one = b_.Const("one", Int(1));
    b_.AddControl(one, b_.Op("Identity", "pivot", {GraphBuilder::Nth(ports, 1)}));
    b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {b_.Op("AddV2", "plus", {GraphBuilder::Nth(ports, 1), one})}));
    b_.Op("Exit", "out", {ports});
  }

  // One run of many: some are cancelled, some have a deadline, some fail. Whether its outcome is one that may be.
  bool RunOne(const Callable& f, uint32_t seed) {
    std::mt19937 random(seed);
    const uint32_t kind = random() % 4;
    const int32_t x = kind == 0 ? 13 : static_cast<int32_t>(random() % 3000) + 14;
    CancellationManager cancellation;
    CallOptions call;
    if (kind == 1) call.deadline = absl::Now() + absl::Microseconds(random() % 300);
    if (kind == 2) call.cancellation = &cancellation;
    std::thread canceller;
    if (kind == 2) canceller = std::thread([&cancellation] { cancellation.StartCancel(); });
    Tensor in[] = {Int(x)}, out[1];
    const absl::Status status = f.Run(in, absl::MakeSpan(out), call);
    if (canceller.joinable()) canceller.join();
    if (status.ok()) return kind != 0 && *out[0].AsScalar<int32_t>() == x;
    if (kind == 0) return status.code() == absl::StatusCode::kInvalidArgument;
    if (kind == 1) return status.code() == absl::StatusCode::kDeadlineExceeded;
    return kind == 2 && status.code() == absl::StatusCode::kCancelled;
  }
};

TEST_F(StormTest, AThousandRunsAtOnceEndAsTheyMust) {
  AddLoop();
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    Open(options);
    const auto f = Prepare({{"x"}, {"out"}, {}, {}});
    ASSERT_NE(f, nullptr);
    std::atomic<int> wrong{0};
    const int64_t before = HostAllocatorLiveBytes();
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 1000; ++t) {
      threads.emplace_back([&, t] { wrong += RunOne(*f, t) ? 0 : 1; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(HostAllocatorLiveBytes(), before);
  }
}

}  // namespace
}  // namespace sluice

// A great many steps that wait in queues: what they hold, in what order they are served, and how they end.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "graph/base/mutex.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/counting_new.h"

namespace sluice {
namespace {

int64_t NumThreads() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/task"), Entries());
}

class WaitingQueuesTest : public SessionFixture {
 protected:
  static constexpr size_t kSteps = 10'000;

  // Steps "get", "pass" (which puts what it gets, and 1 more), "put", which puts all of "values", "close" and "peek".
  WaitingQueuesTest() {
    const GraphBuilder::Attrs types = {{"component_types", std::vector<DType>{DType::kInt32}}};
    GraphBuilder::Attrs queue = types;
    queue.emplace_back("shapes", std::vector<PartialShape>{PartialShape::Scalar()});
    const Output q = b_.Op("FIFOQueueV2", "q", {}, queue);
    b_.Op("QueueDequeueV2", "get", {q}, types);
    const Output got = b_.Op("QueueDequeueV2", "got", {q}, types);
    b_.Op("QueueEnqueueV2", "pass", {q, b_.Op("AddV2", "more", {got, b_.Const("one", Int(1))})});
    b_.Op("QueueEnqueueManyV2", "put", {q, b_.Placeholder("values", DType::kInt32)});
    b_.Op("QueueCloseV2", "close", {q});
    b_.Op("StagePeek", "peek", {b_.Const("index", Int(0))}, {{"dtypes", std::vector<DType>{DType::kInt32}}});
  }

  // Begins kSteps steps, which wait.
  void Begin(FeedFetchSpec spec) {
    absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare(spec);
    ASSERT_OK(made);
    const size_t num_outputs = spec.fetches.size();
    for (size_t i = 0; i < kSteps; ++i) {
      if (i == 64) bytes_before_ = LiveNewBytes();
      (*made)->RunAsync({}, absl::MakeSpan(out_).subspan(i, num_outputs), {}, [this, i](const absl::Status& status) {
        codes_[i] = status.code();
        if (++ended_ == kSteps) all_over_.Notify();
      });
    }
    EXPECT_EQ(ended_, 0u);
  }
  int64_t BytesOfAStep() const { return (LiveNewBytes() - bytes_before_) / static_cast<int64_t>(kSteps - 64); }
  void ExpectAll(absl::StatusCode code) {
    all_over_.WaitForNotification();
    for (const absl::StatusCode found : codes_) ASSERT_EQ(found, code);
  }
  void Put(const std::vector<int32_t>& values) {
    ASSERT_OK(session_->Run({{"values", Tensor::Vector<int32_t>(values)}}, {}, {"put"}));
  }

  std::vector<Tensor> out_ = std::vector<Tensor>(kSteps);
  std::vector<absl::StatusCode> codes_ = std::vector<absl::StatusCode>(kSteps);
  std::atomic<size_t> ended_{0};
  Notification all_over_;
  int64_t bytes_before_ = 0;
};

TEST_F(WaitingQueuesTest, HoldNoThreadAndLittleMemoryAndAreServedInTurn) {
  Open();
  const int64_t threads_before = NumThreads();
  Begin({{}, {"get"}, {}, {}});
  const int64_t bytes = BytesOfAStep();
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 2048);
  EXPECT_LE(NumThreads(), threads_before + 2) << "the pool's, at most";
  std::vector<int32_t> values(kSteps);
  for (size_t i = 0; i < kSteps; ++i) values[i] = static_cast<int32_t>(i);
  Put(values);
  ExpectAll(absl::StatusCode::kOk);
  for (size_t i = 0; i < kSteps; ++i) ASSERT_EQ(*out_[i].AsScalar<int32_t>(), static_cast<int32_t>(i));
}

// Each step makes the next one ready inside of its own end.
TEST_F(WaitingQueuesTest, ATokenGoesThroughAllOfThem) {
  Open();
  Begin({{}, {}, {"pass"}, {}});
  Put({0});
  ExpectAll(absl::StatusCode::kOk);
  ExpectFetch("get", static_cast<int32_t>(kSteps));
}

TEST_F(WaitingQueuesTest, AClosedQueueEndsAllOfThem) {
  Open();
  Begin({{}, {"get"}, {}, {}});
  ASSERT_OK(session_->Run({}, {}, {"close"}));
  ExpectAll(absl::StatusCode::kOutOfRange);
}

TEST_F(WaitingQueuesTest, AreCancelledWithTheirSession) {
  Open();
  Begin({{}, {"get"}, {}, {}});
  ASSERT_OK(session_->Close());
  ExpectAll(absl::StatusCode::kCancelled);
}

// Where none waits for another, each change has all of them try: neither their coming nor their going is a change.
TEST_F(WaitingQueuesTest, ThoseThatWaitInAnyOrderAreCancelledToo) {
  Open();
  Begin({{}, {"peek"}, {}, {}});
  ASSERT_OK(session_->Close());
  ExpectAll(absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sluice

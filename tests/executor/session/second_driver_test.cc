// The first run that is to try the other driver prepares that: under its own deadline, too, and the next run tries
// again. Seen by the memory that it takes.
// (Not under sanitizers, which have an operator new of their own.)

#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/compiled/driver_choice.h"
#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

#ifdef SLUICE_COUNTS_NEW
TEST(SecondDriverTest, ARunsDeadlineCoversIt) {
  constexpr int64_t kNodes = 50'000;
  GraphBuilder b(NewOpRegistry());
  Output last = b.Placeholder("x", DType::kInt32);
  for (int64_t i = 0; i < kNodes; ++i) last = b.Op("Neg", "", {last});
  b.Op("Identity", "y", {last});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  SessionOptions options;
  options.num_threads = 2;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, std::move(graph)));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session->Prepare({{"x"}, {"y"}, {}, {}}));
  ASSERT_NE(callable->program(), nullptr);
  const auto run = [&](absl::Time deadline) {
    std::vector<Tensor> inputs = {Tensor::Scalar<int32_t>(1)}, outputs(1);
    CallOptions call;
    call.deadline = deadline;
    return callable->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs), call);
  };
  for (int64_t i = 0; i < DriverChoice::kMeasuredRuns; ++i) ASSERT_OK(run(absl::InfiniteFuture()));
  ResetPeakNewBytes();
  const int64_t before = PeakNewBytes();
  EXPECT_THAT(run(absl::Now() - absl::Seconds(1)), IsError(ErrorCode::kDeadline));
  EXPECT_LT(PeakNewBytes() - before, kNodes);
  ASSERT_OK(run(absl::InfiniteFuture()));
  EXPECT_GT(PeakNewBytes() - before, 8 * kNodes) << "the other driver is not prepared";
}
#endif

}  // namespace
}  // namespace sluice

// Callable::RunAsync beside Callable::Run, on a chain of scalar additions (B1: 10,000 nodes) and on one node (B8). Both
// are timed in turns, batch by batch, so that what else the machine does meets both alike; the figures are of the
// medians. One argument: how many batches each (default 40).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "tests/bench/batch_timer.h"

namespace sluice {
namespace {

// A chain of `nodes` additions, prepared for one thread.
class Chain {
 public:
  explicit Chain(int nodes) {
    GraphBuilder b(NewOpRegistry());
    const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Scalar());
    Output last = x;
    for (int i = 0; i < nodes; ++i) last = b.Op("AddV2", i + 1 < nodes ? "" : "y", {last, x});
    absl::StatusOr<Graph> graph = b.Build();
    SLUICE_CHECK_OK(graph.status());
    SessionOptions options;
    options.num_threads = 1;
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, *std::move(graph));
    SLUICE_CHECK_OK(session.status());
    session_ = *std::move(session);
    absl::StatusOr<std::shared_ptr<const Callable>> callable = session_->Prepare({{"x"}, {"y"}, {}, {}});
    SLUICE_CHECK_OK(callable.status());
    callable_ = *std::move(callable);
  }

  void Run() {
    in_[0] = Tensor::Scalar(1.0f);
    SLUICE_CHECK(callable_->Run(absl::MakeSpan(in_), absl::MakeSpan(out_)).ok());
  }
  void RunAsync() {
    in_[0] = Tensor::Scalar(1.0f);
    bool is_over = false;
    callable_->RunAsync(absl::MakeSpan(in_), absl::MakeSpan(out_), {},
                        [&is_over](const absl::Status& status) { is_over = status.ok(); });
    SLUICE_CHECK(is_over);
  }

 private:
  std::unique_ptr<Session> session_;
  std::shared_ptr<const Callable> callable_;
  Tensor in_[1], out_[1];
};

void Compare(const char* name, int nodes, int batches) {
  constexpr double kBatchMs = 20;
  Chain chain(nodes);
  std::vector<double> run, run_async;
  for (int batch = 0; batch < batches; ++batch) {
    run.push_back(TimeBatches(1, kBatchMs, 1, [&chain] { chain.Run(); }).front());
    run_async.push_back(TimeBatches(1, kBatchMs, 1, [&chain] { chain.RunAsync(); }).front());
  }
  std::sort(run.begin(), run.end());
  std::sort(run_async.begin(), run_async.end());
  const double one = run[run.size() / 2], other = run_async[run_async.size() / 2];
  std::printf("%s (%d nodes): Run %.1f ns, RunAsync %.1f ns: ratio %.3f, difference %.1f ns\n", name, nodes, one, other,
              other / one, other - one);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const int batches = argc > 1 ? std::max(1, std::atoi(argv[1])) : 40;
  sluice::Compare("B8", 1, batches);
  sluice::Compare("B1", 10'000, batches);
  return 0;
}

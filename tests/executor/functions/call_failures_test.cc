// Every allocation of a run with calls fails once: the run ends with kOutOfMemory or well, the next one is right, and
// nothing is lost. Of runs only, as in allocation_failures_test. Sanitizers have an operator new of their own: there
// the runs happen, and nothing fails.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/as_status.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int kDepth = 60;  // More registers than one block of the stack of calls holds.

// f_i(x) = -f_(i-1)(x) for vectors, each a body that is called.
std::unique_ptr<Session> MakeSession(Driver driver) {
  GraphBuilder b(NewOpRegistry());
  for (int i = 0; i < kDepth; ++i) {
    FunctionText text(absl::StrCat("f", i));
    text.Arg("x: float").Result("y: float", "n:y:0");
    if (i > 0) text.Node(absl::StrCat("c = f", i - 1, "(x)"));
    text.Node(absl::StrCat("n = Neg(", i > 0 ? "c:y:0" : "x", ")"), {{"T", DType::kFloat}});
    text.AddTo(b.graph());
  }
  const Output x = b.Placeholder("x", DType::kFloat);
  b.Op("AddV2", "sum", {Call(b, "y", absl::StrCat("f", kDepth - 1), {x}, {DType::kFloat}), x});
  SessionOptions options;
  options.num_threads = 1;
  options.driver = driver;
  options.function_calls = CallPolicy::kCall;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, b.graph());
  EXPECT_OK(session);
  return session.ok() ? *std::move(session) : nullptr;
}

TEST(CallFailuresTest, EachAllocationOfARunMayFail) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    const std::unique_ptr<Session> session = MakeSession(driver);
    ASSERT_NE(session, nullptr);
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session->Prepare({{"x"}, {"sum"}, {}, {}}));
    const Tensor x = Tensor::Vector<float>(std::vector<float>(100, 2.0f));
    const auto run = [&]() -> absl::Status {
      Tensor input[] = {x}, output[1];
      const absl::Status status = callable->Run(input, absl::MakeSpan(output));
      const bool is_right = !status.ok() || (output[0].num_elements() == 100 && output[0].flat<float>()[99] == 4);
      return is_right ? status : absl::InternalError("wrong answer");
    };
    for (int i = 0; i < 3; ++i) ASSERT_OK(run());
#ifdef SLUICE_COUNTS_NEW
    const int64_t live = LiveNewBytes();
    int64_t num_failed = 0;
    for (const bool and_later : {false, true}) {
      bool has_failed = true;
      for (int64_t n = 1; has_failed; ++n) {
        FailNewCall(n, and_later);
        const absl::Status status = AsStatus(run);
        has_failed = HasFailedNewCall();
        FailNewCall(0);
        ASSERT_TRUE(status.ok() || (has_failed && status.code() == absl::StatusCode::kResourceExhausted))
            << "allocation " << n << ": " << status;
        num_failed += status.ok() ? 0 : 1;
        ASSERT_OK(run());
      }
    }
    EXPECT_GT(num_failed, 0);
    EXPECT_LT(LiveNewBytes() - live, 64 << 10) << "a run that failed has lost something";
#endif
  }
}

}  // namespace
}  // namespace sluice

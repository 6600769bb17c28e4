// What goes wrong goes wrong in the same way whichever driver runs the graph.

#include <cmath>
#include <stdexcept>

#include "absl/time/clock.h"
#include "graph/value/ref_cell.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

class DriverAgreementTest : public SessionFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  DriverAgreementTest() { RegisterAllKernels(kernels_); }

  void Replace(const char* op, FunctionKernel::Function function) {
    ASSERT_OK(kernels_.AddCustom(op, DeviceKind::kCpu, MakeFunction(std::move(function))));
  }
  void OpenDriver() {
    SessionOptions options;
    options.driver = GetParam();
    options.kernels = &kernels_;
    Open(options);
  }

  KernelRegistry kernels_;
};

TEST_P(DriverAgreementTest, OutputsThatNobodyReadsMayBeMissing) {
  Replace("Neg", [](KernelContext&) { return absl::OkStatus(); });
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.Op("Neg", "unread", {x});
  b_.Op("Abs", "reader", {b_.Op("Neg", "read", {x})});
  OpenDriver();
  EXPECT_OK(session_->Run({{"x", Int(1)}}, {}, {"unread"}));
  EXPECT_THAT(Fetch("reader", {{"x", Int(1)}}), IsError(ErrorCode::kOutputMissing, "Neg 'read'"));
  EXPECT_THAT(Fetch("unread", {{"x", Int(1)}}), IsError(ErrorCode::kOutputMissing, "Neg 'unread'"));
}

TEST_P(DriverAgreementTest, ValuesAndReferencesOfAnotherTypeAreErrors) {
  Replace("Neg", [](KernelContext& context) {
    context.SetOutput(0, Tensor::Scalar(1.0f));
    return absl::OkStatus();
  });
  Replace("VariableV2", [](KernelContext& context) {
    static RefCell& cell = *new RefCell(DType::kInt32);
    context.SetRefOutput(0, &cell);
    return absl::OkStatus();
  });
  b_.Op("Neg", "n", {b_.Placeholder("x", DType::kInt32)});
  b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  OpenDriver();
  EXPECT_THAT(Fetch("n", {{"x", Int(1)}}), IsError(ErrorCode::kOutputType, "Neg 'n'"));
  EXPECT_THAT(session_->Run({}, {}, {"v"}), IsError(ErrorCode::kOutputType, "VariableV2 'v'"));
}

TEST_P(DriverAgreementTest, ADeadlineInThePastRunsNothing) {
  AddSimpleGraph();
  OpenDriver();
  for (const absl::Time deadline : {absl::InfinitePast(), absl::UnixEpoch(), absl::Now()}) {
    CallOptions options;
    options.deadline = deadline;
    EXPECT_THAT(Fetch("z", {{"x", Int(1)}}, options), IsError(ErrorCode::kDeadline));
  }
}

TEST_P(DriverAgreementTest, ExceptionsAndUninitializedVariablesNameTheNode) {
  Replace("Neg", [](KernelContext&) -> absl::Status { throw std::runtime_error("bad plan"); });
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Neg", "n", {b_.Placeholder("x", DType::kInt32)});
  b_.Op("Abs", "abs", {v});
  b_.Op("AssignAdd", "add", {v, b_.Const("one", Int(1))});
  OpenDriver();
  EXPECT_THAT(Fetch("n", {{"x", Int(1)}}), IsError(ErrorCode::kKernelException, "Neg 'n'"));
  EXPECT_THAT(Fetch("abs"), IsError(ErrorCode::kUninitialized, "Abs 'abs': input 0 'v"));
  EXPECT_THAT(session_->Run({}, {}, {"add"}), StatusIs(absl::StatusCode::kFailedPrecondition, "AssignAdd 'add'"));
}

TEST_P(DriverAgreementTest, FedAndFetchedTensorsAndConstantsStayAsTheyAre) {
  const std::vector<float> ones(1000, 1.0f);
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output same = b_.Op("Identity", "same", {x}), c = b_.Const("c", Tensor::Vector<float>(ones));
  const Output sum = b_.Op("AddV2", "sum", {same, c});
  b_.Op("Neg", "neg", {sum});
  b_.Op("Exp", "exp", {c});
  OpenDriver();
  const Tensor fed = Tensor::Vector<float>(ones);
  for (int run = 0; run < 3; ++run) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found,
                         session_->Run({{"x", fed}}, {"same", "sum", "neg", "exp", "c", "sum"}, {}));
    const float expected[] = {1, 2, -2, std::exp(1.0f), 1, 2};
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i].flat<float>()[999], expected[i], 1e-5f) << i;
    EXPECT_EQ(fed.flat<float>()[999], 1.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverAgreementTest, testing::Values(Driver::kSerial, Driver::kDataflow));

}  // namespace
}  // namespace sluice

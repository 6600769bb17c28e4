// Errors are the same under every driver.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/value/ref_cell.h"
#include "kernels/families/register_all.h"
#include "rendezvous/frame_hash.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/random_program.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

class DriverAgreementTest : public SessionFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  DriverAgreementTest() { RegisterAllKernels(kernels_); }

  void Replace(const char* op, FunctionKernel::Function function) {
    ASSERT_OK(kernels_.Add(OwnedKernelRow(op, MakeFunction(std::move(function)))));
  }
  void OpenDriver() {
    SessionOptions options;
    options.driver = GetParam();
    options.kernels = &kernels_;
    Open(options);
  }

  // A counter that goes to `times` under frame `name`; `start` and what it reads is outside. The Exit's value.
  struct CountingLoop {
    Output merge, body, exit;
  };
  CountingLoop AddCountingLoop(const std::string& name, Output start, Output limit, Output one) {
    const auto enter = [&](const char* what, Output value, bool is_constant) {
      return b_.Op("Enter", name + what, {value}, {{"frame_name", name}, {"is_constant", is_constant}});
    };
    const Output in = enter("_in", start, false);
    CountingLoop made;
    made.merge = b_.Op("Merge", name + "_merge", {in, in});
    const Output less = b_.Op("Less", name + "_less", {made.merge, enter("_limit", limit, true)});
    const Output ports = b_.Op("Switch", name + "_ports", {made.merge, b_.Op("LoopCond", name + "_cond", {less})});
    made.body = b_.Op("AddV2", name + "_add", {GraphBuilder::Nth(ports, 1), enter("_one", one, true)});
    made.exit = b_.Op("Exit", name + "_exit", {ports});
    return made;
  }
  // "after" is minus the iterations of the outer loop; each of them counts to `inner` in a loop of its own.
  void AddNestedLoops(int32_t outer, int32_t inner) {
    const Output zero = b_.Const("zero", Int(0)), one = b_.Const("one", Int(1));
    const CountingLoop around = AddCountingLoop("outer", zero, b_.Const("outer_times", Int(outer)), one);
    const auto constant = [&](const char* name, int32_t value) {
      return b_.Op("Enter", name, {b_.Const(absl::StrCat(name, "_value"), Int(value))},
                   {{"frame_name", "outer"}, {"is_constant", true}});
    };
    const Output start = b_.Op("Sub", "start", {around.body, around.body});
    const CountingLoop within =
        AddCountingLoop("inner", start, constant("inner_times", inner), constant("inner_one1", 1));
    b_.SetInput(within.merge, 1, b_.Op("NextIteration", "inner_next", {within.body}));
    const Output next = b_.Op("Identity", "next", {around.body});
    b_.AddControl(next, within.exit);
    b_.SetInput(around.merge, 1, b_.Op("NextIteration", "outer_next", {next}));
    b_.Op("Neg", "after", {around.exit});
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

TEST_P(DriverAgreementTest, KernelsSeeWhichOutputsAreRead) {
  Replace("Unique", [](KernelContext& context) {
    for (int i = 0; i < 2; ++i) {
      if (context.IsOutputUsed(1 - i)) context.SetOutput(1 - i, Tensor::Vector<int32_t>({context.IsOutputUsed(i)}));
    }
    return absl::OkStatus();
  });
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.Op("Identity", "alone", {GraphBuilder::Nth(b_.Op("Unique", "u", {x}), 1)});
  const Output both = b_.Op("Unique", "both", {x});
  b_.Op("AddV2", "sum", {both, GraphBuilder::Nth(both, 1)});
  OpenDriver();
  const absl::StatusOr<Tensor> alone = Fetch("alone", {{"x", Int(1)}});
  ASSERT_OK(alone.status());
  EXPECT_EQ(alone->flat<int32_t>()[0], 0) << "the other output is not read";
  const absl::StatusOr<Tensor> sum = Fetch("sum", {{"x", Int(1)}});
  ASSERT_OK(sum.status());
  EXPECT_EQ(sum->flat<int32_t>()[0], 2) << "each of the two sees that the other is read";
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

TEST_P(DriverAgreementTest, ADeadlineThatPassesInTheLastKernelEndsTheStep) {
  Replace("Neg", [](KernelContext& context) {
    absl::SleepFor(absl::Milliseconds(30));
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  });
  b_.Op("Neg", "n", {b_.Placeholder("x", DType::kInt32)});
  OpenDriver();
  ASSERT_OK(Fetch("n", {{"x", Int(1)}}));
  CallOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(10);
  EXPECT_THAT(Fetch("n", {{"x", Int(1)}}, options), IsError(ErrorCode::kDeadline));
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

// A Snapshot keeps what a variable was, whether it reads the reference itself or through an Identity; an Identity is
// the variable's own memory.
TEST_P(DriverAgreementTest, ASnapshotKeepsTheValueThatAVariableHad) {
  for (const Shape& shape : {Shape(), Shape::Of({2})}) {
    b_ = GraphBuilder(NewOpRegistry());
    const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", shape}});
    const auto value = [&](int32_t x) { return shape.IsScalar() ? Int(x) : Tensor::Vector<int32_t>({x, x + 1}); };
    b_.Op("Assign", "start", {v, b_.Const("v0", value(1))});
    const Output read = b_.Op("Identity", "read", {v});
    const Output direct = b_.Op("Snapshot", "direct", {v}), behind = b_.Op("Snapshot", "behind", {read});
    const Output add = b_.Op("AssignAdd", "add", {v, b_.Const("one", value(1))});
    b_.AddControl(add, direct);
    b_.AddControl(add, behind);
    const Output late = b_.Op("Abs", "late", {read});
    b_.AddControl(late, add);
    OpenDriver();
    ASSERT_OK(session_->Run({}, {}, {"start"}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> found, session_->Run({}, {"direct", "behind", "late"}, {"add"}));
    EXPECT_EQ(found[0].flat<int32_t>()[0], 1);
    EXPECT_EQ(found[1].flat<int32_t>()[0], 1);
    EXPECT_EQ(found[2].flat<int32_t>()[0], 2);
  }
}

// References that a kernel takes are looked at before it is called, as values are.
TEST_P(DriverAgreementTest, AKernelIsNotCalledWithAVariableWithoutAValue) {
  int calls = 0;
  Replace("CountUpTo", [&calls](KernelContext& context) {
    ++calls;
    context.SetScalar(0, int32_t{0});
    return absl::OkStatus();
  });
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}});
  b_.Op("Assign", "start", {v, b_.Const("v0", Int(0))});
  b_.Op("CountUpTo", "count", {v}, {{"limit", 3}});
  OpenDriver();
  EXPECT_THAT(Fetch("count"), IsError(ErrorCode::kUninitialized, "CountUpTo 'count': input 0 'v"));
  EXPECT_EQ(calls, 0);
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ASSERT_OK(Fetch("count"));
  EXPECT_EQ(calls, 1);
}

// Where each kernel call was: "node frame:iteration", the frame as 'f' for any that is not the outermost.
class PlaceObserver : public NodeObserver {
 public:
  explicit PlaceObserver(const Graph& graph) : graph_(graph) {}
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext& context) override {
    MutexLock lock(&mu_);
    calls_.insert({std::string(graph_.name(node)), {context.frame_id(), context.iteration()}});
  }
  // The iterations of `node`, ascending, all of one frame whose number is `*frame`.
  std::vector<int64_t> IterationsOf(const std::string& node, uint64_t* frame) {
    MutexLock lock(&mu_);
    std::vector<int64_t> iterations;
    const auto [begin, end] = calls_.equal_range(node);
    for (auto call = begin; call != end; ++call) {
      *frame = call->second.first;
      iterations.push_back(call->second.second);
    }
    std::sort(iterations.begin(), iterations.end());
    return iterations;
  }
  std::multimap<std::string, std::pair<uint64_t, int64_t>> calls() {
    MutexLock lock(&mu_);
    return calls_;
  }

 private:
  const Graph& graph_;
  Mutex mu_;
  std::multimap<std::string, std::pair<uint64_t, int64_t>> calls_ ABSL_GUARDED_BY(mu_);
};

TEST_P(DriverAgreementTest, KernelsSeeTheirFrameAndIteration) {
  AddNestedLoops(3, 2);
  OpenDriver();
  ASSERT_OK_AND_ASSIGN(const auto callable, session_->Prepare({{}, {"after"}, {}, {}}));
  PlaceObserver observer(callable->graph());
  CallOptions options;
  options.observer = &observer;
  Tensor result;
  ASSERT_OK(callable->Run({}, absl::MakeSpan(&result, 1), options));
  EXPECT_EQ(*result.AsScalar<int32_t>(), -3);
  uint64_t outer = 0, inner = 0, root = 1;
  EXPECT_EQ(observer.IterationsOf("outer_less", &outer), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(outer, ChildFrameNumber(0, 0, "outer"));
  EXPECT_EQ(observer.IterationsOf("inner_add", &inner), (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  std::set<uint64_t> inner_frames;
  for (const auto& [node, place] : observer.calls()) {
    if (node == "inner_add") inner_frames.insert(place.first);
  }
  std::set<uint64_t> expected;
  for (int64_t i = 0; i < 3; ++i) expected.insert(ChildFrameNumber(outer, i, "inner"));
  EXPECT_EQ(inner_frames, expected);
  EXPECT_EQ(observer.IterationsOf("after", &root), (std::vector<int64_t>{0}));
  EXPECT_EQ(root, 0u);
}

// A temporary variable that most iterations do not destroy: each has its own.
TEST_P(DriverAgreementTest, EveryIterationHasItsOwnTemporaryVariable) {
  const auto enter = [&](const char* name, Output value, bool is_constant) {
    return b_.Op("Enter", name, {value}, {{"frame_name", "f"}, {"is_constant", is_constant}});
  };
  const Output i_in = enter("i_in", b_.Const("zero", Int(0)), false);
  const Output limit = enter("limit", b_.Const("three", Int(3)), true),
               one = enter("one", b_.Const("c1", Int(1)), true);
  const Output i = b_.Op("Merge", "i", {i_in, i_in});
  const Output cond = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {i, limit})});
  const Output ports = b_.Op("Switch", "ports", {i, cond});
  const Output body = b_.Op("Identity", "body", {GraphBuilder::Nth(ports, 1)});
  const Output temporary =
      b_.Op("TemporaryVariable", "temporary", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}, {"var_name", "t"}});
  b_.AddControl(temporary, body);
  const Output assigned = b_.Op("Assign", "assigned", {temporary, body});
  const Output is_first = b_.Op("Less", "is_first", {body, one});
  const Output sides = b_.Op("RefSwitch", "sides", {assigned, is_first});
  const Output destroyed =
      b_.Op("DestroyTemporaryVariable", "destroyed", {GraphBuilder::Nth(sides, 1)}, {{"var_name", "t"}});
  const Output kept = b_.Op("Abs", "kept", {sides});
  const Output either = b_.Op("Merge", "either", {kept, destroyed});
  b_.SetInput(i, 1, b_.Op("NextIteration", "next", {b_.Op("AddV2", "plus", {either, one})}));
  b_.Op("Exit", "exit", {ports});
  OpenDriver();
  ExpectFetch("exit", 3);
}

INSTANTIATE_TEST_SUITE_P(Drivers, DriverAgreementTest, testing::Values(Driver::kSerial, Driver::kDataflow));

// Whole programs with conditionals, loops and variables; the seed of a failure is in its message.
TEST(RandomDriverAgreementTest, BothDriversAnswerAlike) {
  RandomProgramOptions program;
  program.max_statements = 3;
  int num_live = 0, num_serial = 0;
  for (uint32_t seed = 40'000; seed < 40'250 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_OK_AND_ASSIGN(Graph graph, RandomStructuredProgram(seed, program));
    ASSERT_OK(ArgumentsToPlaceholders(&graph));
    SessionOptions options;
    options.num_threads = 1;
    options.driver = Driver::kDataflow;
    const std::vector<Answer> expected = AnswersOf(graph, seed, options);
    options.num_threads = 1 + static_cast<int>(seed % 2) * 3;
    for (const Driver driver : {Driver::kSerial, Driver::kAuto, Driver::kDataflow}) {
      options.driver = driver;
      const std::vector<Answer> found = AnswersOf(graph, seed, options);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        const bool is_refused = driver == Driver::kSerial && ErrorInfoOf(found[i].status).has_value() &&
                                ErrorInfoOf(found[i].status)->code == ErrorCode::kCannotRun;
        if (is_refused) continue;
        EXPECT_TRUE(found[i] == expected[i]) << "answer " << i << ": " << found[i].status << "; " << expected[i].status;
        num_serial += driver == Driver::kSerial ? 1 : 0;
        num_live += found[i].value.has_value() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(num_serial, 1000);
  EXPECT_GT(num_live, 3000);
}

}  // namespace
}  // namespace sluice

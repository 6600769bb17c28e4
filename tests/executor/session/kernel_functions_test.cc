// Kernels that call functions of their graph: Note [Functions of kernels] in kernels/function_finder.h.

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/trace/step_stats_collector.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/called_functions_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

using FunctionPtr = std::shared_ptr<const CallableFunction>;

// A host's op that calls a function for each element of a vector, one after the other: the documented example. The
// schema is that of TensorFlow's MapDefun, for which there is no kernel here.
class MapOver final : public Kernel {
 public:
  explicit MapOver(FunctionPtr body) : body_(std::move(body)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(FunctionPtr body, construction.Function("f"));
    return std::make_unique<MapOver>(std::move(body));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& rows = context.input(0);
    if (rows.rank() != 1) return Error(ErrorCode::kOpShape).Input(0).Found(rows.shape().ToString()).Expected("rank 1");
    std::vector<float> mapped;
    for (const float row : rows.flat<float>()) {
      Tensor arguments[] = {Tensor::Scalar(row)}, results[1];
      SLUICE_RETURN_IF_ERROR(body_->Run(context, arguments, absl::MakeSpan(results)));
      mapped.push_back(results[0].flat<float>()[0]);
    }
    context.SetOutput(0, Tensor::Vector<float>(mapped));
    return absl::OkStatus();
  }

 private:
  const FunctionPtr body_;
};

// The same with all calls under way at once, and no thread held while they wait.
class MapOverAsync final : public AsyncKernel {
 public:
  explicit MapOverAsync(FunctionPtr body) : body_(std::move(body)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(FunctionPtr body, construction.Function("f"));
    return std::make_unique<MapOverAsync>(std::move(body));
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    auto calls = std::make_shared<Calls>(&context, std::move(done));
    const Tensor rows = context.input(0);
    for (const float row : rows.flat<float>()) calls->arguments.push_back(Tensor::Scalar(row));
    calls->results.resize(calls->arguments.size());
    calls->open += calls->arguments.size();
    for (size_t i = 0; i < calls->arguments.size(); ++i) {
      body_->RunAsync(context, absl::MakeSpan(&calls->arguments[i], 1), absl::MakeSpan(&calls->results[i], 1),
                      [calls](const absl::Status& status) { calls->EndOne(status); });
    }
    calls->EndOne(absl::OkStatus());
  }

 private:
  struct Calls {
    Calls(KernelContext* of, Done end) : context(of), done(std::move(end)) {}
    void EndOne(const absl::Status& status) {
      {
        MutexLock lock(&mu);
        if (first.ok()) first = status;
      }
      if (--open > 0) return;
      std::vector<float> mapped;
      for (const Tensor& result : results) mapped.push_back(result.has_value() ? result.flat<float>()[0] : 0);
      if (first.ok()) context->SetOutput(0, Tensor::Vector<float>(mapped));
      std::move(done)(first);
    }

    KernelContext* const context;
    Done done;
    std::vector<Tensor> arguments, results;
    std::atomic<size_t> open{1};
    Mutex mu;
    absl::Status first;  // Guarded by mu until all have ended.
  };

  const FunctionPtr body_;
};

class KernelFunctionsTest : public CalledFunctionsTest {
 protected:
  // A kernel of the host's in all sessions.
  void AddHost(std::string op, KernelFunction make) {
    host_.emplace_back(std::move(op), std::make_shared<const KernelFunction>(std::move(make)));
  }
  void OpenMapping(bool is_async, Driver driver = Driver::kAuto, CallPolicy policy = CallPolicy::kByCost) {
    KernelFunction make = [is_async](const KernelConstruction& construction) {
      return is_async ? MapOverAsync::Make(construction) : MapOver::Make(construction);
    };
    KernelRegistry* const registry = registries_.emplace_back(std::make_unique<KernelRegistry>()).get();
    RegisterAllKernels(*registry);
    ASSERT_OK(registry->Add(OwnedKernelRow("MapDefun", std::move(make))));
    for (const auto& [op, function] : host_) {
      ASSERT_OK(registry->Add(OwnedKernelRow(
          op, [function = function](const KernelConstruction& construction) { return (*function)(construction); })));
    }
    SessionOptions options;
    options.kernels = registry;
    options.limits = limits_;
    OpenWith(policy, driver, options);
  }
  // Runs `check` in sessions of all kinds.
  template <typename Check>
  void InAllSessions(Check check) {
    for (const bool is_async : {false, true}) {
      for (const Driver driver : kDrivers) {
        for (const CallPolicy policy : kPolicies) {
          SCOPED_TRACE(absl::StrCat("async ", is_async, ", driver ", static_cast<int>(driver), ", policy ",
                                    static_cast<int>(policy)));
          OpenMapping(is_async, driver, policy);
          check();
        }
      }
    }
  }

  static FunctionDefBuilder::Attrs MapAttrs(absl::string_view function, DType argument = DType::kFloat) {
    return {{"Targuments", std::vector<DType>{argument}},
            {"Tcaptured", std::vector<DType>()},
            {"output_types", std::vector<DType>{DType::kFloat}},
            {"output_shapes", std::vector<PartialShape>{PartialShape()}},
            {"f", AttrValue::Func(function, {})}};
  }
  Output AddMap(absl::string_view name, absl::string_view function, const Output& rows) {
    return b_.Op("MapDefun", name, {rows}, MapAttrs(function));
  }
  // A function over one number whose kernel calls `function`.
  void AddMapOne(absl::string_view name, absl::string_view function) {
    FunctionText(name)
        .Arg("x: float")
        .Result("y: float", "map:output:0")
        .Node("shape = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({1})}})
        .Node("row = Reshape(x, shape:output:0)", {{"T", DType::kFloat}, {"Tshape", DType::kInt32}})
        .Node("map = MapDefun(row:output:0)", MapAttrs(function))
        .AddTo(b_.graph());
  }
  // A function that sends its argument and gives what it receives.
  void AddThroughRendezvous(absl::string_view name) {
    const std::string device = "/job:localhost/replica:0/task:0/device:CPU:0";
    const FunctionDefBuilder::Attrs edge = {{"tensor_name", std::string("edge")},
                                            {"send_device", device},
                                            {"send_device_incarnation", int64_t{1}},
                                            {"recv_device", device}};
    FunctionDefBuilder::Attrs sent = edge, received = edge;
    sent.emplace_back("T", DType::kFloat);
    received.emplace_back("tensor_type", DType::kFloat);
    FunctionText(name)
        .Arg("x: float")
        .Result("y: float", "r:tensor:0")
        .ControlResult("s", "s")
        .Stateful()
        .Node("s = _Send(x)", sent)
        .Node("r = _Recv()", received)
        .AddTo(b_.graph());
  }
  static Tensor Rows() { return Tensor::Vector<float>({1, 2, 3}); }
  void ExpectMapped(const std::string& name, const std::vector<float>& expected) {
    ASSERT_OK_AND_ASSIGN(const Tensor mapped, Fetch(name, {{"x", Rows()}}));
    EXPECT_THAT(mapped.flat<float>(), testing::ElementsAreArray(expected));
  }

  std::vector<std::unique_ptr<KernelRegistry>> registries_;  // Outlive the sessions.
  std::vector<std::pair<std::string, std::shared_ptr<const KernelFunction>>> host_;
  LoadLimits limits_;
  const Output x_ = b_.Placeholder("x", DType::kFloat);
};

TEST_F(KernelFunctionsTest, ABodyIsCalledForEachRow) {
  SquarePlusOne().AddTo(b_.graph());
  AddMap("map", "SquarePlusOne", x_);
  InAllSessions([&] { ExpectMapped("map", {2, 5, 10}); });
}

TEST_F(KernelFunctionsTest, BodiesCallFunctionsLoopAndMap) {
  AddOne().AddTo(b_.graph());
  LessThanTen().AddTo(b_.graph());
  Loop("CountToTen", "LessThanTen", "AddOne").AddTo(b_.graph());
  AddMapOne("MapOne", "CountToTen");
  AddMap("map", "MapOne", x_);
  InAllSessions([&] { ExpectMapped("map", {10, 10, 10}); });
}

TEST_F(KernelFunctionsTest, BodiesHoldSymbolicGradients) {
  const FunctionDefBuilder::Attrs of_float = {{"T", DType::kFloat}};
  Unary("Forward", "Neg").AddTo(b_.graph());
  FunctionText("Stated")
      .Arg("x: float")
      .Arg("dy: float")
      .Result("dx: float", "m:z:0")
      .Node("m = Mul(x, dy)", of_float)
      .AddTo(b_.graph());
  ASSERT_OK(b_.graph().library().AddGradient("Forward", "Stated"));
  FunctionText("Slope")
      .Arg("x: float")
      .Result("dx: float", "g:output:0")
      .Node("one = OnesLike(x)", of_float)
      .Node("g = SymbolicGradient(x, one:y:0)", {{"f", AttrValue::Func("Forward")},
                                                 {"Tin", std::vector<DType>{DType::kFloat, DType::kFloat}},
                                                 {"Tout", std::vector<DType>{DType::kFloat}}})
      .AddTo(b_.graph());
  AddMap("map", "Slope", x_);
  InAllSessions([&] { ExpectMapped("map", {1, 2, 3}); });
}

TEST_F(KernelFunctionsTest, ErrorsNameTheCallPath) {
  AddHost("Neg", MakeFunction([](KernelContext&) -> absl::Status { return Error(ErrorCode::kOpValue).Input(0); }));
  Unary("Inner", "Neg").AddTo(b_.graph());
  FunctionText("Outer").Arg("x: float").Result("y: float", "in:y:0").Node("in = Inner(x)").AddTo(b_.graph());
  AddMap("map", "Outer", x_);
  InAllSessions([&] {
    EXPECT_THAT(Fetch("map", {{"x", Rows()}}), IsError(ErrorCode::kOpValue, "'map/in/y'"));
    EXPECT_THAT(Fetch("map", {{"x", Rows()}}), IsError(ErrorCode::kOpValue, "'map/in/y'")) << "again";
  });
}

// A kernel may give any tensor as an argument: none of its node's inputs is named.
TEST_F(KernelFunctionsTest, ErrorsNameArgumentsAsTheFunctionDoes) {
  AddHost("Neg", MakeFunction([](KernelContext&) -> absl::Status { return Error(ErrorCode::kOpValue).Input(0); }));
  FunctionText("Minus")
      .Arg("a: float")
      .Result("y: float", "n:y:0")
      .Node("n = Neg(a)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  AddMap("map", "Minus", x_);
  InAllSessions([&] { EXPECT_THAT(Fetch("map", {{"x", Rows()}}), IsError(ErrorCode::kOpValue, "'map/a'")); });
}

TEST_F(KernelFunctionsTest, WrongArgumentsAreErrorsOfTheCaller) {
  FunctionText("Two").Arg("x: float").Arg("y: float").Result("z: float", "x").AddTo(b_.graph());
  FunctionText("Of")
      .Arg("x: int32")
      .Result("y: float", "cast:y:0")
      .Node("cast = Cast(x)", {{"SrcT", DType::kInt32}, {"DstT", DType::kFloat}})
      .AddTo(b_.graph());
  AddMap("two", "Two", x_);
  AddMap("of", "Of", x_);
  InAllSessions([&] {
    EXPECT_THAT(Fetch("two", {{"x", Rows()}}), IsError(ErrorCode::kWrongUse, "'two'"));
    EXPECT_THAT(Fetch("of", {{"x", Rows()}}), IsError(ErrorCode::kWrongUse, "'of'"));
  });
}

TEST_F(KernelFunctionsTest, WhatLeadsBackToItselfIsRefused) {
  FunctionText("Itself")
      .Arg("x: float")
      .Result("y: float", "map:output:0")
      .Node("map = MapDefun(x)", MapAttrs("Itself"))
      .AddTo(b_.graph());
  AddMap("map", "Itself", x_);
  KernelRegistry registry;
  RegisterAllKernels(registry);
  ASSERT_OK(registry.Add(OwnedKernelRow("MapDefun", &MapOver::Make)));
  SessionOptions options;
  options.kernels = &registry;
  options.allocator = &allocator_;
  ASSERT_OK(b_.status());
  absl::StatusOr<std::unique_ptr<Session>> made = Session::Create(options, b_.graph());
  absl::Status status = made.status();
  if (made.ok()) status = (*made)->Run({{"x", Rows()}}, {"map"}, {}).status();
  EXPECT_THAT(status, IsError(ErrorCode::kFunctionRecursion, "Itself -> Itself"));
}

// Also where the inner functions were compiled for a kernel that may call them.
TEST_F(KernelFunctionsTest, CallsOfKernelsAreNestedAsDeepAsIsAllowed) {
  AddOne().AddTo(b_.graph());
  AddMapOne("Map1", "AddOne");
  for (int i = 2; i <= 6; ++i) AddMapOne(absl::StrCat("Map", i), absl::StrCat("Map", i - 1));
  AddMap("second", "Map6", AddMap("first", "Map3", x_));
  limits_.max_call_depth = 4;
  InAllSessions([&] {
    ExpectMapped("first", {2, 3, 4});
    EXPECT_THAT(Fetch("second", {{"x", Rows()}}), IsError(ErrorCode::kLimitCallDepth, "nested in too many calls"));
  });
}

TEST_F(KernelFunctionsTest, FunctionsOfFunctionsFindTheRendezvousOfTheStep) {
  AddThroughRendezvous("Through");
  AddMapOne("MapOne", "Through");
  AddMap("map", "MapOne", x_);
  for (const Driver driver : kDrivers) {
    OpenMapping(/*is_async=*/false, driver);
    ExpectMapped("map", {1, 2, 3});
  }
}

// A kernel with state is the session's: a later plan gets it with the functions that it has.
TEST_F(KernelFunctionsTest, AKernelOfAnEarlierPlanFindsTheRendezvousOfTheStep) {
  AddHost("RemoteCall", [](const KernelConstruction& construction) -> absl::StatusOr<std::unique_ptr<Kernel>> {
    SLUICE_ASSIGN_OR_RETURN(const FunctionPtr body, construction.Function("f"));
    return std::make_unique<FunctionKernel>(
        [body](KernelContext& context) -> absl::Status {
          Tensor arguments[] = {context.input(1)}, results[1];
          SLUICE_RETURN_IF_ERROR(body->Run(context, arguments, absl::MakeSpan(results)));
          context.SetOutput(0, std::move(results[0]));
          return absl::OkStatus();
        },
        CostHint::kByBytes);
  });
  AddThroughRendezvous("Through");
  const Output call = b_.Op("RemoteCall", "call", {b_.Const("target", Tensor::Strings({"here"})), x_},
                            {{"Tin", std::vector<DType>{DType::kFloat}},
                             {"Tout", std::vector<DType>{DType::kFloat}},
                             {"f", AttrValue::Func("Through", {})}});
  b_.Op("Square", "square", {call});
  for (const Driver driver : kDrivers) {
    OpenMapping(/*is_async=*/false, driver);
    ExpectMapped("call", {1, 2, 3});
    ExpectMapped("square", {1, 4, 9});
  }
}

TEST_F(KernelFunctionsTest, AFunctionIsCompiledOncePerPlan) {
  std::atomic<int> made{0};
  AddHost("Neg", [&made](const KernelConstruction&) {
    ++made;
    return std::make_unique<FunctionKernel>(
        [](KernelContext& context) {
          context.SetOutput(0, context.TakeInput(0));
          return absl::OkStatus();
        },
        CostHint::kByBytes);
  });
  Unary("F", "Neg").AddTo(b_.graph());
  AddMap("second", "F", b_.Op("Abs", "abs", {AddMap("first", "F", x_)}));
  InAllSessions([&] {
    made = 0;
    ExpectMapped("second", {1, 2, 3});
    ExpectMapped("second", {1, 2, 3});
    EXPECT_EQ(made, 1);
  });
}

// All calls of a function by kernels of one plan share what its kernels keep.
TEST_F(KernelFunctionsTest, CallsShareState) {
  AddHost("Print", [](const KernelConstruction&) {
    auto calls = std::make_shared<std::atomic<int>>(0);
    return std::make_unique<FunctionKernel>(
        [calls](KernelContext& context) {
          context.SetScalar(0, static_cast<float>(++*calls));
          return absl::OkStatus();
        },
        CostHint::kByBytes);
  });
  FunctionText("Count")
      .Arg("x: float")
      .Result("n: float", "p:output:0")
      .Stateful()
      .Node("p = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}})
      .AddTo(b_.graph());
  AddMap("map", "Count", x_);
  InAllSessions([&] {
    for (const int before : {0, 3}) {
      ASSERT_OK_AND_ASSIGN(const Tensor mapped, Fetch("map", {{"x", Rows()}}));
      // Calls that are under way at once come in any order.
      EXPECT_THAT(mapped.flat<float>(), testing::UnorderedElementsAre(before + 1, before + 2, before + 3));
    }
  });
}

TEST_F(KernelFunctionsTest, ADeadlineAndACancellationEndACall) {
  Forever().AddTo(b_.graph());
  AddOne().AddTo(b_.graph());
  CancellationManager* cancelled = nullptr;
  AddHost("Neg", MakeFunction([&cancelled](KernelContext& context) {
            if (cancelled != nullptr) cancelled->StartCancel();
            context.SetOutput(0, context.TakeInput(0));
            return absl::OkStatus();
          }));
  FunctionText("Loops")
      .Arg("x: float")
      .Result("y: float", "loop:output:0")
      .Node("neg = Neg(x)", {{"T", DType::kFloat}})
      .Node("loop = While(neg:y:0)", {{"T", std::vector<DType>{DType::kFloat}},
                                      {"cond", AttrValue::Func("Forever", {})},
                                      {"body", AttrValue::Func("AddOne", {})}})
      .AddTo(b_.graph());
  AddMap("map", "Loops", x_);
  InAllSessions([&] {
    CallOptions options;
    options.deadline = absl::Now() + absl::Milliseconds(50);
    EXPECT_THAT(Fetch("map", {{"x", Rows()}}, options), IsError(ErrorCode::kDeadline));
    CancellationManager cancellation;
    cancelled = &cancellation;
    options = CallOptions();
    options.cancellation = &cancellation;
    EXPECT_THAT(Fetch("map", {{"x", Rows()}}, options), StatusIs(absl::StatusCode::kCancelled));
    cancelled = nullptr;
  });
}

TEST_F(KernelFunctionsTest, ObserversAreToldOfNodesByTheirCallPath) {
  FunctionText("Minus")
      .Arg("x: float")
      .Result("y: float", "n:y:0")
      .Node("n = Neg(x)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  AddMap("map", "Minus", x_);
  InAllSessions([&] {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"map"}, {}, {}}));
    StepStatsCollector collector(callable->graph(), "d");
    CallOptions options;
    options.observer = &collector;
    Tensor input[] = {Tensor::Vector<float>({7})}, output[1];
    ASSERT_OK(callable->Run(input, absl::MakeSpan(output), options));
    std::vector<std::string> names;
    for (const NodeRecord& record : collector.Records()) {
      const std::string name(collector.NameOf(record));
      if (!absl::StrContains(name, "_arg_") && !absl::StrContains(name, "_retval_")) names.push_back(name);
    }
    EXPECT_THAT(names, testing::IsSupersetOf({"map", "map/n"}));
  });
}

// Calls of a body that waits hold no thread: all of them wait at once while there is one thread.
TEST_F(KernelFunctionsTest, BodiesThatWaitHoldNoThread) {
  Mutex mu;
  std::vector<AsyncKernel::Done> waiting;
  class Waits final : public AsyncKernel {
   public:
    Waits(Mutex* mu, std::vector<Done>* waiting) : mu_(*mu), waiting_(*waiting) {}
    void ComputeAsync(KernelContext& context, Done done) const override {
      context.SetOutput(0, context.TakeInput(0));
      MutexLock lock(&mu_);
      waiting_.push_back(std::move(done));
    }

   private:
    Mutex& mu_;
    std::vector<Done>& waiting_;
  };
  AddHost("Neg", [&](const KernelConstruction&) { return std::make_unique<Waits>(&mu, &waiting); });
  FunctionText("WaitsTwice")
      .Arg("x: float")
      .Result("y: float", "s:y:0")
      .Node("n = Neg(x)", {{"T", DType::kFloat}})
      .Node("s = Square(n:y:0)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  AddMap("map", "WaitsTwice", x_);
  for (const Driver driver : kDrivers) {
    OpenMapping(/*is_async=*/true, driver);
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session_->Prepare({{"x"}, {"map"}, {}, {}}));
    CallOptions options;
    options.pool = CallOptions::kCallerThread;
    Tensor input[] = {Rows()}, output[1];
    int num_done = 0;
    absl::Status answer;
    callable->RunAsync(input, absl::MakeSpan(output), options, [&](const absl::Status& status) {
      ++num_done;
      answer = status;
    });
    EXPECT_EQ(num_done, 0);
    ASSERT_EQ(waiting.size(), 3u) << "the calling thread has come back from all of them";
    for (AsyncKernel::Done& done : std::exchange(waiting, {})) std::move(done)(absl::OkStatus());
    EXPECT_EQ(num_done, 1);
    ASSERT_OK(answer);
    EXPECT_THAT(output[0].flat<float>(), testing::ElementsAre(1, 4, 9));
  }
}

TEST_F(KernelFunctionsTest, AFunctionThatIsNotThereIsAnErrorOfPreparing) {
  SquarePlusOne().AddTo(b_.graph());
  AddMap("map", "Nowhere", x_);
  KernelRegistry registry;
  RegisterAllKernels(registry);
  ASSERT_OK(registry.Add(OwnedKernelRow("MapDefun", &MapOver::Make)));
  SessionOptions options;
  options.kernels = &registry;
  options.allocator = &allocator_;
  absl::StatusOr<std::unique_ptr<Session>> made = Session::Create(options, b_.graph());
  const absl::Status status = made.ok() ? (*made)->Prepare({{"x"}, {"map"}, {}, {}}).status() : made.status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("Nowhere"));
}

}  // namespace
}  // namespace sluice

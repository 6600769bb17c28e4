// Which kernels and constants the plans of a session have in common. See Note [Kernel store].

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/value/allocator.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

// Print ops that record how often their kernels were made, and which call of its kernel each call was.
class SharedKernelsTest : public SessionFixture {
 protected:
  SharedKernelsTest() {
    RegisterAllKernels(registry_);
    EXPECT_OK(registry_.Add(OwnedKernelRow("Print", [this](const KernelConstruction&) {
      ++num_made_;
      auto calls = std::make_shared<std::atomic<int32_t>>(0);
      return std::make_unique<FunctionKernel>(
          [calls](KernelContext& context) {
            context.SetScalar(0, ++*calls);  // As a generator of numbers would.
            return absl::OkStatus();
          },
          CostHint::kByBytes);
    })));
  }

  Output Counter(const std::string& name, const std::string& message = "") {
    const Output x = b_.Placeholder(absl::StrCat(name, "_x"), DType::kInt32);
    return b_.Op("Print", name, {x, x}, {{"message", message}});
  }
  void OpenWith(Driver driver) {
    SessionOptions options;
    options.driver = driver;
    options.kernels = &registry_;
    Open(options);
  }
  // The next value of the counter.
  int32_t Next(const std::string& fetch, const std::string& counter = "p") {
    absl::StatusOr<Tensor> value = Fetch(fetch, {{absl::StrCat(counter, "_x"), Int(0)}});
    EXPECT_OK(value);
    return value.ok() ? *value->AsScalar<int32_t>() : -1;
  }

  KernelRegistry registry_;
  int num_made_ = 0;
};

TEST_F(SharedKernelsTest, ANodeKeepsItsStateOverSignatures) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    b_ = GraphBuilder(NewOpRegistry());
    b_.Op("Neg", "n", {Counter("p")});
    Counter("q");
    num_made_ = 0;
    OpenWith(driver);
    EXPECT_EQ(Next("p"), 1);
    EXPECT_EQ(Next("n"), -2);
    EXPECT_EQ(Next("p"), 3);
    EXPECT_EQ(Next("q", "q"), 1) << "another node has its own";
    EXPECT_EQ(num_made_, 2);
  }
}

// The driver is chosen by the clock: slow enough that both are tried.
TEST_F(SharedKernelsTest, ANodeKeepsItsStateOverDrivers) {
  EXPECT_OK(registry_.Add(OwnedKernelRow("Neg", MakeFunction([](KernelContext& context) {
                                           absl::SleepFor(absl::Microseconds(300));
                                           context.SetOutput(0, context.TakeInput(0));
                                           return absl::OkStatus();
                                         }))));
  b_.Op("Neg", "n", {Counter("p")});
  OpenWith(Driver::kAuto);
  for (int32_t run = 1; run <= 20; ++run) EXPECT_EQ(Next("n"), run);
  EXPECT_EQ(num_made_, 1);
}

TEST_F(SharedKernelsTest, AReplacedGraphKeepsTheStateOfNodesThatStayAndNoOther) {
  Counter("p", "same");
  Counter("q", "one");
  OpenWith(Driver::kAuto);
  EXPECT_EQ(Next("p"), 1);
  EXPECT_EQ(Next("q", "q"), 1);
  b_ = GraphBuilder(NewOpRegistry());
  b_.Op("Neg", "n", {Counter("p", "same")});
  Counter("q", "two");
  ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
  ASSERT_OK(session_->Replace(std::move(next)));
  EXPECT_EQ(Next("n"), -2);
  EXPECT_EQ(Next("q", "q"), 1);
}

// However often a graph is replaced, the session keeps no more than the last one has.
TEST_F(SharedKernelsTest, AReplacedGraphForgetsTheKernelsOfNodesThatItDoesNotHave) {
  OpenWith(Driver::kAuto);
  for (int i = 0; i < 20; ++i) {
    b_ = GraphBuilder(NewOpRegistry());
    Counter("stays");
    const std::string name = absl::StrCat("of_version_", i);
    Counter(name);
    ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
    ASSERT_OK(session_->Replace(std::move(next)));
    EXPECT_EQ(session_->core().kernel_store().num_kernels(), i == 0 ? 0u : 1u) << i;
    EXPECT_EQ(Next("stays", "stays"), i + 1);
    EXPECT_EQ(Next(name, name), 1);
    EXPECT_EQ(session_->core().kernel_store().num_kernels(), 2u);
  }
  b_ = GraphBuilder(NewOpRegistry());
  Counter("of_version_0");
  ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
  ASSERT_OK(session_->Replace(std::move(next)));
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u);
  EXPECT_EQ(Next("of_version_0", "of_version_0"), 1) << "it comes back with new state";
}

// Nodes in the place of a call are known by its name and theirs.
TEST_F(SharedKernelsTest, AReplacedGraphKeepsTheStateInCallsThatStay) {
  const auto build = [this](bool has_call) {
    b_ = GraphBuilder(NewOpRegistry());
    FunctionText("Counts")
        .Arg("x: int32")
        .Result("y: int32", "print:output:0")
        .Node("print = Print(x, x)", {{"T", DType::kInt32}, {"U", std::vector<DType>{DType::kInt32}}})
        .AddTo(b_.graph());
    const Output x = b_.Placeholder("p_x", DType::kInt32);
    if (has_call) Call(b_, "scope/call", "Counts", {x}, {DType::kInt32});
    b_.Op("Identity", "scope", {x});
  };
  const auto replace = [&](bool has_call) {
    build(has_call);
    ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
    ASSERT_OK(session_->Replace(std::move(next)));
  };
  build(true);
  OpenWith(Driver::kAuto);
  EXPECT_EQ(Next("scope/call"), 1);
  ASSERT_NO_FATAL_FAILURE(replace(true));
  EXPECT_EQ(Next("scope/call"), 2);
  ASSERT_NO_FATAL_FAILURE(replace(false));
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u) << "'scope' is not a call";
  ASSERT_NO_FATAL_FAILURE(replace(true));
  EXPECT_EQ(Next("scope/call"), 1);
}

TEST_F(SharedKernelsTest, ResetForgetsTheStateAndCallablesFromBeforeKeepTheirs) {
  Counter("p");
  OpenWith(Driver::kAuto);
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> before, session_->Prepare({{"p_x"}, {"p"}, {}, {}}));
  EXPECT_EQ(Next("p"), 1);
  session_->Reset({});
  EXPECT_EQ(Next("p"), 1);
  Tensor in = Int(0), out;
  ASSERT_OK(before->Run(absl::MakeSpan(&in, 1), absl::MakeSpan(&out, 1)));
  EXPECT_EQ(*out.AsScalar<int32_t>(), 2);
}

// Another thread may reset the session while this one prepares; here a kernel does, when the counter's has been made.
TEST_F(SharedKernelsTest, WhatWasPreparedAcrossAResetIsNotKept) {
  bool has_reset = false;
  EXPECT_OK(registry_.Add(OwnedKernelRow("Neg", [&](const KernelConstruction&) {
    // Whatever order kernels are made in: the counter's has its state by then.
    EXPECT_OK(session_->Prepare({{"p_x"}, {"p"}, {}, {}}));
    if (!std::exchange(has_reset, true)) session_->Reset({});
    return std::make_unique<FunctionKernel>(
        [](KernelContext& context) {
          context.SetOutput(0, context.TakeInput(0));
          return absl::OkStatus();
        },
        CostHint::kByBytes);
  })));
  b_.Op("Neg", "n", {Counter("p")});
  OpenWith(Driver::kSerial);
  EXPECT_EQ(Next("n"), 1);
  EXPECT_TRUE(has_reset);
  EXPECT_EQ(session_->num_prepared(), 0u) << "its counter may be the old one";
  // From here on there is one counter, whatever signature asks.
  const int32_t first = Next("n");
  EXPECT_EQ(Next("p"), first + 1);
  EXPECT_EQ(Next("n"), first + 2);
  EXPECT_EQ(session_->num_prepared(), 2u);
}

// What is being prepared while the graph is replaced, or the session reset or closed: here by the factory of a node
// that comes before the counter.
class OldPreparationTest : public SharedKernelsTest {
 protected:
  // "p" counts, after a node whose factory calls `change`, the first time.
  void OpenWithChange(std::function<void()> change) {
    EXPECT_OK(registry_.Add(OwnedKernelRow("Neg", [this, change = std::move(change)](const KernelConstruction&) {
      if (!std::exchange(has_changed_, true)) change();
      return std::make_unique<FunctionKernel>(
          [](KernelContext& context) {
            context.SetOutput(0, context.TakeInput(0));
            return absl::OkStatus();
          },
          CostHint::kByBytes);
    })));
    const Output n = b_.Op("Neg", "n", {b_.Placeholder("p_x", DType::kInt32)});
    b_.Op("Print", "p", {n, n}, {{"message", "one"}});
    OpenWith(Driver::kSerial);
  }
  static int32_t Run(const Callable& callable) {
    Tensor in = Int(0), out;
    EXPECT_OK(callable.Run(absl::MakeSpan(&in, 1), absl::MakeSpan(&out, 1)));
    return *out.AsScalar<int32_t>();
  }

  bool has_changed_ = false;
};

TEST_F(OldPreparationTest, DoesNotTakeTheStateOfANewVersion) {
  OpenWithChange([&] {
    b_ = GraphBuilder(NewOpRegistry());
    b_.Op("Identity", "again", {Counter("p", "two")});
    ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
    ASSERT_OK(session_->Replace(std::move(next)));
    EXPECT_EQ(Next("p"), 1);
    EXPECT_EQ(Next("p"), 2);
  });
  EXPECT_EQ(Next("p"), 1) << "the old node has a counter of its own";
  EXPECT_EQ(Next("p"), 3) << "the signature of the new version";
  EXPECT_EQ(Next("again"), 4) << "another signature of it, with the same node";
}

TEST_F(OldPreparationTest, DoesNotBringBackWhatTheNewVersionDoesNotHave) {
  OpenWithChange([&] {
    b_ = GraphBuilder(NewOpRegistry());
    b_.Const("other", Int(1));
    ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
    ASSERT_OK(session_->Replace(std::move(next)));
  });
  EXPECT_EQ(Next("p"), 1);
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u);
}

// A node that stays keeps its state, whatever is being prepared meanwhile.
TEST_F(OldPreparationTest, SharesTheStateOfANodeThatStays) {
  OpenWithChange([&] {
    const Graph same = *session_->CopyGraph();
    ASSERT_OK(session_->Replace(Graph(same)));
    EXPECT_EQ(Next("p"), 1);
  });
  EXPECT_EQ(Next("p"), 2) << "prepared before";
  EXPECT_EQ(Next("p"), 3);
}

TEST_F(OldPreparationTest, HasStateOfItsOwnAfterAReset) {
  OpenWithChange([&] { session_->Reset({}); });
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> before, session_->Prepare({{"p_x"}, {"p"}, {}, {}}));
  EXPECT_EQ(Run(*before), 1);
  EXPECT_EQ(Next("p"), 1) << "later ones begin with new state";
  EXPECT_EQ(Run(*before), 2);
  EXPECT_EQ(Next("p"), 2);
}

TEST_F(OldPreparationTest, LeavesNothingInASessionThatIsClosed) {
  OpenWithChange([&] { EXPECT_OK(session_->Close()); });
  session_->Prepare({{"p_x"}, {"p"}, {}, {}}).status().IgnoreError();  // It may be through before it looks.
  EXPECT_TRUE(has_changed_);
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u);
}

// However often a graph is replaced, and though the call has the same name in all of them.
TEST_F(SharedKernelsTest, AReplacedGraphForgetsWhatItsCallsDoNotHaveAnyMore) {
  // `inner` stands two calls deep, and names of bodies may look like paths.
  const auto build = [this](const std::string& outer, const std::string& inner) {
    const FunctionText::Attrs types = {{"T", DType::kInt32}, {"U", std::vector<DType>{DType::kInt32}}};
    b_ = GraphBuilder(NewOpRegistry());
    FunctionText("Inner")
        .Arg("x: int32")
        .Result("y: int32", absl::StrCat(inner, ":output:0"))
        .Node(absl::StrCat(inner, " = Print(x, x)"), types)
        .AddTo(b_.graph());
    FunctionText("Outer")
        .Arg("x: int32")
        .Result("y: int32", absl::StrCat(outer, ":output:0"))
        .Node("within/call = Inner(x)", {})
        .Node(absl::StrCat(outer, " = Print(within/call:y:0, x)"), types)
        .AddTo(b_.graph());
    Call(b_, "call", "Outer", {b_.Placeholder("p_x", DType::kInt32)}, {DType::kInt32});
  };
  const auto replace = [&](const std::string& outer, const std::string& inner) {
    build(outer, inner);
    ASSERT_OK_AND_ASSIGN(Graph next, b_.Build());
    ASSERT_OK(session_->Replace(std::move(next)));
  };
  build("stays", "a/print");
  OpenWith(Driver::kAuto);
  for (int32_t i = 1; i < 10; ++i) {
    EXPECT_EQ(Next("call"), i);
    EXPECT_EQ(session_->core().kernel_store().num_kernels(), 2u) << i;
    ASSERT_NO_FATAL_FAILURE(replace("stays", absl::StrCat("of_version_", i, "/print")));
    EXPECT_EQ(session_->core().kernel_store().num_kernels(), 1u) << i;
  }
  ASSERT_NO_FATAL_FAILURE(replace("new", "a/print"));
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u);
  EXPECT_EQ(Next("call"), 1);
}

TEST_F(SharedKernelsTest, CloseForgetsAllKernels) {
  Counter("p");
  OpenWith(Driver::kAuto);
  EXPECT_EQ(Next("p"), 1);
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 1u);
  ASSERT_OK(session_->Close());
  EXPECT_EQ(session_->core().kernel_store().num_kernels(), 0u);
}

// A megabyte of weights, as files hold them.
class SharedConstantsTest : public SessionFixture {
 protected:
  static constexpr int64_t kBytes = int64_t{1} << 20;

  // Sessions over a graph whose constant lies in bytes that all copies of the graph share.
  void OpenWith(SessionOptions options) {
    const Output x = b_.Placeholder("x", DType::kFloat);
    std::vector<float> weights;
    for (int64_t i = 0; i < kBytes / 4; ++i) weights.push_back(static_cast<float>(i));
    const Output w = b_.Const("w", Tensor::Vector<float>(weights));
    b_.Op("AddV2", "y", {x, w});
    b_.Op("Mul", "z", {x, w});
    ASSERT_OK_AND_ASSIGN(const Graph built, b_.Build());
    GraphSource source;
    auto bytes = std::make_shared<const std::string>(ExportGraph(built));
    source.bytes = *bytes;
    source.owner = bytes;
    ImportOptions import;
    import.ops = NewOpRegistry();
    ASSERT_OK_AND_ASSIGN(Graph graph, ImportGraph(std::move(source), import));
    options.num_threads = 2;
    options.allocator = &allocator_;
    ASSERT_OK_AND_ASSIGN(session_, Session::Create(options, std::move(graph)));
  }
};

TEST_F(SharedConstantsTest, AConstantIsThereOnceForBothDriversAndAllSignatures) {
  for (const Driver driver : {Driver::kAuto, Driver::kSerial, Driver::kDataflow}) {
    b_ = GraphBuilder(NewOpRegistry());
    SessionOptions options;
    options.driver = driver;
    OpenWith(options);
    const int64_t before = HostAllocatorLiveBytes();
    std::vector<std::shared_ptr<const Callable>> callables;
    for (const std::vector<std::string>& fetches :
         std::vector<std::vector<std::string>>{{"y"}, {"z"}, {"y", "z"}, {"z", "y"}}) {
      ASSERT_OK_AND_ASSIGN(callables.emplace_back(), session_->Prepare({{"x"}, fetches, {}, {}}));
    }
    for (int run = 0; run < 10; ++run) {
      for (const auto& callable : callables) {
        Tensor in = Tensor::Scalar(1.0f);
        std::vector<Tensor> out(callable->fetches().size());
        ASSERT_OK(callable->Run(absl::MakeSpan(&in, 1), absl::MakeSpan(out)));
      }
    }
    const int64_t grown = HostAllocatorLiveBytes() - before;
    EXPECT_LT(grown, kBytes + kBytes / 2);
    EXPECT_EQ(session_->core().kernel_store().num_constants(), 1u);
    callables.clear();
    EXPECT_LT(HostAllocatorLiveBytes() - before, kBytes / 2) << "with the last plan it goes";
  }
}

}  // namespace
}  // namespace sluice

// Groups G (custom functions and validation) and H (errors, anomalies, threads, passes inside of passes) of
// reference/pytorch-autograd.md, 4.

#include <atomic>
#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/tape/tape_node.h"
#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Vars = std::vector<Var>;

// A custom function of two lambdas.
class Lambdas final : public CustomFunction {
 public:
  using Body = std::function<absl::StatusOr<Vars>(FunctionContext&, absl::Span<const Var>)>;

  Lambdas(Body forward, Body backward, bool once = false)
      : forward_(std::move(forward)), backward_(std::move(backward)), once_(once) {}
  std::string name() const override { return "Lambdas"; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> inputs) override {
    return forward_(c, inputs);
  }
  absl::StatusOr<Vars> Backward(FunctionContext& c, absl::Span<const Var> grads) override {
    return backward_(c, grads);
  }
  bool is_once_differentiable() const override { return once_; }

 private:
  const Body forward_, backward_;
  const bool once_;
};

class TapeFunctionTest : public TapeFixture {
 protected:
  Vars Apply(Lambdas::Body forward, Lambdas::Body backward, const Vars& inputs, bool once = false) {
    return tape_.Apply(std::make_shared<Lambdas>(std::move(forward), std::move(backward), once), inputs);
  }
  // The identity, whose gradient `backward` gives.
  Var WithGradient(const Var& x, Lambdas::Body backward) {
    return Apply([](FunctionContext&, absl::Span<const Var> inputs) { return Vars{inputs[0] * 1.0}; },
                 std::move(backward), {x})[0];
  }
  // x * y + factor, with its gradient by saved values.
  Vars MulAdd(const Var& x, const Var& y, double factor, bool once = false) {
    return Apply(
        [factor](FunctionContext& c, absl::Span<const Var> in) {
          c.SaveForBackward({in[0], in[1]});
          return Vars{in[0] * in[1] + factor};
        },
        [](FunctionContext& c, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
          SLUICE_ASSIGN_OR_RETURN(const Vars saved, c.Saved());
          return Vars{grads[0] * saved[1], grads[0] * saved[0]};
        },
        {x, y}, once);
  }
};

TEST_F(TapeFunctionTest, G01SavedValuesAndOtherArguments) {
  const Var x = Leaf({1, 2}), y = Leaf({3, 4});
  const Var z = MulAdd(x, y, 7)[0];
  EXPECT_THAT(Values(z), ElementsAre(10, 15));
  EXPECT_EQ(z.grad_fn().name(), "LambdasBackward");
  ASSERT_OK(Sum(z).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(3, 4));
  EXPECT_THAT(GradOf(y), ElementsAre(1, 2));
  EXPECT_THAT(Sum(z).Backward(), IsError(ErrorCode::kTapeFreed, "LambdasBackward"));
}

TEST_F(TapeFunctionTest, G01GradientsOfGradients) {
  const Var x = Leaf(3), y = Leaf(4);
  const Var z = MulAdd(x * x, y, 0)[0];
  const Var dx = Derivative(z, x);
  EXPECT_THAT(Values(dx), ElementsAre(24));
  EXPECT_THAT(Values(Derivative(dx, x)), ElementsAre(8));
  EXPECT_THAT(Values(Derivative(dx, y)), ElementsAre(6));
}

TEST_F(TapeFunctionTest, D04OutputsMayBeSaved) {
  const Var x = Leaf(0.5f);
  const auto exp = [&](const Var& in) {
    return Apply(
        [](FunctionContext& c, absl::Span<const Var> inputs) {
          const Var y = Exp(inputs[0]);
          c.SaveForBackward({y});
          return Vars{y};
        },
        [](FunctionContext& c, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
          SLUICE_ASSIGN_OR_RETURN(const Vars saved, c.Saved());
          return Vars{grads[0] * saved[0]};
        },
        {in})[0];
  };
  Var y = exp(x);
  for (int order = 0; order < 3; ++order) {
    y = Derivative(y, x);
    EXPECT_EQ(Values(y), Values(Exp(x)));
  }
}

TEST_F(TapeFunctionTest, D05OnceDifferentiable) {
  const Var x = Leaf(3), y = Leaf(4);
  const Var z = MulAdd(x, y, 0, /*once=*/true)[0];
  const Var dx = Derivative(z * z, x);
  EXPECT_TRUE(dx.requires_grad());
  EXPECT_THAT(dx.Backward(), IsError(ErrorCode::kTapeNoDerivative, "second time"));
}

TEST_F(TapeFunctionTest, G02AnInputAsOutput) {
  const Var x = Leaf(2);
  const Vars out = Apply([](FunctionContext&, absl::Span<const Var> in) { return Vars{in[0]}; },
                         [](FunctionContext&, absl::Span<const Var> grads) { return Vars{grads[0] * 2.0}; }, {x});
  EXPECT_FALSE(SameVar(out[0], x));
  ASSERT_OK(out[0].Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(2));
}

TEST_F(TapeFunctionTest, G02UndefinedGradients) {
  const Var x = Leaf(2);
  ASSERT_OK(WithGradient(x, [](FunctionContext&, absl::Span<const Var>) { return Vars{Var()}; }).Backward());
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeFunctionTest, G03MaterializedGradients) {
  const Var x = Leaf({1, 2, 3});
  for (const bool materializes : {true, false}) {
    Vars seen;
    const Vars out = Apply(
        [&](FunctionContext& c, absl::Span<const Var> in) {
          c.SetMaterializeGrads(materializes);
          return Vars{in[0] * 1.0, in[0] * 2.0};
        },
        [&](FunctionContext&, absl::Span<const Var> grads) {
          seen.assign(grads.begin(), grads.end());
          return Vars{grads[0]};
        },
        {x});
    ASSERT_OK(Sum(out[0]).Backward());
    ASSERT_EQ(seen[1].defined(), materializes);
    if (materializes) {
      EXPECT_THAT(Values(seen[1]), ElementsAre(0, 0, 0));
    }
  }
}

TEST_F(TapeFunctionTest, G03AFunctionWithoutAnyGradientStillRuns) {
  const Var x = Leaf(2);
  const Var inner = WithGradient(x, [](FunctionContext&, absl::Span<const Var> grads) { return Vars{grads[0] + 5.0}; });
  const Var outer = WithGradient(inner, [](FunctionContext&, absl::Span<const Var>) { return Vars{Var()}; });
  ASSERT_OK(outer.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(5));
}

TEST_F(TapeFunctionTest, G04NonDifferentiableOutputs) {
  const Var x = Leaf({-1, 2});
  const Vars out = Apply(
      [](FunctionContext& c, absl::Span<const Var> in) {
        const Var a = in[0] * 2.0, b = in[0] + 1.0;
        c.MarkNonDifferentiable(a);
        return Vars{a, b, Var()};
      },
      [](FunctionContext&, absl::Span<const Var> grads) {
        EXPECT_THAT(Values(grads[0]), ElementsAre(0, 0));
        EXPECT_FALSE(grads.at(2).defined());
        return Vars{grads[1]};
      },
      {x});
  EXPECT_FALSE(out[0].requires_grad());
  EXPECT_TRUE(out[1].requires_grad());
  EXPECT_FALSE(out[2].defined());
  ASSERT_OK(Sum(out[0] + out[1]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1, 1));
}

TEST_F(TapeFunctionTest, G05InPlaceFunctions) {
  const Var x = Leaf(3);
  const auto doubling = [](FunctionContext& c, absl::Span<const Var> in) -> absl::StatusOr<Vars> {
    Var v = in[0];
    c.MarkDirty(v);
    SLUICE_RETURN_IF_ERROR(v.Assign(v * 2.0));
    return Vars{v};
  };
  const auto backward = [](FunctionContext&, absl::Span<const Var> grads) { return Vars{grads[0] * 2.0}; };
  const Var y = x * 1.0;
  const Vars out = Apply(doubling, backward, {y});
  EXPECT_TRUE(SameVar(out[0], y));
  EXPECT_EQ(y.version(), 1u);
  EXPECT_THAT(Values(y), ElementsAre(6));
  ASSERT_OK(y.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(2));
  EXPECT_THAT(Apply(doubling, backward, {x})[0].status(), IsError(ErrorCode::kTapeLeafAssigned, "a leaf"));
}

TEST_F(TapeFunctionTest, G05ReturnDuplicateInplace) {
  const Var x = Leaf(3);
  const auto doubling = [](FunctionContext& c, absl::Span<const Var> in) -> absl::StatusOr<Vars> {
    Var v = in[0];
    c.MarkDirty(v);
    SLUICE_RETURN_IF_ERROR(v.Assign(v * 2.0));
    return Vars{v, v};
  };
  const auto backward = [](FunctionContext&, absl::Span<const Var> g) { return Vars{g[0] * 2.0 + g[1] * 2.0}; };
  const Vars out = Apply(doubling, backward, {x * 1.0});
  EXPECT_THAT(Values(out[1]), ElementsAre(6));
  ASSERT_OK((out[0] * 3.0 + out[1] * 5.0).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(16));
}

TEST_F(TapeFunctionTest, G05UndefinedAndRepeatedValues) {
  const Var x = Leaf(3);
  const Vars out = Apply(
      [](FunctionContext& c, absl::Span<const Var> in) {
        c.SaveForBackward({in[0], Var()});
        const Var y = in[0] * 1.0;
        return Vars{y, y};
      },
      [](FunctionContext& c, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
        SLUICE_ASSIGN_OR_RETURN(const Vars saved, c.Saved());
        EXPECT_TRUE(saved[0].defined());
        EXPECT_FALSE(saved[1].defined());
        return Vars{grads[0] + 10.0 * grads[1]};
      },
      {x});
  ASSERT_OK((out[0] + out[1]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(11));
}

TEST_F(TapeFunctionTest, G06WrongShapesAreNamed) {
  const Var x = Leaf({1, 2, 3});
  const Var y = WithGradient(x, [&](FunctionContext&, absl::Span<const Var>) { return Vars{Constant({1, 2})}; });
  const absl::Status status = Sum(y).Backward();
  EXPECT_THAT(status, IsError(ErrorCode::kOpShape, "LambdasBackward"));
  EXPECT_THAT(FormatError(status), AllOf(HasSubstr("index 0"), HasSubstr("[2]"), HasSubstr("[3]")));
}

TEST_F(TapeFunctionTest, G07TooManyAndTooFewGradients) {
  const Var x = Leaf(1);
  ASSERT_OK(WithGradient(x, [](FunctionContext&, absl::Span<const Var> g) { return Vars{g[0], Var()}; }).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1));
  EXPECT_THAT(WithGradient(x,
                           [](FunctionContext&, absl::Span<const Var> g) {
                             return Vars{g[0], g[0]};
                           })
                  .Backward(),
              IsError(ErrorCode::kTapeFunction, "incorrect number of gradients"));
  EXPECT_THAT(WithGradient(x, [](FunctionContext&, absl::Span<const Var>) { return Vars(); }).Backward(),
              IsError(ErrorCode::kTapeFunction, "incorrect number of gradients"));
}

TEST_F(TapeFunctionTest, G08ABroadcastGradientIsSummedDown) {
  const Var x = Leaf(Shape::Of({1, 2}), {1, 2});
  const Var y = WithGradient(x, [&](FunctionContext&, absl::Span<const Var>) {
    return Vars{Constant(Shape::Of({2, 3, 2}), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})};
  });
  ASSERT_OK(Sum(y).Backward());
  EXPECT_EQ(x.grad().shape(), Shape::Of({1, 2}));
  EXPECT_THAT(GradOf(x), ElementsAre(36, 42));
}

TEST_F(TapeFunctionTest, G08ADifferentTypeIsCast) {
  const Var x = Leaf(1);
  ASSERT_OK(WithGradient(x, [](FunctionContext&, absl::Span<const Var> g) {
              return Vars{Cast(g[0] * 3.0, DType::kDouble)};
            }).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(3));
  const Var complex = tape_.Constant(Tensor::Scalar(std::complex<float>(1, 1)));
  EXPECT_THAT(WithGradient(x, [&](FunctionContext&, absl::Span<const Var>) { return Vars{complex}; }).Backward(),
              IsError(ErrorCode::kInputType, "index 0"));
}

TEST_F(TapeFunctionTest, H01NanIsFoundWhereItComesFrom) {
  const Var x = Leaf(0);
  {
    const AnomalyScope anomaly;
    const PlaceScope outer("model"), inner("head");
    const absl::Status status = (Log(x) * 0.0).Backward();
    EXPECT_THAT(status, IsError(ErrorCode::kOpBroken, "LogBackward"));
    EXPECT_THAT(status.message(), AllOf(HasSubstr("NaN values in its output 0"), HasSubstr("model/head/Log")));
  }
  {
    const AnomalyScope silent(/*checks_nan=*/false);
    ASSERT_OK((Log(x) * 0.0).Backward());
  }
  ASSERT_OK((Log(x) * 0.0).Backward());
}

TEST_F(TapeFunctionTest, H01ThePlaceOfGradientsLeadsToTheirParent) {
  const AnomalyScope anomaly;
  const Var x = Leaf(0);
  Var dx;
  {
    const PlaceScope place("first");
    dx = Derivative(x * x * Sqrt(x + 1.0), x);
  }
  const Var bad = dx + Log(x);
  const absl::Status status = (bad * 0.0).Backward();
  EXPECT_THAT(status, IsError(ErrorCode::kOpBroken, "LogBackward"));
  EXPECT_THAT(dx.grad_fn().node()->origin->ToString(), HasSubstr("while"));
}

TEST_F(TapeFunctionTest, H02ErrorsAndExceptionsOfUsersSurvive) {
  const Var x = Leaf(1);
  EXPECT_THAT(WithGradient(x,
                           [](FunctionContext&, absl::Span<const Var>) -> absl::StatusOr<Vars> {
                             return absl::DataLossError("the user's words");
                           })
                  .Backward(),
              StatusIs(absl::StatusCode::kDataLoss, "the user's words"));
  EXPECT_THAT(WithGradient(x,
                           [](FunctionContext&, absl::Span<const Var>) -> absl::StatusOr<Vars> {
                             throw std::runtime_error("thrown words");
                           })
                  .Backward(),
              IsError(ErrorCode::kKernelException, "thrown words"));
  EXPECT_THAT(Apply([](FunctionContext&, absl::Span<const Var>) -> absl::StatusOr<Vars> { throw std::bad_alloc(); },
                    [](FunctionContext&, absl::Span<const Var>) { return Vars(); }, {x})[0]
                  .status(),
              IsError(ErrorCode::kOutOfMemory));
  Var y = Leaf(1);
  ASSERT_OK(y.AddHook([](const Var&) -> absl::StatusOr<Var> { throw std::runtime_error("hooked words"); }).status());
  EXPECT_THAT(y.Backward(), IsError(ErrorCode::kKernelException, "hooked words"));
}

// x * y, computed backward by a pass of its own.
TEST_F(TapeFunctionTest, H03APassInsideOfAPass) {
  const Var x = Leaf({2, 2}), y = Leaf({3, 3});
  const Var z = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
    const GradModeScope grad(true);
    Var inner = tape_.Leaf(x.value());
    SLUICE_RETURN_IF_ERROR(Sum(inner * y).Backward());
    return Vars{inner.grad() * grads[0]};
  });
  ASSERT_OK(Sum(z).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(3, 3));
  EXPECT_THAT(GradOf(y), ElementsAre(2, 2));
}

TEST_F(TapeFunctionTest, H04EightThousandPassesInsideOfEachOther) {
  std::function<Var(int)> nested = [&](int depth) {
    return WithGradient(Leaf(1), [&, depth](FunctionContext&, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
      if (depth == 0) return Vars{grads[0]};
      const GradModeScope grad(true);
      SLUICE_RETURN_IF_ERROR(nested(depth - 1).Backward());
      return Vars{grads[0]};
    });
  };
  ASSERT_OK(nested(8193).Backward());
}

TEST_F(TapeFunctionTest, H05InnerPassesComeBeforeTheRestOfTheOuter) {
  std::vector<std::string> order;
  const Var x = Leaf(1);
  const Var a = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) {
    order.push_back("outer");
    return Vars{grads[0]};
  });
  const Var b = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
    const GradModeScope grad(true);
    const Var inner = WithGradient(Leaf(1), [&](FunctionContext&, absl::Span<const Var> g) {
      order.push_back("inner");
      return Vars{g[0]};
    });
    SLUICE_RETURN_IF_ERROR(inner.Backward());
    order.push_back("around");
    return Vars{grads[0]};
  });
  ASSERT_OK((a + b).Backward());
  EXPECT_THAT(order, ElementsAre("inner", "around", "outer"));
}

TEST_F(TapeFunctionTest, H06ErrorsOfInnerPassesReachTheCaller) {
  const Var x = Leaf(1);
  const Var y = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
    const GradModeScope grad(true);
    const Var inner = WithGradient(Leaf(1), [](FunctionContext&, absl::Span<const Var>) -> absl::StatusOr<Vars> {
      return absl::AbortedError("deep");
    });
    SLUICE_RETURN_IF_ERROR(inner.Backward());
    return Vars{grads[0]};
  });
  EXPECT_THAT(y.Backward(), StatusIs(absl::StatusCode::kAborted, "deep"));
  EXPECT_THAT(Tape::QueueCallback([] { return absl::OkStatus(); }), IsError(ErrorCode::kTapeHook));
}

TEST_F(TapeFunctionTest, H06WhatRanBeforeAnErrorStays) {
  const Var x = Leaf(1), y = Leaf(2);
  const Var bad = WithGradient(
      y, [](FunctionContext&, absl::Span<const Var>) -> absl::StatusOr<Vars> { return absl::AbortedError("no"); });
  const Var good = x * x;
  const Var z = bad + good;
  EXPECT_THAT(z.Backward(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(GradOf(x), ElementsAre(2));
  EXPECT_FALSE(y.grad().defined());
}

TEST_F(TapeFunctionTest, H07FinalCallbacksAtEachDepth) {
  std::vector<std::string> order;
  const Var x = Leaf(1);
  const auto queue = [&](std::string name) {
    return Tape::QueueCallback([&order, name] {
      order.push_back(name);
      return absl::OkStatus();
    });
  };
  const Var y = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) -> absl::StatusOr<Vars> {
    SLUICE_RETURN_IF_ERROR(Tape::QueueCallback([&] {
      order.push_back("outer");
      return queue("added");
    }));
    const GradModeScope grad(true);
    const Var inner = WithGradient(Leaf(1), [&](FunctionContext&, absl::Span<const Var> g) -> absl::StatusOr<Vars> {
      SLUICE_RETURN_IF_ERROR(queue("inner"));
      return Vars{g[0]};
    });
    SLUICE_RETURN_IF_ERROR(inner.Backward());
    order.push_back("after inner");
    return Vars{grads[0]};
  });
  ASSERT_OK(y.Backward());
  EXPECT_THAT(order, ElementsAre("inner", "after inner", "outer", "added"));
}

TEST_F(TapeFunctionTest, H08TenThreadsOnOneLeaf) {
  const Var x = Leaf(std::vector<float>(25, 1.0f));
  std::vector<std::thread> threads;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_OK(Sum((x + 3.0) * (x + 4.0) * 0.5).Backward());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(GradOf(x), ::testing::Each(200 * 4.5f));
}

TEST_F(TapeFunctionTest, H09ThreadsOnOneGraph) {
  const Var x = Leaf(3);
  const Var y = x * x * x;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) EXPECT_OK(Retained(y));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(GradOf(x), ElementsAre(40 * 27));
  threads.clear();
  std::atomic<int> num_ok{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const absl::Status status = y.Backward();
      if (status.ok()) {
        ++num_ok;
      } else {
        EXPECT_THAT(status, IsError(ErrorCode::kTapeFreed, "second time"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(num_ok, 1);
}

TEST_F(TapeFunctionTest, CancellationEndsInnerAndOuterPasses) {
  CancellationManager cancellation;
  const Var x = Leaf(1);
  absl::Status inner_status;
  const Var y = WithGradient(x, [&](FunctionContext&, absl::Span<const Var> grads) {
    cancellation.StartCancelWithStatus(absl::CancelledError("enough"));
    const GradModeScope grad(true);
    inner_status = (Leaf(1) * 2.0).Backward();
    return Vars{grads[0]};
  });
  BackwardOptions options;
  options.cancellation = &cancellation;
  EXPECT_THAT(tape_.Backward({y}, {}, options), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(inner_status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace sluice

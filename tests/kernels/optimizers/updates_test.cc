// Each update on each kind of variable and each dtype against the plain formula, whole and cut into parts.

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/device/task_runner.h"
#include "tests/kernels/optimizers/update_case.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Cuts all work into seven parts of different sizes, the last first.
class SevenParts : public TaskRunner {
 public:
  void Schedule(absl::AnyInvocable<void()> task) override { task(); }
  int num_threads() const override { return 7; }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    for (int64_t part = 7; part-- > 0;) {
      const int64_t begin = total * part * part / 49, end = total * (part + 1) * (part + 1) / 49;
      if (begin < end) work(begin, end);
    }
    ++calls;
  }
  int calls = 0;
};

double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return 0.02;
    case DType::kBFloat16:
      return 0.15;
    case DType::kFloat:
    case DType::kComplex64:
      return 2e-5;
    default:
      return 1e-12;
  }
}

// Values that differ from element to element: the variable's between -1 and 1, slots' between 0.5 and 1.5.
std::vector<Number> Values(int64_t n, int64_t salt, bool is_slot, bool is_complex) {
  std::vector<Number> values;
  for (int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>((i * 37 + salt * 101) % 64 - 31) / 32;
    const double y = is_complex ? static_cast<double>((i * 11 + salt * 13) % 32) / 32 : 0.0;
    values.emplace_back(is_slot ? 1 + x / 2 : x, y);
  }
  return values;
}

struct Trial {
  const OptimizerCase& optimizer;
  DType dtype;
  bool is_ref, is_sparse, flag;
  Shape shape;
  std::vector<Number> indices;  // Of sparse trials.
};

std::string OpOf(const Trial& trial) {
  return absl::StrCat(trial.is_ref ? "" : "Resource", trial.is_sparse ? "Sparse" : "", "Apply", trial.optimizer.name);
}

// Runs the op and the formula; the results of the op.
std::vector<Tensor> RunTrial(const Trial& trial, TaskRunner* runner) {
  const bool is_complex = trial.dtype == DType::kComplex64 || trial.dtype == DType::kComplex128;
  const int64_t n = trial.shape.num_elements();
  UpdateRunner op(OpOf(trial), trial.dtype, trial.is_ref);
  op.run().task_runner = runner;
  std::vector<std::vector<Number>> slots;
  for (size_t slot = 0; slot <= trial.optimizer.slots.size(); ++slot) {
    std::vector<Number> values = Values(n, static_cast<int64_t>(slot), slot > 0, is_complex);
    // The mean is smaller than the mean square: their difference has a root.
    const bool is_mean = slot > 0 && trial.optimizer.slots[slot - 1] == "mg";
    for (Number& value : values) value *= is_mean ? 0.25 : 1;
    const Tensor start = TensorOf(trial.dtype, trial.shape, values);
    slots.push_back(NumbersOf(start));
    op.AddSlot(start.DeepCopy().value());
  }
  for (const auto& [name, value] : trial.optimizer.scalars) {
    op.Set(name, TensorOf(name == "global_step" ? DType::kInt64 : trial.dtype, Shape(), {value}));
  }
  if (!trial.optimizer.flag.empty()) op.SetFlag(trial.optimizer.flag, trial.flag);

  std::vector<int64_t> grad_dims(trial.shape.dims().begin(), trial.shape.dims().end());
  if (trial.is_sparse) grad_dims[0] = static_cast<int64_t>(trial.indices.size());
  const Shape grad_shape = Shape::Make(grad_dims).value();
  const Tensor grad = TensorOf(trial.dtype, grad_shape, Values(grad_shape.num_elements(), 7, false, is_complex));
  op.Set("grad", grad);
  if (trial.is_sparse) {
    op.Set("indices", TensorOf(DType::kInt32, Shape::Of({static_cast<int64_t>(trial.indices.size())}), trial.indices));
  }
  EXPECT_OK(op.Run()) << OpOf(trial);

  const std::vector<Number> grads = NumbersOf(grad);
  const size_t inner = trial.is_sparse && !grads.empty() ? grads.size() / trial.indices.size() : 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    const size_t at = trial.is_sparse ? static_cast<size_t>(trial.indices[i / inner].real()) * inner + i % inner : i;
    std::vector<Number> x;
    for (const auto& slot : slots) x.push_back(slot[at]);
    trial.optimizer.step(x, grads[i], trial.flag);
    for (size_t slot = 0; slot < slots.size(); ++slot) slots[slot][at] = x[slot];
  }
  std::vector<Tensor> results;
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    results.push_back(op.slot(slot).Read().DeepCopy().value());
    const std::vector<Number> found = NumbersOf(results.back());
    for (size_t i = 0; i < found.size(); ++i) {
      const double error = std::abs(found[i] - slots[slot][i]) / (1 + std::abs(slots[slot][i]));
      EXPECT_LE(error, Tolerance(trial.dtype))
          << OpOf(trial) << " " << DTypeName(trial.dtype) << " slot " << slot << " element " << i;
      if (error > Tolerance(trial.dtype)) break;
    }
  }
  return results;
}

// As it is, and in parts: the same bits.
void RunBothWays(const Trial& trial) {
  SevenParts parts;
  const std::vector<Tensor> whole = RunTrial(trial, nullptr);
  const std::vector<Tensor> joined = RunTrial(trial, &parts);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(whole[i].bytes() == joined[i].bytes()) << OpOf(trial);
}

class UpdatesTest : public ::testing::TestWithParam<DType> {
 protected:
  // Calls `run` with each optimizer that there is for the dtype, each kind of variable and each value of its flag.
  template <typename Run>
  int ForEach(bool is_sparse, const Run& run) {
    int count = 0;
    const bool is_half = GetParam() == DType::kHalf || GetParam() == DType::kBFloat16;
    const bool is_complex = GetParam() == DType::kComplex64 || GetParam() == DType::kComplex128;
    for (const OptimizerCase& optimizer : AllOptimizers()) {
      if ((is_half && !optimizer.has_half) || (is_complex && !optimizer.has_complex)) continue;
      if (is_sparse ? !optimizer.has_sparse : !optimizer.has_dense) continue;
      for (const bool is_ref : {false, true}) {
        if (is_ref && !optimizer.has_ref) continue;
        for (const bool flag : {false, true}) {
          if (flag && optimizer.flag.empty()) continue;
          run(Trial{optimizer, GetParam(), is_ref, is_sparse, flag, Shape(), {}});
          ++count;
        }
      }
    }
    return count;
  }
};

TEST_P(UpdatesTest, DenseOnesFollowTheirFormulas) {
  const int count = ForEach(false, [](Trial trial) {
    for (const Shape& shape : {Shape(), Shape::Of({0}), Shape::Of({3, 0}), Shape::Of({1}), Shape::Of({7}),
                               Shape::Of({8}), Shape::Of({3, 5, 11})}) {
      trial.shape = shape;
      RunBothWays(trial);
    }
  });
  EXPECT_GE(count, GetParam() == DType::kComplex64 || GetParam() == DType::kComplex128 ? 20 : 30);
}

TEST_P(UpdatesTest, SparseOnesUpdateARowThatIsNamedTwiceTwice) {
  const int count = ForEach(true, [](Trial trial) {
    for (const Shape& shape : {Shape::Of({5}), Shape::Of({5, 1}), Shape::Of({5, 11}), Shape::Of({5, 2, 4})}) {
      trial.shape = shape;
      for (const std::vector<Number>& indices : {std::vector<Number>{}, {3}, {4, 0, 4, 1, 4}}) {
        trial.indices = indices;
        RunBothWays(trial);
      }
    }
  });
  EXPECT_GE(count, GetParam() == DType::kComplex64 || GetParam() == DType::kComplex128 ? 16 : 20);
}

// Large enough that the work is cut: by columns where rows are long, else by rows of the variable.
TEST_P(UpdatesTest, SparseOnesAreCutIntoParts) {
  const OptimizerCase& adagrad = AllOptimizers()[6];
  ASSERT_EQ(adagrad.name, "Adagrad");
  Trial trial{adagrad, GetParam(), false, true, true, Shape::Of({3, 20001}), {2, 0, 2}};
  RunBothWays(trial);
  trial.shape = Shape::Of({1000, 30});
  trial.indices.clear();
  for (int i = 0; i < 4000; ++i) trial.indices.emplace_back((i * i) % 1000 / 3);
  RunBothWays(trial);
}

INSTANTIATE_TEST_SUITE_P(Types, UpdatesTest,
                         ::testing::Values(DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16,
                                           DType::kComplex64, DType::kComplex128),
                         [](const auto& info) { return std::string(DTypeName(info.param)); });

}  // namespace
}  // namespace sluice

// Every row of the kernel registry with shapes that have no elements but huge sizes ([2^40, 0]), and with huge numbers
// as sizes, counts and attrs. A call may answer, refuse, or end at its deadline; it must end, and stay within its
// memory.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/mutex.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/control/print_sink.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_context.h"
#include "kernels/memory/tracking_allocator.h"
#include "kernels/step/session_state.h"
#include "kernels/step/step_container.h"
#include "tests/kernels/row_trial.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/kernel_runner.h"

namespace sluice {
namespace {

constexpr int kStripes = 8;
constexpr int kTrials = 60;                // Calls of each kernel of a case.
constexpr int64_t kMemory = 16 << 20;      // Bytes that tensors of one call may have.
constexpr int64_t kMaxGrowth = 512 << 10;  // KiB that the process may grow by over one case.
constexpr absl::Duration kDeadline = absl::Seconds(1);
constexpr absl::Duration kHang = absl::Seconds(60);  // Far above the deadline: the machine may be busy.

// Sizes without elements.
const std::vector<std::vector<int64_t>>& EmptyShapes() {
  constexpr int64_t k20 = int64_t{1} << 20, k40 = int64_t{1} << 40;
  static const std::vector<std::vector<int64_t>>& shapes =
      *new std::vector<std::vector<int64_t>>{{k40, 0},          {0, k40},         {0},
                                             {k20, 0, k20},     {k40, 0, 3},      {k40, 2, 0},
                                             {0, k20, k20},     {k20, k20, 0},    {k40, 0, 3, 3},
                                             {k20, 3, 3, 0},    {k40, 4, 4, 0},   {1, k20, k20, 0},
                                             {k40, 0, 1, 1, 1}, {k20, 2, 2, 2, 0}};
  return shapes;
}

// Ends the process, and says in which call, if one does not end. Thread-safe.
class Watchdog {
 public:
  Watchdog() : thread_([this] { Watch(); }) {}
  ~Watchdog() {
    {
      MutexLock lock(&mu_);
      is_over_ = true;
    }
    thread_.join();
  }

  // `inputs` stay as they are until End().
  void Begin(const CallCase& row_case, const std::vector<Tensor>& inputs) {
    MutexLock lock(&mu_);
    case_ = &row_case;
    inputs_ = &inputs;
    begin_ = absl::Now();
  }
  void End() {
    MutexLock lock(&mu_);
    case_ = nullptr;
  }

 private:
  void Watch() {
    for (;; absl::SleepFor(absl::Milliseconds(100))) {
      MutexLock lock(&mu_);
      if (is_over_) return;
      if (case_ == nullptr || absl::Now() - begin_ < kHang) continue;
      std::string text = absl::StrCat("does not end at its deadline: ", case_->Name(), ", inputs");
      for (const Tensor& input : *inputs_) absl::StrAppend(&text, " ", input.ToString(8));
      std::fprintf(stderr, "%s\n", text.c_str());
      std::fflush(stderr);
      _exit(1);
    }
  }

  Mutex mu_;
  const CallCase* case_ ABSL_GUARDED_BY(mu_) = nullptr;
  const std::vector<Tensor>* inputs_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::Time begin_ ABSL_GUARDED_BY(mu_);
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

// Draws the inputs of calls. Not thread-safe.
class SweepInputs {
 public:
  explicit SweepInputs(uint64_t seed) : random_(seed) {}

  std::vector<Tensor> Draw(const CallCase& row_case) {
    std::vector<Tensor> inputs;
    const Shape same = EmptyShape();
    // All alike, one of them empty, or each as it comes.
    const uint64_t pattern = random_.Below(4);
    const size_t chosen = random_.Below(row_case.inputs.size());
    for (size_t i = 0; i < row_case.inputs.size(); ++i) {
      const DType type = row_case.inputs[i] == DType::kResource ? row_case.resource_type : BaseType(row_case.inputs[i]);
      const bool is_empty = pattern == 0 || (pattern == 1 && i == chosen) || (pattern == 2 && i != chosen) ||
                            (pattern == 3 && random_.OneIn(3));
      if (is_empty && i < row_case.shapes.size() && random_.OneIn(2)) {
        inputs.push_back(Tensor::Make(type, Emptied(row_case.shapes[i])).value());
      } else if (is_empty) {
        inputs.push_back(Tensor::Make(type, pattern == 3 ? EmptyShape() : same).value());
      } else if (i < row_case.shapes.size() && random_.OneIn(2)) {
        inputs.push_back(HostileTensor(type, row_case.shapes[i], ElementKind::kSmall, random_));
      } else {
        inputs.push_back(Small(type));
      }
    }
    return inputs;
  }

 private:
  Shape EmptyShape() { return Shape::Make(random_.Pick(EmptyShapes())).value(); }

  // `shape` with a huge size and a 0 in it, where it has that many dimensions.
  Shape Emptied(const Shape& shape) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    if (dims.empty()) return shape;
    dims[random_.Below(dims.size())] = int64_t{1} << 40;
    dims[random_.Below(dims.size())] = 0;
    return Shape::Make(dims).value_or(Shape::Of({0}));
  }

  // A scalar or a vector of sizes, indices or axes, which now and then are huge.
  Tensor Small(DType type) {
    constexpr int64_t kHuge[] = {1 << 20, 1 << 28, 2147483647, int64_t{1} << 32, int64_t{1} << 40, 9223372036854775807};
    const Shape shape = random_.OneIn(2) ? Shape() : Shape::Of({static_cast<int64_t>(1 + random_.Below(4))});
    Tensor tensor = HostileTensor(type, shape, random_.OneIn(4) ? ElementKind::kExtreme : ElementKind::kSmall, random_);
    if (!random_.OneIn(3)) return tensor;
    const size_t at = random_.Below(static_cast<uint64_t>(tensor.num_elements()));
    const int64_t huge = random_.Pick(kHuge);
    if (type == DType::kInt64) tensor.flat<int64_t>()[at] = huge;
    if (type == DType::kInt32) tensor.flat<int32_t>()[at] = static_cast<int32_t>(std::min<int64_t>(huge, 2147483647));
    if (type == DType::kFloat) tensor.flat<float>()[at] = static_cast<float>(huge);
    if (type == DType::kDouble) tensor.flat<double>()[at] = static_cast<double>(huge);
    return tensor;
  }

  FuzzRandom random_;
};

// Ops that wait for what no other node of this test ever gives them, whatever their inputs are.
bool WaitsForOthers(const std::string& op) {
  for (const char* const prefix : {"MapUnstage", "MapPeek", "OrderedMapUnstage", "OrderedMapPeek"}) {
    if (absl::StartsWith(op, prefix)) return true;
  }
  return op == "Unstage" || op == "StagePeek" || op == "MutexLock";
}

// Whether int attr `attr` says how many inputs or outputs there are.
bool CountsArguments(const OpSchema& schema, const std::string& attr) {
  for (const auto* const args : {&schema.inputs, &schema.outputs}) {
    for (const ArgSpec& arg : *args) {
      if (arg.number_attr == attr) return true;
    }
  }
  return false;
}

// `row_case`, and the same with each int attr huge.
std::vector<CallCase> WithHugeAttrs(const CallCase& row_case, const OpSchema& schema) {
  std::vector<CallCase> cases = {row_case};
  for (const AttrSpec& attr : schema.attrs) {
    if (attr.type != AttrType::kInt || CountsArguments(schema, attr.name)) continue;
    for (const int64_t huge : {int64_t{1} << 28, int64_t{2147483647}, int64_t{1} << 40}) {
      CallCase changed = row_case;
      PreparedKernel::Attrs& attrs = changed.attrs;
      attrs.erase(std::remove_if(attrs.begin(), attrs.end(), [&](const auto& a) { return a.first == attr.name; }),
                  attrs.end());
      attrs.emplace_back(attr.name, huge);
      cases.push_back(std::move(changed));
    }
  }
  return cases;
}

int64_t PeakKiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class DeadlineSweepTest : public ::testing::TestWithParam<int> {
 protected:
  DeadlineSweepTest() {
    SetPrintSink([](PrintStream, absl::string_view) {});
  }
  ~DeadlineSweepTest() override { SetPrintSink(nullptr); }

  void Call(const PreparedKernel& kernel, const CallCase& row_case, const std::vector<Tensor>& inputs) {
    TrackingAllocator allocator(HostAllocator(), kMemory);
    CpuDevice device(absl::StrCat(kLocalTask, "/device:CPU:0"), 1);
    StepContainer step(StepId(1));
    SessionState session;
    TensorStore store;
    RunContext run;
    run.device = &device;
    run.resources = &device.resources();
    run.step_container = &step;
    run.session_state = &session;
    run.tensor_store = &store;
    run.allocator = &allocator;
    run.deadline = absl::Now() + kDeadline;
    GivenInputs given = GiveInputs(row_case, inputs);
    watchdog_.Begin(row_case, inputs);
    try {
      ++(kernel.Run(run, std::move(given.inputs), /*movable=*/false).ok() ? answers_ : refusals_);
    } catch (const KernelCancelled&) {
      ++refusals_;
    } catch (const std::bad_alloc&) {
      ++refusals_;
    }
    watchdog_.End();
  }

  void RunCase(const CallCase& row_case, uint64_t seed) {
    CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", 1);
    const absl::StatusOr<std::unique_ptr<PreparedKernel>> kernel =
        PreparedKernel::Make(row_case.op, row_case.attrs, row_case.inputs, &device);
    if (!kernel.ok()) return;  // Refused: an attr, or a function that is not here.
    ++kernels_;
    const int64_t before = PeakKiB();
    const absl::Time begin = absl::Now();
    SweepInputs inputs(seed);
    for (int i = 0; i < kTrials; ++i) Call(**kernel, row_case, inputs.Draw(row_case));
    EXPECT_LT(PeakKiB() - before, kMaxGrowth) << row_case.Name();
    if (absl::Now() - begin > absl::Seconds(1)) {  // For who looks for slow ones.
      std::printf("%s: %s\n", row_case.Name().c_str(), absl::FormatDuration(absl::Now() - begin).c_str());
    }
  }

  Watchdog watchdog_;
  int kernels_ = 0, answers_ = 0, refusals_ = 0;
};

TEST_P(DeadlineSweepTest, EveryCallEnds) {
  const std::shared_ptr<const OpRegistry> ops = NewOpRegistry();
  int index = 0;
  for (const absl::Span<const KernelRow> table : BuiltinKernels().Tables()) {
    for (const KernelRow& row : table) {
      if (index++ % kStripes != GetParam() || WaitsForOthers(std::string(row.op()))) continue;
      const OpSchema* const schema = ops->Find(row.op());
      ASSERT_NE(schema, nullptr) << row.op();
      const std::vector<CallCase> all = CasesOf(row, *schema);
      // Kernels differ by the sort of their elements, not by each dtype.
      for (size_t i = 0; i < all.size(); i += std::max<size_t>(all.size() - 1, 1)) {
        for (const CallCase& row_case : WithHugeAttrs(all[i], *schema)) {
          if (row_case.resource_type == DType::kResource || row_case.resource_type == DType::kVariant) continue;
          RunCase(row_case, static_cast<uint64_t>(index));
        }
      }
    }
  }
  std::printf("%d kernels, %d answers, %d refusals\n", kernels_, answers_, refusals_);
  EXPECT_GT(kernels_, 100);  // So that the test cannot come to test nothing.
  EXPECT_GT(answers_, 10 * kernels_);
}

INSTANTIATE_TEST_SUITE_P(Stripes, DeadlineSweepTest, ::testing::Range(0, kStripes));

}  // namespace
}  // namespace sluice

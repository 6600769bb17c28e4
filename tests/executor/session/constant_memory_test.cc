// What the constants of a session cost in memory: see Note [Tensors in files] in kernels/memory/file_tensor.h.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/memory/cpu_allocator.h"
#include "kernels/memory/file_tensor.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/weight_model.h"

namespace sluice {
namespace {

constexpr int64_t kSide = 512;
constexpr int kLayers = 4;
constexpr int64_t kMatrixBytes = kSide * kSide * 4;

Tensor Rows(int64_t rows, int64_t cols = kSide) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * cols; ++i) values.push_back(static_cast<float>(i % 17) / 17);
  return Tensor::Of<float>(Shape::Of({rows, cols}), values);
}

// Sums of products in another order.
void ExpectNear(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  for (int64_t i = 0; i < found.num_elements(); ++i) {
    const size_t k = static_cast<size_t>(i);
    ASSERT_NEAR(found.flat<float>()[k], expected.flat<float>()[k], 1e-4) << "element " << i;
  }
}

class ConstantMemoryTest : public ::testing::Test {
 protected:
  // A session over a model of matrices in a file.
  void OpenModel(size_t misalignment, Driver driver = Driver::kAuto) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/weights_", misalignment, ".pb");
    ASSERT_OK_AND_ASSIGN(weights_, WriteWeightModel(path, {kLayers, kSide, misalignment}));
    ASSERT_OK_AND_ASSIGN(LoadedGraph model, LoadGraphFile(path, LoadOptions()));
    Open(std::move(model.graph), driver);
  }
  // A session over what `b_` has built, imported, so that constants lie in memory that the graph keeps.
  void OpenBuilt() {
    ASSERT_OK_AND_ASSIGN(const Graph built, b_.Build());
    ImportOptions import;
    import.ops = NewOpRegistry();
    ASSERT_OK_AND_ASSIGN(Graph graph, ImportGraph(GraphSource::Copy(ExportGraph(built)), import));
    Open(std::move(graph), Driver::kAuto);
  }
  void Open(Graph graph, Driver driver) {
    SessionOptions options;
    options.num_threads = 2;
    options.driver = driver;
    options.allocator = &allocator_;
    ASSERT_OK_AND_ASSIGN(session_, Session::Create(options, std::move(graph)));
    before_ = HostAllocatorLiveBytes();
  }
  // Bytes of packed forms and of copies that the session has made.
  int64_t Grown() const { return HostAllocatorLiveBytes() - before_; }

  std::shared_ptr<const Callable> Prepare(const std::string& feed, const std::vector<std::string>& fetches) {
    absl::StatusOr<std::shared_ptr<const Callable>> made = session_->Prepare({{feed}, fetches, {}, {}});
    EXPECT_OK(made);
    return made.ok() ? *std::move(made) : nullptr;
  }
  static Tensor Run(const Callable& callable, Tensor in) {
    std::vector<Tensor> out(callable.fetches().size());
    EXPECT_OK(callable.Run(absl::MakeSpan(&in, 1), absl::MakeSpan(out)));
    return out[0];
  }
  // `fetch` of a step in which the weights are fed: products of matrices that nothing is known about.
  Tensor Expected(const std::string& feed, const Tensor& in, const std::string& fetch) {
    NamedTensors feeds = {{feed, in}};
    for (const std::string& name : weights_) {
      absl::StatusOr<std::vector<Tensor>> value = session_->Run({}, {name}, {});
      EXPECT_OK(value);
      if (value.ok()) feeds.emplace_back(name, (*value)[0]);
    }
    absl::StatusOr<std::vector<Tensor>> values = session_->Run(feeds, {fetch}, {});
    EXPECT_OK(values);
    return values.ok() ? (*values)[0] : Tensor();
  }

  TrackingAllocator allocator_{CpuAllocator()};
  GraphBuilder b_{NewOpRegistry()};
  std::vector<std::string> weights_;
  std::unique_ptr<Session> session_;
  int64_t before_ = 0;
};

TEST_F(ConstantMemoryTest, ThreeSignaturesHoldEachMatrixOnce) {
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow, Driver::kAuto}) {
    for (const size_t misalignment : {0, 1, 2}) {
      OpenModel(misalignment, driver);
      const auto first = Prepare("x", {"h1"}), second = Prepare("h1", {"h3"}), all = Prepare("x", {"h3"});
      EXPECT_LT(Grown(), 256 << 10) << "nothing is copied";
      for (const int64_t rows : {1, 7}) {
        const Tensor middle = Run(*first, Rows(rows));
        const Tensor split = Run(*second, middle), whole = Run(*all, Rows(rows));
        EXPECT_EQ(split.bytes(), whole.bytes()) << "the same products, in one step or in two";
        EXPECT_GE(Grown(), kLayers * kMatrixBytes);
        EXPECT_LE(Grown(), kLayers * kMatrixBytes * 11 / 10);
      }
    }
  }
}

TEST_F(ConstantMemoryTest, ProductsAreThoseOfTheMatricesInTheFile) {
  for (const size_t misalignment : {0, 3}) {
    OpenModel(misalignment);
    const auto all = Prepare("x", {"h3"});
    for (const int64_t rows : {1, 2, 6, 40}) ExpectNear(Run(*all, Rows(rows)), Expected("x", Rows(rows), "h3"));
  }
}

TEST_F(ConstantMemoryTest, AMatrixThatIsFetchedTooCanBeRead) {
  OpenModel(1);
  const auto fetches_it = Prepare("x", {weights_[0], "h0"});
  EXPECT_GE(Grown(), kMatrixBytes) << "a copy that is aligned";
  EXPECT_LT(Grown(), 2 * kMatrixBytes);
  const Tensor matrix = Run(*fetches_it, Rows(3));
  EXPECT_FALSE(IsInFile(matrix));
  EXPECT_EQ(matrix.shape(), Shape::Of({kSide, kSide}));
  EXPECT_NE(matrix.flat<float>()[0], matrix.flat<float>()[1]);
  const auto only_multiplies = Prepare("x", {"h0"});
  ExpectNear(Run(*only_multiplies, Rows(3)), Expected("x", Rows(3), "h0"));
}

TEST_F(ConstantMemoryTest, WhatIsPackedGoesWithTheLastPlan) {
  OpenModel(1);
  auto first = Prepare("x", {"h3"}), second = Prepare("h0", {"h3"});
  Run(*first, Rows(2));
  Run(*second, Rows(2));
  first = nullptr;
  EXPECT_GE(Grown(), (kLayers - 1) * kMatrixBytes);
  EXPECT_LT(Grown(), (kLayers - 1) * kMatrixBytes + kMatrixBytes / 2)
      << "the second signature has no use for the first matrix";
  second = nullptr;
  EXPECT_LT(Grown(), 256 << 10);
}

TEST_F(ConstantMemoryTest, MatricesAreFoundThroughNodesThatHandThemOn) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output w = b_.Op("Identity", "read", {b_.Const("w", Rows(kSide, 300))});
  b_.Op("MatMul", "y", {x, w}, {{"transpose_b", true}});
  b_.Op("BatchMatMulV2", "z", {b_.Placeholder("stack", DType::kFloat), w}, {{"adj_y", true}});
  b_.Op("Neg", "n", {w});
  OpenBuilt();
  const auto y = Prepare("x", {"y"}), z = Prepare("stack", {"z"});
  EXPECT_LT(Grown(), 256 << 10);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> fed,
                       session_->Run({{"x", Rows(5, 300)}, {"w", Rows(kSide, 300)}}, {"y"}, {}));
  ExpectNear(Run(*y, Rows(5, 300)), fed[0]);
  EXPECT_LT(Grown(), 2 * kSide * 300 * 4);
  const int64_t packed = Grown();
  ASSERT_OK_AND_ASSIGN(const Tensor stack, Rows(6, 300).Reshaped(Shape::Of({2, 3, 300})));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> fed_stack,
                       session_->Run({{"stack", stack}, {"w", Rows(kSide, 300)}}, {"z"}, {}));
  ExpectNear(Run(*z, stack), fed_stack[0]);
  EXPECT_LT(Grown(), packed + (64 << 10)) << "the other product has the same form";
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> negated, session_->Run({}, {"n"}, {}));
  EXPECT_EQ(negated[0].flat<float>()[1], -Rows(kSide, 300).flat<float>()[1]);
}

TEST_F(ConstantMemoryTest, SmallMatricesAndOtherTypesAreReadAsEver) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("MatMul", "small", {x, b_.Const("s", Rows(8, 8))});
  const Tensor ints = Tensor::Of<int32_t>(Shape::Of({kSide, kSide}), std::vector<int32_t>(kSide * kSide, 2));
  b_.Op("MatMul", "ints", {b_.Placeholder("i", DType::kInt32), b_.Const("w", ints)});
  OpenBuilt();
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> small, session_->Run({{"x", Rows(2, 8)}}, {"small"}, {}));
  EXPECT_EQ(small[0].shape(), Shape::Of({2, 8}));
  const Tensor ones = Tensor::Of<int32_t>(Shape::Of({1, kSide}), std::vector<int32_t>(kSide, 1));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> sums, session_->Run({{"i", ones}}, {"ints"}, {}));
  EXPECT_EQ(sums[0].flat<int32_t>()[0], 2 * kSide);
}

}  // namespace
}  // namespace sluice

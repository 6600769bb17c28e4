// The bits of TensorFlow for every dtype and sizes around the ends of blocks and groups, run after run, on one thread
// and on several.

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/random/random_call.h"
#include "tests/kernels/random/tensorflow_numbers.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kSeed = 87654321;
constexpr int64_t kSeed2 = -12345;

Tensor Reshaped(Tensor tensor, std::vector<int64_t> dims) {
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  absl::StatusOr<Tensor> reshaped = tensor.Reshaped(*shape);
  EXPECT_OK(reshaped);
  return *std::move(reshaped);
}

Tensor Scalar(DType dtype, double value) { return Reshaped(NumbersAs(dtype, {value}), {}); }

bool IsStateless(const std::string& op) { return op.rfind("Stateless", 0) == 0; }

// The inputs of record_numbers.py.
std::vector<Tensor> NumberInputs(const RecordedNumbers& row) {
  std::vector<Tensor> inputs = {Ints({row.size})};
  if (IsStateless(row.op)) inputs.push_back(Longs({kSeed, kSeed2}));
  const std::string op = row.op;
  if (op == "RandomUniformInt" || op == "StatelessRandomUniformInt") {
    inputs.push_back(Scalar(row.dtype, -1000));
    inputs.push_back(Scalar(row.dtype, 2147483643));
  }
  return inputs;
}

std::vector<Tensor> SampleInputs(const RecordedNumbers& row) {
  const std::string op = row.op;
  const Tensor seeds = Longs({kSeed, kSeed2});
  const auto of = [&row](const std::vector<double>& numbers) { return NumbersAs(row.of, numbers); };
  if (op.find("Multinomial") != std::string::npos) {
    const Tensor logits = Reshaped(of({0, .5, 1, 1.5, 2, 0, .5, 1, 1.5, 2, 0, .5}), {4, 3});
    const Tensor size = Tensor::Scalar<int32_t>(row.size);
    return IsStateless(op) ? std::vector<Tensor>{logits, size, seeds} : std::vector<Tensor>{logits, size};
  }
  std::vector<Tensor> inputs;
  if (op == "ParameterizedTruncatedNormal") {
    inputs = {Ints({4, row.size})};
  } else {
    inputs = {IsStateless(op) ? Ints({row.size, 4}) : Ints({row.size})};
  }
  if (IsStateless(op)) inputs.push_back(seeds);
  std::vector<std::vector<double>> parameters;
  if (op.find("Gamma") != std::string::npos) parameters = {{0.3, 1, 2.5, 100}};
  if (op.find("Poisson") != std::string::npos) {
    const bool is_int = row.of == DType::kInt32 || row.of == DType::kInt64;
    parameters = {{is_int ? 0 : 0.5, 5, 10, 1000}};
  }
  if (op.find("Binomial") != std::string::npos) parameters = {{3, 20, 100, 1000}, {.1, .5, .75, .9}};
  if (op.find("Parameterized") != std::string::npos) {
    parameters = {{0, 1, 5, 0}, {1, 2, .5, 1}, {-2, 1.5, 5.5, 2}, {1, 3, 5.75, 40}};
  }
  for (const std::vector<double>& numbers : parameters) inputs.push_back(of(numbers));
  return inputs;
}

// Attrs that do not follow from the inputs.
PreparedKernel::Attrs AttrsOf(const RecordedNumbers& row) {
  const std::string op = row.op;
  PreparedKernel::Attrs attrs;
  if (op.find("Multinomial") != std::string::npos) {
    attrs = {{"output_dtype", row.dtype}};
  } else if (op != "RandomUniformInt" && op != "RandomGamma") {
    attrs = {{"dtype", row.dtype}};
  }
  if (!IsStateless(op)) {
    attrs.emplace_back("seed", kSeed);
    attrs.emplace_back("seed2", kSeed2);
  }
  return attrs;
}

void ExpectRecorded(const RecordedNumbers& row, const std::vector<Tensor>& inputs) {
  SCOPED_TRACE(std::string(row.op) + " " + std::string(DTypeName(row.dtype)) + " of " + std::string(DTypeName(row.of)) +
               " " + std::to_string(row.size));
  RandomNode alone(row.op, AttrsOf(row), inputs);
  RandomNode shared(row.op, AttrsOf(row), inputs);
  for (const uint64_t hash : row.hashes) {
    ASSERT_OK_AND_ASSIGN(const Tensor one, alone.Run());
    EXPECT_EQ(one.dtype(), row.dtype);
    EXPECT_EQ(HashOf(one), hash);
    ASSERT_OK_AND_ASSIGN(const Tensor of_four, shared.Run(/*num_threads=*/4));
    EXPECT_EQ(HashOf(of_four), hash);
  }
}

TEST(RecordedNumbersTest, IndependentNumbersAreTensorFlows) {
  for (const RecordedNumbers& row : kNumbers) ExpectRecorded(row, NumberInputs(row));
}

TEST(RecordedNumbersTest, SamplesOfParametersAreTensorFlows) {
  for (const RecordedNumbers& row : kSamples) ExpectRecorded(row, SampleInputs(row));
}

// Large enough for many shards.
TEST(RecordedNumbersTest, ThreadsChangeNothing) {
  for (const RecordedNumbers& recorded : kNumbers) {
    if (recorded.size != 65) continue;
    RecordedNumbers row = recorded;
    row.size = 100'003;
    SCOPED_TRACE(row.op);
    ASSERT_OK_AND_ASSIGN(const Tensor alone, RandomNode(row.op, AttrsOf(row), NumberInputs(row)).Run());
    ASSERT_OK_AND_ASSIGN(const Tensor shared, RandomNode(row.op, AttrsOf(row), NumberInputs(row)).Run(8));
    EXPECT_EQ(HashOf(alone), HashOf(shared));
  }
  for (const RecordedNumbers& recorded : kSamples) {
    if (recorded.size != 67 || recorded.of != DType::kFloat) continue;
    RecordedNumbers row = recorded;
    row.size = 5'003;
    SCOPED_TRACE(row.op);
    ASSERT_OK_AND_ASSIGN(const Tensor alone, RandomNode(row.op, AttrsOf(row), SampleInputs(row)).Run());
    ASSERT_OK_AND_ASSIGN(const Tensor shared, RandomNode(row.op, AttrsOf(row), SampleInputs(row)).Run(8));
    EXPECT_EQ(HashOf(alone), HashOf(shared));
  }
}

TEST(RecordedNumbersTest, NothingIsDrawnForEmptyShapes) {
  for (const RecordedNumbers& recorded : kNumbers) {
    RecordedNumbers row = recorded;
    row.size = 0;
    SCOPED_TRACE(row.op);
    ASSERT_OK_AND_ASSIGN(const Tensor none, RandomNode(row.op, AttrsOf(row), NumberInputs(row)).Run());
    EXPECT_EQ(none.num_elements(), 0);
  }
  for (const RecordedNumbers& recorded : kSamples) {
    RecordedNumbers row = recorded;
    row.size = 0;
    SCOPED_TRACE(row.op);
    ASSERT_OK_AND_ASSIGN(const Tensor none, RandomNode(row.op, AttrsOf(row), SampleInputs(row)).Run());
    EXPECT_EQ(none.num_elements(), 0);
  }
}

}  // namespace
}  // namespace sluice

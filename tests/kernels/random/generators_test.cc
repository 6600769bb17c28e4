// Generators of seeds, keys and variables: which numbers come from them, and what is refused.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/resource_handle.h"
#include "gtest/gtest.h"
#include "kernels/resources/variable.h"
#include "tests/kernels/random/random_call.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using absl::StatusCode;

Tensor Words(std::vector<uint64_t> values) { return Tensor::Vector<uint64_t>(values); }
Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Long(int64_t value) { return Tensor::Scalar(value); }

// A variable, and a handle to it.
class GeneratorVariable {
 public:
  explicit GeneratorVariable(Tensor state) : variable_(MakeCounted<Variable>(state.dtype())) {
    MutexLock lock(&variable_->cell().mu);
    variable_->cell().tensor = std::move(state);
  }
  Tensor Handle() const {
    ResourceHandleData data;
    data.maybe_type_name = std::string(Variable::kTypeName);
    data.resource = CountedPtr<Resource>::Share(variable_.get());
    return Tensor::Of<ResourceHandle>(Shape(), {ResourceHandle::Make(std::move(data))});
  }
  std::vector<int64_t> State() const {
    const Tensor state = variable_->cell().Read();
    return {state.flat<int64_t>().begin(), state.flat<int64_t>().end()};
  }

 private:
  CountedPtr<Variable> variable_;
};

struct Pair {
  const char* by_seed;
  const char* by_key;
  const char* by_variable;
  std::vector<DType> types;
};

const std::vector<Pair>& Pairs() {
  static const std::vector<Pair>& pairs = *new std::vector<Pair>{
      {"StatelessRandomUniform", "StatelessRandomUniformV2", "StatefulUniform", {DType::kFloat, DType::kBFloat16}},
      {"StatelessRandomNormal", "StatelessRandomNormalV2", "StatefulStandardNormalV2", {DType::kDouble, DType::kHalf}},
      {"StatelessTruncatedNormal", "StatelessTruncatedNormalV2", "StatefulTruncatedNormal", {DType::kFloat}},
      {"StatelessRandomUniformFullInt",
       "StatelessRandomUniformFullIntV2",
       "StatefulUniformFullInt",
       {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64}}};
  return pairs;
}

TEST(GeneratorsTest, SeedsKeysAndVariablesLeadToTheSameNumbers) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> key,
                       RandomNode("StatelessRandomGetKeyCounterAlg", {}, {Longs({7, -3})}).RunAll());
  EXPECT_EQ(key[0].flat<uint64_t>()[0], 0xb9f4bbecb565c296u);  // TensorFlow's.
  EXPECT_EQ(key[1].flat<uint64_t>()[1], 0x277b9bf3d34bed1du);
  EXPECT_EQ(key[2].flat<int32_t>()[0], 1);
  const int64_t words[] = {0, static_cast<int64_t>(key[1].flat<uint64_t>()[1]),
                           static_cast<int64_t>(key[0].flat<uint64_t>()[0])};
  for (const Pair& pair : Pairs()) {
    for (const DType dtype : pair.types) {
      SCOPED_TRACE(absl::StrCat(pair.by_seed, " ", DTypeName(dtype)));
      const PreparedKernel::Attrs attrs = {{"dtype", dtype}};
      ASSERT_OK_AND_ASSIGN(const Tensor by_seed, RandomNode(pair.by_seed, attrs, {Ints({3, 7}), Ints({7, -3})}).Run());
      ASSERT_OK_AND_ASSIGN(const Tensor by_key,
                           RandomNode(pair.by_key, attrs, {Longs({3, 7}), key[0], key[1], Int(3)}).Run());
      EXPECT_EQ(HashOf(by_key), HashOf(by_seed));
      const GeneratorVariable variable(Longs({words[0], words[1], words[2], 99}));
      RandomNode node(pair.by_variable, attrs, {variable.Handle(), Long(1), Longs({3, 7})});
      ASSERT_OK_AND_ASSIGN(const Tensor by_variable, node.Run());
      EXPECT_EQ(HashOf(by_variable), HashOf(by_seed));
      EXPECT_EQ(variable.State(), (std::vector<int64_t>{21 * 256, words[1], words[2], 99}));
      ASSERT_OK_AND_ASSIGN(const Tensor second, node.Run());
      EXPECT_NE(HashOf(second), HashOf(by_seed));
    }
  }
}

TEST(GeneratorsTest, WhatAReaderHoldsDoesNotChange) {
  const Tensor state = Longs({1, 2, 3});
  const GeneratorVariable variable(state);
  ASSERT_OK(RandomNode("RngSkip", {}, {variable.Handle(), Long(1), Long(5)}).RunAll());
  EXPECT_EQ(state.flat<int64_t>()[0], 1);
  EXPECT_EQ(variable.State(), (std::vector<int64_t>{1 + 5 * 256, 2, 3}));
}

TEST(GeneratorsTest, SkipsCarryIntoTheUpperHalf) {
  const GeneratorVariable variable(Longs({-1, -1, 5}));
  RandomNode read("RngReadAndSkip", {}, {variable.Handle(), Int(1), Tensor::Scalar<uint64_t>(5)});
  ASSERT_OK_AND_ASSIGN(const Tensor before, read.Run());
  EXPECT_EQ(before.flat<int64_t>()[0], -1);
  EXPECT_EQ(variable.State(), (std::vector<int64_t>{1279, 0, 5}));  // TensorFlow's.
  ASSERT_OK(RandomNode("RngSkip", {}, {variable.Handle(), Long(3), Long(-5)}).RunAll());
  EXPECT_EQ(variable.State()[0], -1);
}

// From TensorFlow, run eagerly; in its graphs the state is lost where the variable's buffer is shared.
TEST(GeneratorsTest, BinomialNumbersOfAVariableAreTensorFlows) {
  const GeneratorVariable variable(Longs({1, 2, 3}));
  RandomNode node("StatefulRandomBinomial", {{"dtype", DType::kDouble}},
                  {variable.Handle(), Long(1), Ints({5}), Tensor::Scalar(50.0), Tensor::Scalar(0.3)});
  ASSERT_OK_AND_ASSIGN(const Tensor first, node.Run());
  EXPECT_EQ(first.flat<double>(), absl::MakeConstSpan({17.0, 15.0, 16.0, 18.0, 11.0}));
  EXPECT_EQ(variable.State(), (std::vector<int64_t>{102401, 2, 3}));
  ASSERT_OK_AND_ASSIGN(const Tensor second, node.Run());
  EXPECT_EQ(second.flat<double>(), absl::MakeConstSpan({13.0, 14.0, 12.0, 19.0, 16.0}));
  EXPECT_EQ(variable.State()[0], 204801);
}

TEST(GeneratorsTest, StatesAlgorithmsAndShapesAreChecked) {
  const PreparedKernel::Attrs attrs = {{"dtype", DType::kFloat}};
  const auto uniform = [&attrs](const Tensor& state, const Tensor& algorithm, const Tensor& shape) {
    return RandomNode("StatefulUniform", attrs, {GeneratorVariable(state).Handle(), algorithm, shape}).Code();
  };
  const Tensor state = Longs({1, 2, 3});
  EXPECT_EQ(uniform(state, Long(1), Ints({2})), StatusCode::kOk);
  EXPECT_EQ(uniform(Longs({1, 2}), Long(1), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(Ints({1, 2, 3}), Long(1), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(Long(1), Long(1), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(state, Long(2), Ints({2})), StatusCode::kUnimplemented);
  EXPECT_EQ(uniform(state, Long(4), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(state, Long(std::numeric_limits<int64_t>::min()), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(state, Longs({1}), Ints({2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(state, Long(1), Ints({-2})), StatusCode::kInvalidArgument);
  EXPECT_EQ(uniform(state, Long(1), Int(2)), StatusCode::kInvalidArgument);
  const auto by_key = [&attrs](const Tensor& key, const Tensor& counter, const Tensor& algorithm) {
    return RandomNode("StatelessRandomUniformV2", attrs, {Ints({2}), key, counter, algorithm}).Code();
  };
  EXPECT_EQ(by_key(Words({1}), Words({1, 2, 3}), Int(1)), StatusCode::kOk);
  EXPECT_EQ(by_key(Words({1, 2}), Words({1, 2}), Int(1)), StatusCode::kInvalidArgument);
  EXPECT_EQ(by_key(Tensor::Scalar<uint64_t>(1), Words({1, 2}), Int(1)), StatusCode::kInvalidArgument);
  EXPECT_EQ(by_key(Words({1}), Words({1}), Int(1)), StatusCode::kInvalidArgument);
  EXPECT_EQ(by_key(Words({1}), Words({1, 2}), Int(2)), StatusCode::kInvalidArgument);
  EXPECT_EQ(by_key(Words({1}), Words({1, 2}), Ints({1})), StatusCode::kInvalidArgument);
  const auto by_seed = [&attrs](const Tensor& seed) {
    return RandomNode("StatelessRandomUniform", attrs, {Ints({2}), seed}).Code();
  };
  EXPECT_EQ(by_seed(Longs({1, 2, 3})), StatusCode::kInvalidArgument);
  EXPECT_EQ(by_seed(Long(1)), StatusCode::kInvalidArgument);
}

TEST(GeneratorsTest, RangesOfIntegersAreChecked) {
  const auto code = [](const Tensor& low, const Tensor& high, int32_t size) {
    return RandomNode("StatelessRandomUniformInt", {{"dtype", low.dtype()}}, {Ints({size}), Longs({1, 2}), low, high})
        .Code();
  };
  EXPECT_EQ(code(Int(3), Int(3), 2), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Int(3), Int(3), 0), StatusCode::kOk);
  EXPECT_EQ(code(Ints({3}), Int(4), 2), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Long(std::numeric_limits<int64_t>::min()), Long(std::numeric_limits<int64_t>::max()), 2),
            StatusCode::kOk);
}

TEST(GeneratorsTest, NonDeterministicBitsDiffer) {
  RandomNode node("NonDeterministicInts", {{"dtype", DType::kUInt64}}, {Ints({4})});
  ASSERT_OK_AND_ASSIGN(const Tensor first, node.Run());
  ASSERT_OK_AND_ASSIGN(const Tensor second, node.Run());
  EXPECT_NE(HashOf(first), HashOf(second));
}

}  // namespace
}  // namespace sluice

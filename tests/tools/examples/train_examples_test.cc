// The examples that train: what they have learnt, on data of other seeds than theirs.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "executor/saved_model/open_saved_model.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/examples/example_data.h"

namespace sluice {
namespace {

// Runs the example, which writes to a directory of its own; the directory.
std::string RunExample(const std::string& name) {
  const std::string out = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(out);
  std::filesystem::create_directories(out);
  EXPECT_EQ(std::system(("tools/examples/" + name + " " + out + " >" + out + "/output").c_str()), 0) << name;
  return out;
}

double Accuracy(const std::string& directory, const ExampleData& data, std::vector<int64_t> shape) {
  const absl::StatusOr<OpenModel> model = OpenSavedModel(directory);
  EXPECT_OK(model);
  if (!model.ok()) return 0;
  shape.insert(shape.begin(), data.count);
  const Tensor input = Tensor::Of<float>(*Shape::Make(shape), data.values);
  const absl::StatusOr<NamedTensors> results = model->Call("serving_default", {{"input", input}});
  EXPECT_OK(results);
  double right = 0;
  for (const auto& [name, value] : results.value_or(NamedTensors())) {
    if (name != "answer") continue;
    for (size_t i = 0; i < data.labels.size(); ++i) right += value.flat<int32_t>()[i] == data.labels[i];
  }
  return right / static_cast<double>(data.count);
}

TEST(TrainExamplesTest, MoonsAreToldApart) {
  EXPECT_GE(Accuracy(RunExample("train_mlp"), TwoMoons(2000, /*seed=*/77), {2}), 0.97);
}

TEST(TrainExamplesTest, DigitsAreRead) {
  const std::string out = RunExample("train_cnn");
  EXPECT_GE(Accuracy(out + "/digit_model", DrawnDigits(2000, /*seed=*/77), {8, 8, 1}), 0.95);
  EXPECT_TRUE(std::filesystem::exists(out + "/digit_trainer.pb"));
  EXPECT_TRUE(std::filesystem::exists(out + "/drawn_digits.npz"));
}

TEST(ExampleDataTest, IsTheSameForTheSameSeed) {
  EXPECT_EQ(TwoMoons(10, 1).values, TwoMoons(10, 1).values);
  EXPECT_NE(TwoMoons(10, 1).values, TwoMoons(10, 2).values);
  EXPECT_EQ(DrawnDigits(3, 1).labels, DrawnDigits(3, 1).labels);
  for (const float value : DrawnDigits(50, 3).values) EXPECT_TRUE(value >= 0 && value <= 1);
}

}  // namespace
}  // namespace sluice

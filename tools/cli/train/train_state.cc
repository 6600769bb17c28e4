#include "tools/cli/train/train_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

constexpr char kPosition[] = "sluice_training/position", kSums[] = "sluice_training/sums",
               kSettings[] = "sluice_training/settings";

const Tensor* FindTensor(const NamedTensors& tensors, absl::string_view name, DType dtype, size_t elements) {
  for (const auto& [key, tensor] : tensors) {
    const bool is_good = tensor.dtype() == dtype && tensor.num_elements() == static_cast<int64_t>(elements);
    if (key == name) return is_good ? &tensor : nullptr;
  }
  return nullptr;
}

// The first line in which the two differ.
absl::Status CompareSettings(absl::string_view found, absl::string_view expected) {
  const std::vector<absl::string_view> before = absl::StrSplit(found, '\n'), now = absl::StrSplit(expected, '\n');
  for (size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const absl::string_view was = i < before.size() ? before[i] : "", is = i < now.size() ? now[i] : "";
    if (was == is) continue;
    return Error(ErrorCode::kCannotRun)
        .Found(is)
        .Expected(was)
        .Help("resume with what the training was started with, or start another one in another --out directory")
        .Text(
            "the training in the checkpoint took its rows in another order: going on would not give what it would have "
            "given without the break");
  }
  return absl::OkStatus();
}

}  // namespace

void RunningMeans::Add(const std::vector<double>& values, double num_rows) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i] * num_rows;
  rows += num_rows;
}

std::vector<double> RunningMeans::Means() const {
  std::vector<double> means = sums;
  for (double& mean : means) mean /= rows;
  return means;
}

void RunningMeans::Clear() {
  std::fill(sums.begin(), sums.end(), 0);
  rows = 0;
}

void TrainState::AppendTo(NamedTensors* tensors) const {
  std::vector<double> all;
  for (const RunningMeans* means : {&of_epoch, &of_row}) {
    all.insert(all.end(), means->sums.begin(), means->sums.end());
    all.push_back(means->rows);
  }
  tensors->emplace_back(kPosition, Tensor::Vector<int64_t>({step, epoch, batch}));
  tensors->emplace_back(kSums, Tensor::Vector<double>(all));
  tensors->emplace_back(kSettings, Tensor::String(settings));
}

absl::StatusOr<TrainState> TrainState::From(const NamedTensors& tensors, const TrainState& expected) {
  TrainState state = expected;
  const size_t labels = expected.of_row.sums.size();
  const Tensor* const position = FindTensor(tensors, kPosition, DType::kInt64, 3);
  const Tensor* const settings = FindTensor(tensors, kSettings, DType::kString, 1);
  const Tensor* const sums = FindTensor(tensors, kSums, DType::kDouble, 2 * (labels + 1));
  if (position == nullptr || settings == nullptr) {
    return Error(ErrorCode::kCannotRun)
        .Help("begin from its weights with --restore, and another --out directory")
        .Text("the checkpoint does not say where its training was: `sluice train` has not written it");
  }
  if (sums == nullptr) {
    return Error(ErrorCode::kCannotRun)
        .Help("resume with the metrics that the training was started with")
        .Text("the training in the checkpoint had another number of metrics");
  }
  const absl::Status same = CompareSettings(settings->flat<TString>()[0].view(), expected.settings);
  if (!same.ok()) return same;
  state.step = position->flat<int64_t>()[0];
  state.epoch = position->flat<int64_t>()[1];
  state.batch = position->flat<int64_t>()[2];
  const auto numbers = sums->flat<double>();
  std::copy(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(labels), state.of_epoch.sums.begin());
  state.of_epoch.rows = numbers[labels];
  std::copy(numbers.begin() + static_cast<std::ptrdiff_t>(labels) + 1, numbers.end() - 1, state.of_row.sums.begin());
  state.of_row.rows = numbers[2 * labels + 1];
  return state;
}

}  // namespace sluice

#include "tools/cli/train/train_state.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

constexpr char kPosition[] = "sluice_training/position", kSums[] = "sluice_training/sums",
               kSettings[] = "sluice_training/settings", kStepSettings[] = "sluice_training/step_settings",
               kLabels[] = "sluice_training/labels";

const Tensor* FindTensor(const NamedTensors& tensors, absl::string_view name, DType dtype, size_t elements) {
  for (const auto& [key, tensor] : tensors) {
    const bool is_good = tensor.dtype() == dtype && tensor.num_elements() == static_cast<int64_t>(elements);
    if (key == name) return is_good ? &tensor : nullptr;
  }
  return nullptr;
}

// By flag, the values in lines such as "--lr 0.1".
std::map<absl::string_view, absl::string_view> SettingsOf(absl::string_view text) {
  std::map<absl::string_view, absl::string_view> settings;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    settings.insert(absl::StrSplit(line, absl::MaxSplits(' ', 1)));
  }
  return settings;
}

// kCannotRun where the checkpoint names other labels than `expected`, which starts with the loss.
absl::Status CompareLabels(const NamedTensors& tensors, const std::vector<std::string>& expected) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [](const auto& one) { return one.first == kLabels; });
  if (found == tensors.end() || found->second.dtype() != DType::kString) return absl::OkStatus();  // Of an old version.
  std::vector<std::string> before, now;
  for (const TString& label : found->second.flat<TString>()) before.emplace_back(label.view());
  if (before == expected) return absl::OkStatus();
  const auto named = [](const std::vector<std::string>& labels) {
    std::vector<std::string> names;
    for (size_t i = 1; i < labels.size(); ++i) names.push_back(PrintableName(labels[i]));
    return names.empty() ? "no --metric" : absl::StrCat("--metric ", absl::StrJoin(names, ","));
  };
  return Error(ErrorCode::kCannotRun)
      .Found(named(expected))
      .Expected(named(before))
      .Help("resume with the metrics that the training was started with")
      .Text("the training in the checkpoint had other metrics");
}

// Whether a training with so many batches per epoch can be in this state.
bool IsPlace(const TrainState& state, int64_t batches) {
  constexpr int64_t kMostSteps = int64_t{1} << 62;  // Counting on from there does not overflow.
  int64_t before = 0, steps = 0;
  const bool is_counted = state.epoch >= 0 && state.batch >= 0 && state.batch <= batches &&
                          !__builtin_mul_overflow(state.epoch, batches, &before) &&
                          !__builtin_add_overflow(before, state.batch, &steps);
  return is_counted && state.step == steps && steps <= kMostSteps;
}

bool AreMeans(const RunningMeans& means) { return means.rows >= 0 && std::isfinite(means.rows); }

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
  tensors->emplace_back(kStepSettings, Tensor::String(step_settings));
  tensors->emplace_back(kLabels, Tensor::Strings(std::vector<absl::string_view>(labels.begin(), labels.end())));
}

std::vector<std::string> TrainState::ChangesSince(const NamedTensors& tensors, const TrainState& now) {
  std::vector<std::string> changes;
  const Tensor* const settings = FindTensor(tensors, kStepSettings, DType::kString, 1);
  if (settings == nullptr) return changes;
  const std::map<absl::string_view, absl::string_view> before = SettingsOf(settings->flat<TString>()[0].view());
  const std::map<absl::string_view, absl::string_view> after = SettingsOf(now.step_settings);
  for (const auto& [flag, value] : after) {
    const auto was = before.find(flag);
    if (was == before.end()) {
      changes.push_back(absl::StrCat(flag, " is ", value, " now and was not given"));
    } else if (was->second != value) {
      changes.push_back(absl::StrCat(flag, " is ", value, " now and was ", was->second));
    }
  }
  for (const auto& [flag, value] : before) {
    if (after.count(flag) == 0) changes.push_back(absl::StrCat(flag, " was ", value, " and is not given now"));
  }
  return changes;
}

absl::StatusOr<TrainState> TrainState::From(const NamedTensors& tensors, const TrainState& expected, int64_t batches) {
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
  SLUICE_RETURN_IF_ERROR(CompareLabels(tensors, expected.labels));
  if (sums == nullptr) {
    return Error(ErrorCode::kCannotRun)
        .Help("resume with the metrics that the training was started with")
        .Text("the training in the checkpoint had another number of metrics");
  }
  SLUICE_RETURN_IF_ERROR(CompareSettings(settings->flat<TString>()[0].view(), expected.settings));
  state.step = position->flat<int64_t>()[0];
  state.epoch = position->flat<int64_t>()[1];
  state.batch = position->flat<int64_t>()[2];
  const auto numbers = sums->flat<double>();
  std::copy(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(labels), state.of_epoch.sums.begin());
  state.of_epoch.rows = numbers[labels];
  std::copy(numbers.begin() + static_cast<std::ptrdiff_t>(labels) + 1, numbers.end() - 1, state.of_row.sums.begin());
  state.of_row.rows = numbers[2 * labels + 1];
  if (IsPlace(state, batches) && AreMeans(state.of_epoch) && AreMeans(state.of_row)) return state;
  return Error(ErrorCode::kCheckpointEntry)
      .Found(absl::StrCat("step ", state.step, ", epoch ", state.epoch, ", batch ", state.batch))
      .Expected(absl::StrCat("a batch of an epoch of ", batches, " and the steps up to it"))
      .Text("the checkpoint says a place that no training has");
}

}  // namespace sluice

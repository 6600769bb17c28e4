#ifndef SLUICE_TOOLS_CLI_TRAIN_TRAIN_REQUEST_H_
#define SLUICE_TOOLS_CLI_TRAIN_TRAIN_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/cli/train/optimizer_option.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sluice {

// The options of a training: model, data, length. Lives in its command.
struct TrainRequest {
  // What to do about a loss that is NaN.
  enum class OnNan { kStop, kWarn };

  // Data.
  std::string data;                                  // DATA.npz.
  std::vector<std::string> arrays;                   // "INPUT=ARRAY".
  std::vector<std::string> feeds, validation_feeds;  // "NAME=VALUE".
  std::string validation;                            // A share, or a file; empty: none.
  int64_t batch = 32;
  bool drop_last = false, no_shuffle = false, convert = false;
  uint64_t seed = 0;
  // What to train.
  std::string loss, train_op, signature;
  std::vector<std::string> metrics;  // "NAME" or "LABEL=NAME".
  std::vector<std::string> trained, frozen;
  OptimizerOption optimizer;
  // How long.
  int64_t epochs = 0;  // 0: ten, or as many as the steps need.
  int64_t steps = 0;   // 0: as the epochs say.
  std::string on_nan = "stop";
  // Output.
  std::string out;
  bool resume = false;
  int64_t keep = 5, save_every = 0, log_every = 0;  // 0: each epoch; so that an epoch has about 20 rows.
  bool no_events = false;
  std::string export_to;
  bool force = false;
  std::vector<std::string> outputs;
  bool json = false;

  void Declare(CLI::App& app);
  // Checks the command line by itself: kValueSyntax.
  absl::Status Check() const;
  // Returns a line for each setting that a step depends on and that may change from run to run: "--lr 0.1".
  std::string StepSettings() const;
  OnNan when_nan() const { return on_nan == "warn" ? OnNan::kWarn : OnNan::kStop; }

 private:
  void DeclareData(CLI::App& app);
  void DeclareModel(CLI::App& app);
  void DeclareLength(CLI::App& app);
  void DeclareFiles(CLI::App& app);
};

// The two sides of "LEFT=RIGHT". kValueSyntax, naming `option`, if one is empty.
struct NamedPart {
  std::string name, value;
};
absl::StatusOr<NamedPart> SplitAtEquals(absl::string_view option, const std::string& text);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_TRAIN_REQUEST_H_

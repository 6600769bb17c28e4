#include "tests/fuzz/file_subjects.h"

#include <functional>
#include <utility>

#include "tests/fuzz/file_makers.h"
#include "tests/fuzz/file_trials.h"

namespace sluice {
namespace {

// What the subjects of graphs in files share.
struct Models {
  Models(FuzzCounts* counts, const std::vector<std::string>& seed_dirs) : seeds(seed_dirs), trial(counts) {}
  const GraphMutator mutator;
  const GraphSeeds seeds;
  GraphTrial trial;
};

// A kind of file: how one is made and what it goes through.
class FileSubject final : public FuzzSubject {
 public:
  using Make = std::function<std::string(FuzzRandom&)>;
  using Try = std::function<void(absl::string_view)>;

  FileSubject(absl::string_view extension, Make make, Try attempt)
      : extension_(extension), make_(std::move(make)), try_(std::move(attempt)) {}

  absl::string_view extension() const override { return extension_; }
  std::string MakeInput(uint64_t seed) override {
    FuzzRandom random(seed);
    return make_(random);
  }
  void Execute(absl::string_view input) override { try_(input); }

 private:
  const std::string extension_;
  const Make make_;
  const Try try_;
};

}  // namespace

std::vector<std::string> FileSubjectNames() { return {"npy", "npz", "value", "text", "checkpoint", "saved_model"}; }

std::unique_ptr<FuzzSubject> MakeFileSubject(const std::string& name, FuzzCounts* counts,
                                             const std::vector<std::string>& seed_dirs) {
  using Bytes = absl::string_view;
  if (name == "npy") {
    return std::make_unique<FileSubject>(".npy", MakeNpyFile, [counts](Bytes b) { TryNpy(b, counts); });
  }
  if (name == "npz") {
    return std::make_unique<FileSubject>(".npz", MakeNpzFile, [counts](Bytes b) { TryNpz(b, counts); });
  }
  if (name == "value") {
    return std::make_unique<FileSubject>(".txt", MakeFeedValue, [counts](Bytes b) { TryFeedValue(b, counts); });
  }
  if (name == "checkpoint") {
    return std::make_unique<FileSubject>(".files", MakeCheckpoint, [counts](Bytes b) { TryCheckpoint(b, counts); });
  }
  const auto models = std::make_shared<Models>(counts, seed_dirs);
  if (name == "text") {
    return std::make_unique<FileSubject>(
        ".pbtxt", [models](FuzzRandom& random) { return MakeTextFile(models->seeds, models->mutator, random); },
        [models, counts](Bytes b) { TryText(b, &models->trial, counts); });
  }
  if (name == "saved_model") {
    return std::make_unique<FileSubject>(
        ".files", [models](FuzzRandom& random) { return MakeSavedModel(models->seeds, models->mutator, random); },
        [models, counts](Bytes b) { TrySavedModel(b, &models->trial, counts); });
  }
  return nullptr;
}

}  // namespace sluice

#ifndef SLUICE_TESTS_FUZZ_GRAPH_SUBJECT_H_
#define SLUICE_TESTS_FUZZ_GRAPH_SUBJECT_H_

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_subject.h"
#include "tests/fuzz/graph_mutator.h"
#include "tests/fuzz/graph_seeds.h"
#include "tests/fuzz/graph_trial.h"

namespace sluice {

// Graphs. An input is a GraphDef; the seed of its trial stands at its end in a field that GraphDef does not have, so
// that the file alone says everything and is still a model for `sluice`.
class GraphSubject final : public FuzzSubject {
 public:
  GraphSubject(FuzzCounts* counts, const std::vector<std::string>& seed_dirs) : seeds_(seed_dirs), trial_(counts) {}

  absl::string_view extension() const override { return ".pb"; }
  std::string MakeInput(uint64_t seed) override;
  void Execute(absl::string_view input) override;
  Remarks TakeRemarks() override;
  std::vector<std::string> Smaller(absl::string_view input) const override;

  GraphTrial& trial() { return trial_; }
  // The seed at the end of `input`, or 0.
  static uint64_t TrialSeed(absl::string_view input);
  static std::string WithTrialSeed(std::string graph, uint64_t seed);

 private:
  const GraphMutator mutator_;
  const GraphSeeds seeds_;
  GraphTrial trial_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_GRAPH_SUBJECT_H_

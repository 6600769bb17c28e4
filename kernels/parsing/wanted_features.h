#ifndef SLUICE_KERNELS_PARSING_WANTED_FEATURES_H_
#define SLUICE_KERNELS_PARSING_WANTED_FEATURES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "kernels/parsing/example_spec.h"

namespace sluice {

// The feature that an example has under a wanted name.
struct FoundFeature {
  bool is_present = false;
  absl::string_view bytes;
};

// The features that are wanted of an example, by name, and what the example at hand has of them. Several features of
// one kind may have one name. For one thread at a time.
class WantedFeatures {
 public:
  // kOpValue where two kinds share a name unless `may_share`; `what` names such a feature in the error.
  static absl::StatusOr<WantedFeatures> Make(const ExampleNames& names, absl::string_view what, bool may_share);

  void Clear();
  // Notes the value of `name` where that is wanted; a later one replaces it.
  void Note(absl::string_view name, absl::string_view bytes);

  const FoundFeature& dense(size_t d) const { return found_[dense_[d]]; }
  const FoundFeature& sparse(size_t d) const { return found_[sparse_[d]]; }
  const FoundFeature& ragged(size_t d) const { return found_[ragged_[d]]; }

 private:
  HashMap<absl::string_view, size_t> slots_;
  std::vector<FoundFeature> found_;
  std::vector<size_t> dense_, sparse_, ragged_;  // Slots.
};

// Notes what a SequenceExample has. False where it is malformed.
bool FindSequenceFeatures(absl::string_view example, WantedFeatures* context, WantedFeatures* lists);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_WANTED_FEATURES_H_

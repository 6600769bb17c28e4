// ComputeAccidentalHits: where sampled classes are true ones.

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"

namespace sluice {
namespace {

// A row of true classes, and the place of one of them among the sampled ones.
struct Hit {
  int32_t row;
  int64_t place;
};

// Of a class that was sampled twice, the last place counts.
std::vector<Hit> FindHits(const Tensor& true_classes, absl::Span<const int64_t> sampled) {
  HashMap<int64_t, int64_t> places;
  places.reserve(sampled.size());
  for (size_t i = 0; i < sampled.size(); ++i) places[sampled[i]] = static_cast<int64_t>(i);
  std::vector<Hit> hits;
  const absl::Span<const int64_t> classes = true_classes.flat<int64_t>();
  const size_t per_row = static_cast<size_t>(true_classes.dim(1));
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto found = places.find(classes[i]);
    if (found != places.end()) hits.push_back({static_cast<int32_t>(i / per_row), found->second});
  }
  return hits;
}

// Rows, places and weights of all hits, row by row.
class AccidentalHitsKernel final : public Kernel {
 public:
  explicit AccidentalHitsKernel(int64_t num_true) : num_true_(num_true) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& classes = context.input(0);
    if (classes.rank() != 2 || classes.dim(1) != num_true_ || classes.dim(0) > std::numeric_limits<int32_t>::max()) {
      return ShapeError(0, "true_classes", classes.shape(),
                        absl::StrCat("a matrix of ", num_true_, " columns, as attr num_true says"));
    }
    SLUICE_RETURN_IF_ERROR(CheckVector(context, 1, "sampled_candidates"));
    const std::vector<Hit> hits = FindHits(classes, context.input(1).flat<int64_t>());
    const Shape shape = Shape::Of({static_cast<int64_t>(hits.size())});
    SLUICE_ASSIGN_OR_RETURN(Tensor* const rows, context.AllocateOutput(0, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const places, context.AllocateOutput(1, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const weights, context.AllocateOutput(2, shape));
    for (size_t i = 0; i < hits.size(); ++i) {
      rows->flat<int32_t>()[i] = hits[i].row;
      places->flat<int64_t>()[i] = hits[i].place;
      weights->flat<float>()[i] = std::numeric_limits<float>::lowest();  // Added to a logit, it ends the class.
    }
    return absl::OkStatus();
  }

 private:
  const int64_t num_true_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ComputeAccidentalHits", FromAttr<AccidentalHitsKernel, int64_t>("num_true")),
};

}  // namespace

absl::Span<const KernelRow> AccidentalHitsKernels() { return kRows; }

}  // namespace sluice

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"

namespace sluice {
namespace {

// Whether element i of `a` equals element j of `b`.
using SameElement = bool (*)(const Tensor& a, int64_t i, const Tensor& b, int64_t j);

template <typename T>
bool IsSame(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  return a.flat<T>()[static_cast<size_t>(i)] == b.flat<T>()[static_cast<size_t>(j)];
}
template <typename T>
bool IsSameAsFloat(const Tensor& a, int64_t i, const Tensor& b, int64_t j) {
  return static_cast<float>(a.flat<T>()[static_cast<size_t>(i)]) ==
         static_cast<float>(b.flat<T>()[static_cast<size_t>(j)]);
}

SameElement SameElementOf(DType dtype) {
  if (dtype == DType::kHalf) return &IsSameAsFloat<Half>;
  if (dtype == DType::kBFloat16) return &IsSameAsFloat<BFloat16>;
  if (dtype == DType::kString) return &IsSame<TString>;
  SameElement same = nullptr;
  using Types = Join<Join<IntegerCppTypes, ComplexCppTypes>, TypeList<float, double, bool>>;
  DispatchDType<Types>(dtype, [&](auto type) { same = &IsSame<typename decltype(type)::Type>; });
  return same;
}

// Entries [begin, end) of a sparse tensor: a sequence.
struct Sequence {
  const Tensor* values = nullptr;
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// The fewest insertions, deletions and replacements that make one of the other.
int64_t Distance(const Sequence& a, const Sequence& b, SameElement same, std::vector<int64_t>& row) {
  row.resize(static_cast<size_t>(b.size()) + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (int64_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j < row.size(); ++j) {
      const bool is_same = same(*a.values, a.begin + i, *b.values, b.begin + static_cast<int64_t>(j) - 1);
      const int64_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (is_same ? 0 : 1)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row.back();
}

// How far sequences along the last axis of two sparse tensors are from each other.
class EditDistanceKernel : public Kernel {
 public:
  explicit EditDistanceKernel(bool normalize) : normalize_(normalize) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput guess, ReadSparse(context, 0, IndexRule::kAny));
    SLUICE_ASSIGN_OR_RETURN(const SparseInput truth, ReadSparse(context, 3, IndexRule::kAny));
    if (guess.rank != truth.rank || guess.rank < 2) {
      return Error(ErrorCode::kOpShapes)
          .Found(absl::StrCat("hypothesis ", guess.shape.ToString(), ", truth ", truth.shape.ToString()))
          .Expected("equal ranks of 2 or more");
    }
    IndexVector dims;
    for (int d = 0; d + 1 < guess.rank; ++d) dims.push_back(std::max(guess.shape.dim(d), truth.shape.dim(d)));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_RETURN_IF_ERROR(CheckGroups(guess, shape));
    SLUICE_RETURN_IF_ERROR(CheckGroups(truth, shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const absl::Span<float> distances = out->flat<float>();
    std::fill(distances.begin(), distances.end(), 0.0f);
    const SameElement same = SameElementOf(guess.values->dtype());
    const IndexVector strides = RowMajorStrides(shape);
    std::vector<int64_t> row;
    for (Sequence g{guess.values, 0, 0}, t{truth.values, 0, 0}; g.end < guess.entries || t.end < truth.entries;) {
      const int64_t* const place = NextPlace(guess, g.end, truth, t.end);
      TakeGroup(guess, place, &g);
      TakeGroup(truth, place, &t);
      int64_t at = 0;
      for (int d = 0; d < shape.rank(); ++d) at += place[d] * strides[static_cast<size_t>(d)];
      distances[static_cast<size_t>(at)] = Scaled(Distance(g, t, same, row), t.size());
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckGroups(const SparseInput& sparse, const Shape& shape) {
    for (int64_t i = 0; i < sparse.entries; ++i) {
      for (int d = 0; d < shape.rank(); ++d) {
        const int64_t at = sparse.at(i)[d];
        if (at >= 0 && at < shape.dim(d)) continue;
        return Error(ErrorCode::kOpBroken)
            .Input(sparse.first_input)
            .Found(absl::StrCat(at, " on axis ", d, " in entry ", i))
            .Expected(absl::StrCat("0 to ", shape.dim(d) - 1));
      }
    }
    return absl::OkStatus();
  }

  // The indices of the group that comes first. REQUIRES: one of the entries is there.
  static const int64_t* NextPlace(const SparseInput& a, int64_t i, const SparseInput& b, int64_t j) {
    if (i == a.entries) return b.at(j);
    if (j == b.entries) return a.at(i);
    return CompareIndices(a.at(i), b.at(j), a.rank - 1) <= 0 ? a.at(i) : b.at(j);
  }

  // Moves the sequence on to the entries at `place`: none where others come next.
  static void TakeGroup(const SparseInput& sparse, const int64_t* place, Sequence* sequence) {
    sequence->begin = sequence->end;
    while (sequence->end < sparse.entries && CompareIndices(sparse.at(sequence->end), place, sparse.rank - 1) == 0) {
      ++sequence->end;
    }
  }

  float Scaled(int64_t distance, int64_t truth_size) const {
    if (!normalize_ || distance == 0) return static_cast<float>(distance);
    if (truth_size == 0) return std::numeric_limits<float>::infinity();
    return static_cast<float>(distance) / static_cast<float>(truth_size);
  }

  const bool normalize_;
};

constexpr DTypeSet kComparedTypes = kNumberTypes | DTypeSet{DType::kBool, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("EditDistance", FromAttr<EditDistanceKernel, bool>("normalize")).Types("T", kComparedTypes),
};

}  // namespace

absl::Span<const KernelRow> EditDistanceKernels() { return kRows; }

}  // namespace sluice

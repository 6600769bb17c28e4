// EditDistance: how many elements must be inserted, deleted or replaced (Levenshtein) to make one sequence from
// another, for each pair of sequences of two sparse tensors.

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/image/temp_array.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/families.h"

namespace sluice {
namespace {

// One of the two sparse tensors: its rows in their order, the elements of a sequence one after the other.
struct Sparse {
  int first_input = 0;
  const char* name = "";
  const int64_t* indices = nullptr;
  int64_t rows = 0;
  IndexVector shape;

  size_t rank() const { return shape.size(); }
  const int64_t* row(int64_t i) const { return indices + i * static_cast<int64_t>(rank()); }
  // Whether rows i and k belong to one sequence.
  bool AreOne(int64_t i, int64_t k) const { return std::equal(row(i), row(i) + rank() - 1, row(k)); }
  // The end of the sequence that begins with row i.
  int64_t EndOf(int64_t i) const {
    int64_t end = i + 1;
    while (end < rows && AreOne(i, end)) ++end;
    return end;
  }
};

absl::StatusOr<Sparse> ReadSparse(const KernelContext& context, int first, const char* name) {
  const Tensor &indices = context.input(first), &values = context.input(first + 1), &shape = context.input(first + 2);
  if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1) {
    return Error(ErrorCode::kOpShape)
        .Input(first, name)
        .Found(absl::StrCat(indices.shape().ToString(), ", ", values.shape().ToString(), " and ",
                            shape.shape().ToString()))
        .Expected("a matrix of indices, a vector of values, a vector of sizes");
  }
  Sparse sparse{first, name, indices.flat<int64_t>().data(), indices.dim(0), {}};
  SLUICE_ASSIGN_OR_RETURN(const Shape sizes, ReadShapeInput(context, first + 2, "shape"));
  sparse.shape.assign(sizes.dims().begin(), sizes.dims().end());
  const int64_t rank = static_cast<int64_t>(sparse.rank());
  if (values.dim(0) != indices.dim(0) || indices.dim(1) != rank || rank < 2) {
    return Error(ErrorCode::kOpShape)
        .Input(first, name)
        .Found(absl::StrCat(indices.shape().ToString(), ", ", values.dim(0), " values, ", rank, " sizes"))
        .Expected("[values, sizes], at least 2 sizes");
  }
  return sparse;
}

// The place of a sequence in the output. kOpBroken, TensorFlow's INTERNAL, when it has none.
absl::StatusOr<int64_t> PlaceOf(const Sparse& sparse, int64_t row, const IndexVector& sizes, int64_t total) {
  int64_t place = 0;
  bool fits = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    fits = fits && CheckedMul(place, sizes[i], &place) && CheckedAdd(place, sparse.row(row)[i], &place);
  }
  if (fits && place >= 0 && place < total) return place;
  return Error(ErrorCode::kOpBroken)
      .Input(sparse.first_input, sparse.name)
      .Found(absl::StrCat("row ", row, " outside of the result"))
      .Expected(absl::StrCat("one of ", total, " sequences"));
}

// The distance of the elements [a, a_end) and [b, b_end); `costs` has room for b_end - b + 1 numbers.
template <typename Same>
int64_t Distance(int64_t a, int64_t a_end, int64_t b, int64_t b_end, const Same& same, int64_t* costs) {
  const int64_t length = b_end - b;
  for (int64_t j = 0; j <= length; ++j) costs[j] = j;
  for (int64_t i = a; i < a_end; ++i) {
    int64_t diagonal = costs[0];
    ++costs[0];
    for (int64_t j = 1; j <= length; ++j) {
      const int64_t replaced = diagonal + (same(i, b + j - 1) ? 0 : 1);
      diagonal = costs[j];
      costs[j] = std::min(replaced, std::min(costs[j], costs[j - 1]) + 1);
    }
  }
  return costs[length];
}

// Whether sequence a comes before b, as their indices say.
int Compare(const Sparse& a, int64_t i, const Sparse& b, int64_t k) {
  for (size_t d = 0; d + 1 < a.rank(); ++d) {
    if (a.row(i)[d] != b.row(k)[d]) return a.row(i)[d] < b.row(k)[d] ? -1 : 1;
  }
  return 0;
}

// Distances of all pairs of sequences.
class EditDistanceKernel final : public Kernel {
 public:
  explicit EditDistanceKernel(bool normalizes) : normalizes_(normalizes) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Sparse hypothesis, ReadSparse(context, 0, "hypothesis"));
    SLUICE_ASSIGN_OR_RETURN(const Sparse truth, ReadSparse(context, 3, "truth"));
    if (hypothesis.rank() != truth.rank()) {
      return Error(ErrorCode::kOpShapes)
          .Found(absl::StrCat(hypothesis.rank(), " and ", truth.rank(), " dimensions"))
          .Expected("as many");
    }
    IndexVector sizes;
    for (size_t i = 0; i + 1 < truth.rank(); ++i) sizes.push_back(std::max(hypothesis.shape[i], truth.shape[i]));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    const absl::Span<float> distances = output->flat<float>();
    std::fill(distances.begin(), distances.end(), 0.0f);
    absl::Status status;
    const auto run = [&](auto type) {
      using T = typename decltype(type)::Type;
      status = CompareAll<T>(context, hypothesis, truth, sizes, distances);
    };
    // Numbers are equal as numbers are, all others as their bytes.
    const DType dtype = context.input(1).dtype();
    if (dtype == DType::kString) {
      run(TypeTag<TString>());
    } else if (!DispatchDType<Join<FloatCppTypes, ComplexCppTypes>>(dtype, run)) {
      DispatchSize(DTypeSize(dtype), [&](auto type) {
        if constexpr (sizeof(typename decltype(type)::Type) <= 8) run(type);
      });
    }
    return status;
  }

 private:
  template <typename T>
  static bool IsSame(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, TString>) {
      return a.view() == b.view();
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return static_cast<float>(a) == static_cast<float>(b);
    } else {
      return a == b;
    }
  }

  float Normalized(int64_t distance, int64_t truth_length) const {
    if (!normalizes_) return static_cast<float>(distance);
    if (truth_length > 0) return static_cast<float>(distance) / static_cast<float>(truth_length);
    return distance > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
  }

  // Goes through the sequences of both, which ascend.
  template <typename T>
  absl::Status CompareAll(KernelContext& context, const Sparse& hypothesis, const Sparse& truth,
                          const IndexVector& sizes, absl::Span<float> distances) const {
    const T* const said = static_cast<const T*>(context.input(1).raw_data());
    const T* const meant = static_cast<const T*>(context.input(4).raw_data());
    const auto same = [&](int64_t i, int64_t k) { return IsSame(said[i], meant[k]); };
    SLUICE_ASSIGN_OR_RETURN(TempArray<int64_t> costs, TempArray<int64_t>::Make(context, truth.rows + 1));
    const int64_t total = static_cast<int64_t>(distances.size());
    int64_t h = 0, t = 0;
    while (h < hypothesis.rows || t < truth.rows) {
      const int order = h == hypothesis.rows ? 1 : t == truth.rows ? -1 : Compare(hypothesis, h, truth, t);
      const int64_t h_end = order <= 0 ? hypothesis.EndOf(h) : h, t_end = order >= 0 ? truth.EndOf(t) : t;
      SLUICE_ASSIGN_OR_RETURN(const int64_t place,
                              order <= 0 ? PlaceOf(hypothesis, h, sizes, total) : PlaceOf(truth, t, sizes, total));
      const int64_t distance = order < 0   ? h_end - h
                               : order > 0 ? t_end - t
                                           : Distance(h, h_end, t, t_end, same, costs.data());
      distances[static_cast<size_t>(place)] = Normalized(distance, t_end - t);
      h = h_end;
      t = t_end;
    }
    return absl::OkStatus();
  }

  const bool normalizes_;
};

constexpr DTypeSet kTypes = kNumberTypes | DTypeSet{DType::kString, DType::kBool};

constexpr KernelRow kRows[] = {
    KernelRow("EditDistance", FromAttr<EditDistanceKernel, bool>("normalize")).Types("T", kTypes),
};

}  // namespace

absl::Span<const KernelRow> EditDistanceKernels() { return kRows; }

}  // namespace sluice

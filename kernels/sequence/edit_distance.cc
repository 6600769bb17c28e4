// EditDistance: how many elements must be inserted, deleted or replaced (Levenshtein) to make one sequence from
// another, for each pair of sequences of two sparse tensors.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/dtype_set.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sequence/families.h"
#include "kernels/temp_array.h"
#include "kernels/workers.h"

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
    return ShapeError(
        first, name,
        absl::StrCat(indices.shape().ToString(), ", ", values.shape().ToString(), " and ", shape.shape().ToString()),
        "a matrix of indices, a vector of values, a vector of sizes");
  }
  Sparse sparse{first, name, indices.flat<int64_t>().data(), indices.dim(0), {}};
  SLUICE_ASSIGN_OR_RETURN(const Shape sizes, ReadShapeInput(context, first + 2, "shape"));
  sparse.shape.assign(sizes.dims().begin(), sizes.dims().end());
  const int64_t rank = static_cast<int64_t>(sparse.rank());
  if (values.dim(0) != indices.dim(0) || indices.dim(1) != rank || rank < 2) {
    return ShapeError(first, name,
                      absl::StrCat(indices.shape().ToString(), ", ", values.dim(0), " values, ", rank, " sizes"),
                      "[values, sizes], at least 2 sizes");
  }
  return sparse;
}

// The place of a sequence in the output. kOpBroken, TensorFlow's INTERNAL, if its index is out of range.
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

// --- Elements ------------------------------------------------------------------------------------------------------

// The elements of both tensors as keys, `words` for each: equal elements have equal keys, and a NaN has a key of its
// own. So all dtypes are compared by the same code.
struct Keys {
  int64_t words = 1;
  TempArray<uint64_t> hypothesis;
  TempArray<uint64_t> truth;
};

// The key of a number. `serial`: different for each number of a call.
uint64_t KeyOf(double number, uint64_t serial) {
  if (std::isnan(number)) return 0x7ff8000000000000 | serial;
  if (number == 0.0) return 0;  // Of either sign.
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

// Keys of numbers that lie one after the other from `from` on. `side` is 0 or 1. False where `dtype` is not one of
// floats.
bool AddFloatKeys(DType dtype, const void* from, uint64_t side, TempArray<uint64_t>* keys) {
  return DispatchDType<FloatCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    const T* const numbers = static_cast<const T*>(from);
    for (int64_t i = 0; i < keys->size(); ++i) {
      double number;
      if constexpr (std::is_class_v<T>) {
        number = static_cast<double>(static_cast<float>(numbers[i]));
      } else {
        number = static_cast<double>(numbers[i]);
      }
      (*keys)[i] = KeyOf(number, 2 * static_cast<uint64_t>(i) + side);
    }
  });
}

// Keys of integers and bools: their bits.
void AddBitKeys(const Tensor& tensor, TempArray<uint64_t>* keys) {
  DispatchSize(DTypeSize(tensor.dtype()), [&](auto type) {
    using T = typename decltype(type)::Type;
    if constexpr (sizeof(T) <= 8) {
      const T* const elements = static_cast<const T*>(tensor.raw_data());
      for (int64_t i = 0; i < keys->size(); ++i) (*keys)[i] = elements[i];
    }
  });
}

// Keys of strings: equal ones have one number.
void AddTextKeys(const Tensor& tensor, HashMap<absl::string_view, uint64_t>* numbers, TempArray<uint64_t>* keys) {
  const absl::Span<const TString> texts = tensor.flat<TString>();
  for (size_t i = 0; i < texts.size(); ++i) {
    (*keys)[static_cast<int64_t>(i)] = numbers->try_emplace(texts[i].view(), numbers->size()).first->second;
  }
}

absl::StatusOr<Keys> MakeKeys(KernelContext& context, const Tensor& hypothesis, const Tensor& truth) {
  const DType dtype = hypothesis.dtype();
  const bool is_complex = kComplexTypes.Contains(dtype);
  const DType part = dtype == DType::kComplex64 ? DType::kFloat : is_complex ? DType::kDouble : dtype;
  Keys keys;
  keys.words = is_complex ? 2 : 1;
  HashMap<absl::string_view, uint64_t> texts;
  for (const bool is_hypothesis : {true, false}) {
    const Tensor& tensor = is_hypothesis ? hypothesis : truth;
    TempArray<uint64_t>& to = is_hypothesis ? keys.hypothesis : keys.truth;
    SLUICE_ASSIGN_OR_RETURN(to, TempArray<uint64_t>::Make(context, tensor.num_elements() * keys.words));
    if (dtype == DType::kString) {
      AddTextKeys(tensor, &texts, &to);
    } else if (!AddFloatKeys(part, tensor.raw_data(), is_hypothesis ? 0 : 1, &to)) {
      AddBitKeys(tensor, &to);
    }
  }
  return keys;
}

// --- Distances -----------------------------------------------------------------------------------------------------

// The distance of two sequences of `a_size` and `b_size` elements; `costs` has room for b_size + 1 numbers.
template <int kWords>
absl::StatusOr<int64_t> Distance(const Workers& workers, const uint64_t* a, int64_t a_size, const uint64_t* b,
                                 int64_t b_size, int64_t* costs) {
  constexpr int64_t kPollEvery = int64_t{1} << 18;  // Comparisons.
  int64_t unpolled = 0;
  for (int64_t j = 0; j <= b_size; ++j) costs[j] = j;
  for (int64_t i = 0; i < a_size; ++i, a += kWords) {
    unpolled += b_size;
    if (unpolled >= kPollEvery) {
      if (workers.MustStop()) return workers.WhyStopped();
      unpolled = 0;
    }
    int64_t diagonal = costs[0];
    ++costs[0];
    for (int64_t j = 1; j <= b_size; ++j) {
      const bool is_same = std::equal(a, a + kWords, b + (j - 1) * kWords);
      const int64_t replaced = diagonal + (is_same ? 0 : 1);
      diagonal = costs[j];
      costs[j] = std::min(replaced, std::min(costs[j], costs[j - 1]) + 1);
    }
  }
  return costs[b_size];
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
      return ShapesError(absl::StrCat(hypothesis.rank(), " and ", truth.rank(), " dimensions"), "as many");
    }
    IndexVector sizes;
    for (size_t i = 0; i + 1 < truth.rank(); ++i) sizes.push_back(std::max(hypothesis.shape[i], truth.shape[i]));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
    if (shape.num_elements() == 0) {
      return ShapesError(absl::StrCat("no sequences in a result of ", shape.ToString()), "at least one");
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    const absl::Span<float> distances = output->flat<float>();
    std::fill(distances.begin(), distances.end(), 0.0f);
    SLUICE_ASSIGN_OR_RETURN(const Keys keys, MakeKeys(context, context.input(1), context.input(4)));
    return CompareAll(context, hypothesis, truth, keys, sizes, distances);
  }

 private:
  float Normalized(int64_t distance, int64_t truth_length) const {
    if (!normalizes_) return static_cast<float>(distance);
    if (truth_length > 0) return static_cast<float>(distance) / static_cast<float>(truth_length);
    return distance > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
  }

  // Goes through the sequences of both, which ascend.
  absl::Status CompareAll(KernelContext& context, const Sparse& hypothesis, const Sparse& truth, const Keys& keys,
                          const IndexVector& sizes, absl::Span<float> distances) const {
    const Workers workers(context.run());
    const auto compare = keys.words == 1 ? &Distance<1> : &Distance<2>;
    SLUICE_ASSIGN_OR_RETURN(TempArray<int64_t> costs, TempArray<int64_t>::Make(context, truth.rows + 1));
    const int64_t total = static_cast<int64_t>(distances.size());
    int64_t h = 0, t = 0;
    while (h < hypothesis.rows || t < truth.rows) {
      const int order = h == hypothesis.rows ? 1 : t == truth.rows ? -1 : Compare(hypothesis, h, truth, t);
      const int64_t h_end = order <= 0 ? hypothesis.EndOf(h) : h, t_end = order >= 0 ? truth.EndOf(t) : t;
      SLUICE_ASSIGN_OR_RETURN(const int64_t place,
                              order <= 0 ? PlaceOf(hypothesis, h, sizes, total) : PlaceOf(truth, t, sizes, total));
      int64_t distance = order < 0 ? h_end - h : t_end - t;
      if (order == 0) {
        SLUICE_ASSIGN_OR_RETURN(distance, compare(workers, keys.hypothesis.data() + h * keys.words, h_end - h,
                                                  keys.truth.data() + t * keys.words, t_end - t, costs.data()));
      }
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

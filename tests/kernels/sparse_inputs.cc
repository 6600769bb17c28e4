#include "tests/kernels/sparse_inputs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "graph/base/check.h"

namespace sluice {
namespace {

// One letter for each input. All sparse tensors of a draw have one shape, a cube, and as many entries.
//   i  indices, I  the same as the last, v  a value for each entry, h  the shape, d  a dense tensor of the shape
//   .  a scalar, a  an axis, r  sizes, z  zeros, one for each axis
//   x  for each entry a number of a row, s  the same in order, m  a tensor of the rows, g  a vector of them
//   5  the number of rows, n  -1, p  where rows of entries begin
const std::map<std::string, std::string>& Patterns() {
  static const std::map<std::string, std::string>& all = *new std::map<std::string, std::string>{
      {"AddManySparseToTensorsMap", "ivh"},
      {"AddSparseToTensorsMap", "ivh"},
      {"Bincount", "x5v"},
      {"DenseBincount", "x5v"},
      {"DenseCountSparseOutput", "xv"},
      {"DenseToDenseSetOperation", "dd"},
      {"DenseToSparseSetOperation", "divh"},
      {"EditDistance", "ivhivh"},
      {"SerializeManySparse", "ivh"},
      {"SerializeSparse", "ivh"},
      {"SetSize", "ivh"},
      {"SparseAdd", "ivhivh."},
      {"SparseAddGrad", "viII"},
      {"SparseBincount", "ixh5v"},
      {"SparseConcat", "iivvhh"},
      {"SparseCountSparseOutput", "ixhv"},
      {"SparseCross", "ivh"},
      {"SparseCrossHashed", "ivh5.r"},
      {"SparseCrossV2", "ivh."},
      {"SparseDenseCwiseAdd", "ivhd"},
      {"SparseDenseCwiseDiv", "ivhd"},
      {"SparseDenseCwiseMul", "ivhd"},
      {"SparseFillEmptyRows", "ivh."},
      {"SparseFillEmptyRowsGrad", "xg"},
      {"SparseReduceMax", "ivha"},
      {"SparseReduceMaxSparse", "ivha"},
      {"SparseReduceSum", "ivha"},
      {"SparseReduceSumSparse", "ivha"},
      {"SparseReorder", "ivh"},
      {"SparseReshape", "ihh"},
      {"SparseSegmentMean", "mxs"},
      {"SparseSegmentMeanGrad", "mxs5"},
      {"SparseSegmentMeanGradV2", "mxs5"},
      {"SparseSegmentMeanWithNumSegments", "mxs5"},
      {"SparseSegmentSqrtN", "mxs"},
      {"SparseSegmentSqrtNGrad", "mxs5"},
      {"SparseSegmentSqrtNGradV2", "mxs5"},
      {"SparseSegmentSqrtNWithNumSegments", "mxs5"},
      {"SparseSegmentSum", "mxs"},
      {"SparseSegmentSumGrad", "mxs5"},
      {"SparseSegmentSumGradV2", "mxs5"},
      {"SparseSegmentSumWithNumSegments", "mxs5"},
      {"SparseSlice", "ivhrr"},
      {"SparseSliceGrad", "vizI"},
      {"SparseSoftmax", "ivh"},
      {"SparseSparseMaximum", "ivhivh"},
      {"SparseSparseMinimum", "ivhivh"},
      {"SparseSplit", ".ivh"},
      {"SparseTensorDenseAdd", "ivhd"},
      {"SparseTensorDenseMatMul", "ivhd"},
      {"SparseToDense", "ihv."},
      {"SparseToSparseSetOperation", "ivhivh"},
  };
  return all;
}

// The same of ops on ragged tensors.
const std::map<std::string, std::string>& RaggedPatterns() {
  static const std::map<std::string, std::string>& all = *new std::map<std::string, std::string>{
      {"RaggedBincount", "px5v"},      {"RaggedCountSparseOutput", "pxv"}, {"RaggedCross", "xp"},
      {"RaggedFillEmptyRows", "xv5."}, {"RaggedFillEmptyRowsGrad", "xg"},  {"RaggedGather", "pvx"},
      {"RaggedTensorToSparse", "pv"},  {"RaggedTensorToTensor", "nv.p"},   {"RaggedTensorToVariant", "pv"},
  };
  return all;
}

const std::string& PatternOf(const std::string& op) {
  static const std::string& none = *new std::string();
  for (const std::map<std::string, std::string>* const patterns : {&Patterns(), &RaggedPatterns()}) {
    const auto found = patterns->find(op);
    if (found != patterns->end()) return found->second;
  }
  return none;
}

// Integers of `dtype` and shape.
Tensor Numbers(DType dtype, const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::Make(dtype, shape).value();
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kInt64) {
      tensor.flat<int64_t>()[i] = values[i];
    } else {
      SLUICE_CHECK(dtype == DType::kInt32);
      tensor.flat<int32_t>()[i] = static_cast<int32_t>(values[i]);
    }
  }
  return tensor;
}

class Draw {
 public:
  Draw(bool is_large, FuzzRandom& random) : random_(random) {
    rank_ = is_large ? 2 : 1 + random.Int(3);
    side_ = is_large ? 150 : 1 + random.Int(4);
    cells_ = 1;
    for (int64_t d = 0; d < rank_; ++d) cells_ *= side_;
    entries_ = is_large ? 4000 : random.Int(static_cast<int>(std::min<int64_t>(cells_, side_ + 2)) + 1);
  }

  Tensor Input(char letter, DType dtype) {
    const std::vector<int64_t> cube(static_cast<size_t>(rank_), side_);
    switch (letter) {
      case 'i':
        DrawPositions();
        return Indices(dtype);
      case 'I':
        return Indices(dtype);
      case 'h':
        return Numbers(dtype, Shape::Of({rank_}), cube);
      case 'd':
        return Values(dtype, Shape::Make(cube).value());
      case 'v':
        return Values(dtype, Shape::Of({entries_}));
      case 'm':
        return Values(dtype, Shape::Of({side_, is_large() ? 130 : 3}));
      case 'g':
        return Values(dtype, Shape::Of({side_}));
      case 'r':
      case 'z':
        return Few(dtype, rank_, letter == 'z' ? 1 : side_ + 1, false);
      case 'x':
      case 's':
        return Few(dtype, entries_, side_, letter == 's');
      case '5':
        return Numbers(dtype, Shape(), {side_});
      case 'n':
        return Numbers(dtype, Shape(), {-1});
      case 'a':
        return Numbers(dtype, Shape::Of({1}), {random_.Int(static_cast<int>(rank_))});
      case 'p':
        return Numbers(dtype, Shape::Of({4}), {0, entries_ / 2, entries_ / 2, entries_});
      default:
        return HostileTensor(dtype, Shape(), ElementKind::kSmall, random_);
    }
  }

 private:
  bool is_large() const { return side_ > 100; }
  Tensor Values(DType dtype, const Shape& shape) { return HostileTensor(dtype, shape, ElementKind::kSigned, random_); }
  // Different elements of the dense tensor, in order.
  void DrawPositions() {
    positions_.resize(static_cast<size_t>(cells_));
    std::iota(positions_.begin(), positions_.end(), 0);
    for (size_t i = 0; i < static_cast<size_t>(entries_); ++i) {
      std::swap(positions_[i], positions_[i + random_.Below(positions_.size() - i)]);
    }
    positions_.resize(static_cast<size_t>(entries_));
    std::sort(positions_.begin(), positions_.end());
  }
  Tensor Indices(DType dtype) const {
    std::vector<int64_t> indices(positions_.size() * static_cast<size_t>(rank_));
    for (size_t i = 0; i < positions_.size(); ++i) {
      int64_t rest = positions_[i];
      for (size_t d = static_cast<size_t>(rank_); d-- > 0; rest /= side_) {
        indices[i * static_cast<size_t>(rank_) + d] = rest % side_;
      }
    }
    return Numbers(dtype, Shape::Of({entries_, rank_}), indices);
  }
  // Numbers below `limit`.
  Tensor Few(DType dtype, int64_t count, int64_t limit, bool is_sorted) {
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int64_t& number : numbers) number = random_.Int(static_cast<int>(limit));
    if (is_sorted) std::sort(numbers.begin(), numbers.end());
    return Numbers(dtype, Shape::Of({count}), numbers);
  }

  FuzzRandom& random_;
  int64_t rank_ = 0, side_ = 0, cells_ = 0, entries_ = 0;
  std::vector<int64_t> positions_;
};

}  // namespace

std::vector<Tensor> DrawSparseInputs(const std::string& op, absl::Span<const DType> dtypes, bool is_large,
                                     FuzzRandom& random) {
  const std::string& pattern = PatternOf(op);
  std::vector<Tensor> inputs;
  if (pattern.size() != dtypes.size()) return inputs;
  Draw draw(is_large, random);
  for (size_t i = 0; i < pattern.size(); ++i) inputs.push_back(draw.Input(pattern[i], dtypes[i]));
  return inputs;
}

}  // namespace sluice

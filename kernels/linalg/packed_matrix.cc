#include "kernels/linalg/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/check.h"
#include "graph/base/file_pages.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"
#include "kernels/memory/file_tensor.h"

namespace sluice {
namespace {

template <typename T>
absl::StatusOr<Tensor> PackAs(const T* from, const PackedLayout& layout, Allocator& allocator) {
  const GemmIsa<T>& isa = BestGemm<T>();
  const int64_t cols = layout.cols / layout.groups;
  const int64_t elements = PackedGemm<T>::PackedElements(isa, layout.rows, cols);
  SLUICE_ASSIGN_OR_RETURN(Tensor packed,
                          Tensor::Make(DTypeOf<T>::value, Shape::Of({elements * layout.groups}), allocator));
  const MatrixView<T> view = {from, layout.transposed ? layout.rows : layout.cols, layout.transposed};
  for (int64_t i = 0; i < layout.groups; ++i) {
    PackedGemm<T>::Pack(isa, view.Cols(i * cols), layout.rows, cols, packed.template flat<T>().data() + i * elements);
  }
  return packed;
}

// Copies `count` rows of op(source) from row `p` on, `width` columns of them from column `j` on, to `out`, as they lie
// in the file.
template <typename T>
void CopyBlock(const Tensor& source, bool transposed, int64_t p, int64_t count, int64_t j, int64_t width, T* out) {
  const int64_t ld = source.dim(1);
  const int64_t lines = transposed ? width : count, length = transposed ? count : width;
  const int64_t first = transposed ? j * ld + p : p * ld + j;
  for (int64_t i = 0; i < lines; ++i) {
    const char* const from = source.bytes().data() + static_cast<size_t>(first + i * ld) * sizeof(T);
    std::memcpy(out + i * length, from, static_cast<size_t>(length) * sizeof(T));
  }
}

// The same for a matrix in a file, a block at a time: only that is in memory twice.
template <typename T>
absl::StatusOr<Tensor> PackFromFile(const Tensor& source, bool transposed, Allocator& allocator) {
  constexpr int64_t kCols = 1024;  // A multiple of all tiles' columns.
  const int64_t k = source.dim(transposed ? 1 : 0), n = source.dim(transposed ? 0 : 1);
  const int64_t depth = PackedGemm<T>::BlockDepth(k);
  const GemmIsa<T>& isa = BestGemm<T>();
  SLUICE_ASSIGN_OR_RETURN(
      Tensor packed, Tensor::Make(DTypeOf<T>::value, Shape::Of({PackedGemm<T>::PackedElements(isa, k, n)}), allocator));
  SLUICE_ASSIGN_OR_RETURN(Tensor block,
                          Tensor::Make(DTypeOf<T>::value, Shape::Of({depth * std::min(n, kCols)}), allocator));
  T* const values = block.template flat<T>().data();
  T* out = packed.template flat<T>().data();
  for (int64_t p = 0; p < k; p += depth) {
    const int64_t count = std::min(depth, k - p);
    for (int64_t j = 0; j < n; j += kCols) {
      const int64_t width = std::min(kCols, n - j);
      CopyBlock(source, transposed, p, count, j, width, values);
      PackedGemm<T>::Pack(isa, {values, transposed ? count : width, transposed}, count, width, out);
      out += PackedGemm<T>::PackedElements(isa, count, width);
    }
    const size_t row_bytes = static_cast<size_t>(source.dim(1)) * sizeof(T);
    if (!transposed) {
      ReleaseFilePages(
          source.bytes().substr(static_cast<size_t>(p) * row_bytes, static_cast<size_t>(count) * row_bytes));
    }
  }
  ReleaseFilePages(source.bytes());  // All of them, and those at the borders.
  return packed;
}

// Packed constants by what they are made of. Process-wide, and harmless so: what it gives depends on the bytes alone.
class PackedTable {
 public:
  std::shared_ptr<const PackedConstant> FindOrMake(const Tensor& value, const PackedLayout& layout) {
    const Key key(value.raw_data(), value.dtype(), layout.rows, layout.cols, layout.transposed, layout.groups);
    {
      MutexLock lock(&mu_);
      const auto found = table_.find(key);
      std::shared_ptr<const PackedConstant> kept = found != table_.end() ? found->second.lock() : nullptr;
      if (kept != nullptr) return kept;
    }
    // Without the lock: packing takes as long as reading the matrix twice.
    absl::StatusOr<PackedMatrix> packed = PackedMatrix::Pack(value, layout);
    if (!packed.ok()) return nullptr;
    auto made = std::make_shared<const PackedConstant>(PackedConstant{value, *std::move(packed)});
    MutexLock lock(&mu_);
    DropUnused();
    std::weak_ptr<const PackedConstant>& place = table_[key];
    std::shared_ptr<const PackedConstant> kept = place.lock();
    if (kept != nullptr) return kept;
    place = made;
    return made;
  }

  int64_t size() const {
    MutexLock lock(&mu_);
    return std::count_if(table_.begin(), table_.end(), [](const auto& entry) { return !entry.second.expired(); });
  }

 private:
  using Key = std::tuple<const void*, DType, int64_t, int64_t, bool, int64_t>;

  void DropUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (table_.size() < to_check_) return;
    for (auto at = table_.begin(); at != table_.end();) {
      at = at->second.expired() ? table_.erase(at) : std::next(at);
    }
    to_check_ = std::max<size_t>(16, 2 * table_.size());
  }

  mutable Mutex mu_;
  std::map<Key, std::weak_ptr<const PackedConstant>> table_ ABSL_GUARDED_BY(mu_);
  size_t to_check_ ABSL_GUARDED_BY(mu_) = 16;  // At this size, what nothing holds any more is dropped.
};

PackedTable& Table() {
  static PackedTable* const table = std::make_unique<PackedTable>().release();  // Never destroyed.
  return *table;
}

}  // namespace

absl::StatusOr<PackedMatrix> PackedMatrix::Pack(const Tensor& matrix, const PackedLayout& layout,
                                                Allocator& allocator) {
  SLUICE_DCHECK(matrix.num_elements() == layout.rows * layout.cols && layout.cols % layout.groups == 0);
  if (IsInFile(matrix)) {
    SLUICE_DCHECK(layout.groups == 1 && (matrix.dtype() == DType::kFloat || matrix.dtype() == DType::kDouble));
    SLUICE_ASSIGN_OR_RETURN(Tensor elements, matrix.dtype() == DType::kDouble
                                                 ? PackFromFile<double>(matrix, layout.transposed, allocator)
                                                 : PackFromFile<float>(matrix, layout.transposed, allocator));
    return PackedMatrix(std::move(elements), layout);
  }
  if (matrix.dtype() == DType::kDouble) {
    SLUICE_ASSIGN_OR_RETURN(Tensor elements, PackAs(matrix.flat<double>().data(), layout, allocator));
    return PackedMatrix(std::move(elements), layout);
  }
  SLUICE_ASSIGN_OR_RETURN(const Tensor floats, ToFloats(matrix, allocator));
  SLUICE_ASSIGN_OR_RETURN(Tensor elements, PackAs(floats.flat<float>().data(), layout, allocator));
  return PackedMatrix(std::move(elements), layout);
}

std::shared_ptr<const PackedConstant> SharedPackedConstant(const Tensor& value, const PackedLayout& layout) {
  // Inline elements have no address of their own, and packing does not pay for so few.
  if (value.IsInline()) return nullptr;
  return Table().FindOrMake(value, layout);
}

int64_t NumPackedConstants() { return Table().size(); }

}  // namespace sluice

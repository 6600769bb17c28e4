#include <algorithm>
#include <atomic>
#include <type_traits>

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "kernels/device/task_runner.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/gemm_plugin.h"
#include "kernels/linalg/products.h"

namespace sluice {
namespace {

// What one core does at least, for estimates: per nanosecond, floating-point operations and bytes read.
constexpr double kFlopsPerNs = 100;
constexpr double kBytesPerNs = 25;
// Pieces of one product take this long at least.
constexpr double kPieceNs = 25e3;
// In deterministic runs a product is cut by its size alone, into this many pieces at most.
constexpr int64_t kMaxFixedPieces = 16;
// Below this a call of the plug-in costs more than it can win.
constexpr double kPluginProducts = 64.0 * 64 * 64;
constexpr int64_t kTinySide = 16;
constexpr int64_t kTinyScratch = 2048;

template <typename T>
double EstimateNs(const GemmSize& s) {
  const double m = static_cast<double>(s.m);
  const double n = static_cast<double>(s.n);
  const double k = static_cast<double>(s.k);
  const double bytes = (m * k + k * n + m * n) * sizeof(T);
  return 2 * m * n * k / kFlopsPerNs * (sizeof(T) / 4.0) + bytes / kBytesPerNs;
}

// One product, cut into pieces along its longer side. A small value; pieces may be run at the same time.
template <typename T>
class CutProduct {
 public:
  CutProduct(const Products<T>& products, const PackedOperand& packed_b, int64_t num_pieces)
      : size_(products.shape->size),
        form_(products.form),
        epilogue_(products.epilogue),
        packed_b_(packed_b),
        isa_(BestGemm<T>()),
        by_rows_(size_.m >= size_.n || packed_b.order != nullptr) {
    const int64_t length = by_rows_ ? size_.m : size_.n;
    const int64_t tile = by_rows_ ? isa_.tile_rows : isa_.tile_cols;
    const int64_t tiles = (length + tile - 1) / tile;
    num_pieces_ = std::max<int64_t>(1, std::min(num_pieces, tiles));
    step_ = (tiles + num_pieces_ - 1) / num_pieces_ * tile;
    num_pieces_ = (length + step_ - 1) / step_;
  }

  int64_t num_pieces() const { return num_pieces_; }

  // Computes piece `i` of the product of `a` and `b`.
  absl::Status Run(KernelContext& context, const T* a, const T* b, T* c, int64_t i) const {
    GemmSize size = size_;
    MatrixView<T> a_view = {a, form_.transpose_a ? size.m : size.k, form_.transpose_a};
    MatrixView<T> b_view = {b, form_.transpose_b ? size.k : size.n, form_.transpose_b};
    const int64_t ldc = size.n;
    const int64_t begin = i * step_;
    const GemmFinish<T> finish = {epilogue_, by_rows_ ? 0 : begin};
    if (by_rows_) {
      size.m = std::min(step_, size.m - begin);
      a_view = a_view.Rows(begin);
      c += begin * ldc;
    } else {
      size.n = std::min(step_, size.n - begin);
      if (packed_b_.data == nullptr) b_view = b_view.Cols(begin);
      c += begin;
    }
    if (RunPlugin(context.run().gemm_plugin, size, a_view, b_view, c, ldc)) {
      finish(c, ldc, size.m, 0, size.n);
      return absl::OkStatus();
    }
    const auto stop = [&context] { return context.IsCancelled(); };
    if (packed_b_.data != nullptr && packed_b_.order == nullptr) {
      const PackedGemm<T> gemm(isa_, size, size_.n);
      const int64_t first_col = by_rows_ ? 0 : begin;
      return WithScratch(context, gemm.scratch_elements(), [&](T* scratch) {
        gemm.Run(a_view, static_cast<const T*>(packed_b_.data), first_col, c, ldc, scratch, stop, finish);
      });
    }
    const Gemm<T> gemm(isa_, size, a_view, b_view);
    return WithScratch(context, gemm.scratch_elements(),
                       [&](T* scratch) { gemm.Run(a_view, b_view, c, ldc, scratch, stop, finish); });
  }

 private:
  // Lets the plug-in (null: none) do it. False: it cannot, or it is not worth it.
  bool RunPlugin(const SluiceGemmPlugin* plugin, const GemmSize& size, const MatrixView<T>& a, const MatrixView<T>& b,
                 T* c, int64_t ldc) const {
    if constexpr (std::is_same_v<T, float>) {
      if (packed_b_.data != nullptr && packed_b_.order == nullptr) return false;
      if (plugin == nullptr || !IsForPlugin(size)) return false;
      const SluiceGemmProblem problem = {size.m, size.n, size.k, a.ld, b.ld, ldc, a.transposed, b.transposed};
      const SluiceGemmProduct* const product =
          packed_b_.order != nullptr ? plugin->prepare_packed(&problem, packed_b_.order) : plugin->prepare(&problem);
      const void* const b_data = packed_b_.order != nullptr ? packed_b_.data : b.data;
      return product != nullptr && plugin->execute(product, a.data, b_data, c) == 0;
    } else {
      return false;
    }
  }

  template <typename Call>
  static absl::Status WithScratch(KernelContext& context, int64_t elements, const Call& call) {
    if (elements == 0) {
      call(nullptr);
      return absl::OkStatus();
    }
    absl::StatusOr<Tensor> scratch = context.AllocateTemp(DTypeOf<T>::value, Shape::Of({elements}));
    if (!scratch.ok()) return scratch.status();
    call(scratch->template flat<T>().data());
    return absl::OkStatus();
  }

  const GemmSize size_;
  const MatMulForm form_;
  const GemmEpilogue<T>* const epilogue_;
  const PackedOperand packed_b_;
  const GemmIsa<T>& isa_;
  const bool by_rows_;
  int64_t num_pieces_ = 1;
  int64_t step_ = 0;
};

// Into how many pieces to cut one product that takes `ns`.
int64_t NumPieces(const KernelContext& context, double ns) {
  const TaskRunner* const runner = context.run().task_runner;
  const int64_t most = context.run().deterministic ? kMaxFixedPieces : runner == nullptr ? 1 : runner->num_threads();
  const double paying = ns / kPieceNs;
  return paying < static_cast<double>(most) ? std::max<int64_t>(1, static_cast<int64_t>(paying)) : most;
}

// Pieces of a run that was cancelled may have ended early.
absl::Status CheckComplete(const KernelContext& context) {
  if (!context.IsCancelled()) return absl::OkStatus();
  return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
}

// One product that takes less time than thinking about it.
bool IsTiny(const GemmSize& size) { return size.m <= kTinySide && size.n <= kTinySide && size.k <= kTinySide; }

template <typename T>
absl::Status MultiplyTiny(const Products<T>& products) {
  const GemmSize& size = products.shape->size;
  const MatMulForm& form = products.form;
  const MatrixView<T> a = {products.a, form.transpose_a ? size.m : size.k, form.transpose_a};
  const MatrixView<T> b = {products.b, form.transpose_b ? size.k : size.n, form.transpose_b};
  const Gemm<T> gemm(BestGemm<T>(), size, a, b);
  // Packed parts of a product of this size fit the stack.
  alignas(64) T scratch[kTinyScratch];
  SLUICE_DCHECK(gemm.scratch_elements() <= kTinyScratch);
  gemm.Run(a, b, products.c, size.n, scratch, NeverStops, {products.epilogue, 0});
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status MultiplyFloats(KernelContext& context, const Products<T>& products, const PackedOperand& packed_b) {
  const MatMulShape& shape = *products.shape;
  if (shape.num_products == 1 && packed_b.data == nullptr && IsTiny(shape.size)) return MultiplyTiny(products);
  const double ns = EstimateNs<T>(shape.size);
  // Many products are shared out whole; few are cut.
  const bool cuts = shape.num_products == 1 || ns > 40 * kPieceNs;
  const CutProduct<T> product(products, packed_b, cuts ? NumPieces(context, ns) : 1);
  const int64_t pieces = product.num_pieces();
  const auto run = [&](int64_t unit) {
    const int64_t i = unit / pieces;
    return product.Run(context, products.a + shape.a_of(i) * shape.size.m * shape.size.k,
                       products.b + shape.b_of(i) * shape.size.k * shape.size.n,
                       products.c + i * shape.size.m * shape.size.n, unit % pieces);
  };
  if (pieces == 1 && shape.num_products == 1) {
    SLUICE_RETURN_IF_ERROR(run(0));
    return CheckComplete(context);
  }
  std::atomic<bool> failed{false};
  context.ParallelFor(shape.num_products * pieces, ns / static_cast<double>(pieces), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      // Relaxed: read after all have returned.
      if (!run(unit).ok()) failed.store(true, std::memory_order_relaxed);
    }
  });
  if (!failed.load(std::memory_order_relaxed)) return CheckComplete(context);
  return Error(ErrorCode::kOutOfMemory).Text("there is no memory for packed parts of the matrices");
}

bool IsForPlugin(const GemmSize& size) {
  const double products = static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  return size.m > 1 && size.n > 1 && products >= kPluginProducts;
}

bool GainsFromPacking(const MatMulShape& shape, bool transpose_b) {
  return shape.num_products == 1 && shape.size.m > 1 && shape.size.n > 1 &&
         (transpose_b || shape.size.k * shape.size.n > 8192);
}

template absl::Status MultiplyFloats(KernelContext&, const Products<float>&, const PackedOperand&);
template absl::Status MultiplyFloats(KernelContext&, const Products<double>&, const PackedOperand&);

}  // namespace sluice

#ifndef SLUICE_KERNELS_LINALG_GEMM_H_
#define SLUICE_KERNELS_LINALG_GEMM_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/linalg/gemm_isa.h"

namespace sluice {

struct GemmSize {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// A row-major matrix somewhere in memory, perhaps read as its transpose. Borrowed.
template <typename T>
struct MatrixView {
  const T* data = nullptr;
  int64_t ld = 0;  // Elements from one row in memory to the next.
  bool transposed = false;

  // Without its first `count` rows, or columns, as they are read.
  MatrixView Rows(int64_t count) const { return {data + (transposed ? count : count * ld), ld, transposed}; }
  MatrixView Cols(int64_t count) const { return {data + (transposed ? count * ld : count), ld, transposed}; }
};

// Called between the blocks of a large product, about every 10 ms; true ends the product and leaves C undefined.
using GemmStop = absl::FunctionRef<bool()>;
inline bool NeverStops() { return false; }

// What follows a product, element by element: a bias for each column, an activation. Called once for each part of C,
// as soon as its sums are complete and while they are in the cache. Thread-safe.
template <typename T>
class GemmEpilogue {
 public:
  // `rows` rows of `cols` elements, `ldc` apart, the first of them C's column `first_col`.
  virtual void Finish(T* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const = 0;

 protected:
  ~GemmEpilogue() = default;
};

// An epilogue for the columns of a larger C from `first_col` on. A small value; borrows the epilogue. Null: none.
template <typename T>
struct GemmFinish {
  const GemmEpilogue<T>* epilogue = nullptr;
  int64_t first_col = 0;

  void operator()(T* c, int64_t ldc, int64_t rows, int64_t col, int64_t cols) const {
    if (epilogue != nullptr) epilogue->Finish(c, ldc, rows, first_col + col, cols);
  }
};

// The instruction set of the processor, or less: tests take all that there are.
enum class IsaLevel { kBaseline, kAvx2, kAvx512 };
IsaLevel BestIsaLevel();
// T is float or double.
template <typename T>
const GemmIsa<T>& GemmOf(IsaLevel level);
template <typename T>
const GemmIsa<T>& BestGemm();

// How one product C[m,n] = A[m,k]*B[k,n] is carried out on one thread. Chosen by sizes and layout alone: equal
// arguments give equal bits. A small value; T is float or double.
//
//   const Gemm<float> gemm(BestGemm<float>(), size, a, b);
//   gemm.Run(a, b, c, ldc, scratch);  // scratch: gemm.scratch_elements() floats.
template <typename T>
class Gemm {
 public:
  Gemm(const GemmIsa<T>& isa, const GemmSize& size, const MatrixView<T>& a, const MatrixView<T>& b);

  // Memory that Run needs for packed parts of A and B.
  int64_t scratch_elements() const { return scratch_; }
  // `a` and `b` are laid out as those of the constructor. C has rows of n elements, `ldc` apart.
  void Run(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t ldc, T* scratch, GemmStop stop = NeverStops,
           const GemmFinish<T>& finish = {}) const;

 private:
  enum class Way {
    kZero,     // k is 0.
    kDots,     // m is 1 and B is transposed: a product of vectors for each column.
    kSkinny,   // Few rows: B is read once.
    kColumn,   // n is 1: the transposed problem is kDots or kSkinny.
    kDirect,   // Small: tiles read A and B where they lie.
    kBlocked,  // Large: parts are copied in the order in which tiles read them.
  };
  Way Choose(const MatrixView<T>& a, const MatrixView<T>& b) const;
  // All ways but kBlocked, without an epilogue.
  void RunUnblocked(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t ldc, T* scratch) const;
  void RunRow(const MatrixView<T>& a, const MatrixView<T>& b, T* c, T* scratch) const;

  const GemmIsa<T>& isa_;
  const GemmSize size_;
  Way way_;
  int64_t scratch_ = 0;
};

// A constant B, copied once in the order in which tiles read it. Does not own the memory. T is float or double.
template <typename T>
class PackedGemm {
 public:
  // Elements that B takes when packed.
  static int64_t PackedElements(const GemmIsa<T>& isa, int64_t k, int64_t n);
  // Rows of B that are packed together: each such block of rows, packed alone, is a part of the whole.
  static int64_t BlockDepth(int64_t k);
  static void Pack(const GemmIsa<T>& isa, const MatrixView<T>& b, int64_t k, int64_t n, T* out);

  // For size.n columns of a packed B that has `total_cols`.
  PackedGemm(const GemmIsa<T>& isa, const GemmSize& size, int64_t total_cols)
      : isa_(isa), size_(size), total_cols_(total_cols) {}
  int64_t scratch_elements() const;
  // C[m,n] = A*B for the columns of `packed` from `first_col` on (a multiple of the tile's).
  void Run(const MatrixView<T>& a, const T* packed, int64_t first_col, T* c, int64_t ldc, T* scratch,
           GemmStop stop = NeverStops, const GemmFinish<T>& finish = {}) const;

 private:
  const GemmIsa<T>& isa_;
  const GemmSize size_;
  const int64_t total_cols_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_GEMM_H_

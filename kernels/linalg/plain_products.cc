#include <algorithm>
#include <complex>
#include <type_traits>

#include "kernels/linalg/products.h"

namespace sluice {
namespace {

// One unit of work is a row of C. An estimate: multiplications per nanosecond.
constexpr double kProductsPerNs = 2;

// Integers are multiplied as unsigned ones of at least 32 bits: they wrap around, as TensorFlow's do.
template <typename T>
struct Wrapping {
  using Type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};

template <typename T>
void AddProduct(T x, const T* b, T* c, int64_t n) {
  using U = typename Wrapping<T>::Type;
  for (int64_t j = 0; j < n; ++j) {
    c[j] = static_cast<T>(static_cast<U>(c[j]) + static_cast<U>(x) * static_cast<U>(b[j]));
  }
}

// Plain complex products: C++'s own operator* treats infinities specially and takes ten times as long. TensorFlow does
// the same.
template <typename R>
void AddProduct(std::complex<R> x, const std::complex<R>* b, std::complex<R>* c, int64_t n) {
  const R re = x.real();
  const R im = x.imag();
  const R* from = reinterpret_cast<const R*>(b);
  R* to = reinterpret_cast<R*>(c);
  for (int64_t j = 0; j < n; ++j) {
    const R b_re = from[2 * j];
    const R b_im = from[2 * j + 1];
    to[2 * j] += re * b_re - im * b_im;
    to[2 * j + 1] += re * b_im + im * b_re;
  }
}

template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename R>
std::complex<R> Conjugate(std::complex<R> x) {
  return std::conj(x);
}

// The transposes of `count` matrices of `rows` x `cols`.
template <typename T>
absl::StatusOr<Tensor> Transposed(KernelContext& context, const T* from, int64_t count, int64_t rows, int64_t cols,
                                  bool conjugate) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({count, cols, rows}));
  SLUICE_ASSIGN_OR_RETURN(Tensor result, context.AllocateTemp(DTypeOf<T>::value, shape));
  T* const to = result.flat<T>().data();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t base = i * rows * cols;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        const T value = from[base + r * cols + c];
        to[base + c * rows + r] = conjugate ? Conjugate(value) : value;
      }
    }
  }
  return result;
}

}  // namespace

template <typename T>
absl::Status MultiplyPlain(KernelContext& context, const Products<T>& products) {
  const MatMulShape& shape = *products.shape;
  const GemmSize size = shape.size;
  const T* a = products.a;
  const T* b = products.b;
  Tensor a_transposed;
  Tensor b_transposed;
  if (products.form.transpose_a) {
    const int64_t count = shape.a_of.num_matrices(shape.num_products);
    SLUICE_ASSIGN_OR_RETURN(a_transposed, Transposed(context, a, count, size.k, size.m, products.conjugate));
    a = a_transposed.flat<T>().data();
  }
  if (products.form.transpose_b) {
    const int64_t count = shape.b_of.num_matrices(shape.num_products);
    SLUICE_ASSIGN_OR_RETURN(b_transposed, Transposed(context, b, count, size.n, size.k, products.conjugate));
    b = b_transposed.flat<T>().data();
  }
  const double row_ns = static_cast<double>(size.n) * static_cast<double>(size.k) / kProductsPerNs;
  context.ParallelFor(shape.num_products * size.m, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t i = row / size.m;
      const T* const x = a + (shape.a_of(i) * size.m + row % size.m) * size.k;
      const T* const matrix = b + shape.b_of(i) * size.k * size.n;
      T* const c = products.c + row * size.n;
      std::fill(c, c + size.n, T{});
      for (int64_t p = 0; p < size.k; ++p) AddProduct(x[p], matrix + p * size.n, c, size.n);
    }
  });
  return absl::OkStatus();
}

template absl::Status MultiplyPlain(KernelContext&, const Products<int8_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<int16_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<int32_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<int64_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<uint8_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<uint16_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<uint32_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<uint64_t>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<std::complex<float>>&);
template absl::Status MultiplyPlain(KernelContext&, const Products<std::complex<double>>&);

}  // namespace sluice

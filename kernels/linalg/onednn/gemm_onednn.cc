// oneDNN behind the interface of gemm_plugin.h. Debian's library runs its loops on OpenMP: a team of one thread here,
// since cutting products into pieces is the caller's.

#include <omp.h>
#include <pthread.h>

#include <map>
#include <memory>
#include <tuple>

#include "dnnl.hpp"
#include "kernels/linalg/gemm_plugin.h"

using dnnl::memory;

struct SluiceGemmProduct {
  SluiceGemmProblem problem;
  memory::desc a, b, b_plain, c;
  dnnl::matmul matmul;
};

namespace {

// Sizes, layout, and whose packed order.
using ProblemKey =
    std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int32_t, int32_t, bool, const SluiceGemmProduct*>;

// The prepared products of the process. The lock is the system's: Debian's Abseil, on which graph/base/mutex.h stands,
// is not compiled for shared libraries.
struct ProductCache {
  static constexpr size_t kMaxProducts = 4096;  // Beyond that the caller's own loops serve.
  pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
  std::map<ProblemKey, std::unique_ptr<SluiceGemmProduct>> products;  // Guarded by mu.
};

// Holds a lock for its own life time.
class Lock {
 public:
  explicit Lock(pthread_mutex_t* mu) : mu_(mu) { pthread_mutex_lock(mu_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(mu_); }

 private:
  pthread_mutex_t* const mu_;
};

// One thread for OpenMP on this thread, and what the host had set afterwards.
class OneThread {
 public:
  OneThread() : saved_(omp_get_max_threads()) {
    if (saved_ != 1) omp_set_num_threads(1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (saved_ != 1) omp_set_num_threads(saved_);
  }

 private:
  const int saved_;
};

dnnl::engine& Engine() {
  static dnnl::engine* const engine = std::make_unique<dnnl::engine>(dnnl::engine::kind::cpu, 0).release();
  return *engine;
}

ProductCache& Cache() {
  static ProductCache* const cache = std::make_unique<ProductCache>().release();
  return *cache;
}

memory::desc Matrix(int64_t rows, int64_t cols, int64_t ld, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, ld} : memory::dims{ld, 1};
  return memory::desc({rows, cols}, memory::data_type::f32, strides);
}

std::unique_ptr<SluiceGemmProduct> Make(const SluiceGemmProblem& p, bool is_packed,
                                        const SluiceGemmProduct* packed_like) {
  const memory::desc a = Matrix(p.m, p.k, p.lda, p.transpose_a != 0);
  const memory::desc b_plain = Matrix(p.k, p.n, p.ldb, p.transpose_b != 0);
  const memory::desc c = Matrix(p.m, p.n, p.ldc, false);
  memory::desc b = b_plain;
  if (packed_like != nullptr) {
    b = packed_like->b;
  } else if (is_packed) {
    b = memory::desc({p.k, p.n}, memory::data_type::f32, memory::format_tag::any);
  }
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), Engine());
  auto product = std::make_unique<SluiceGemmProduct>();
  product->problem = p;
  product->a = a;
  product->b = description.weights_desc();
  product->b_plain = b_plain;
  product->c = c;
  product->matmul = dnnl::matmul(description);
  return product;
}

const SluiceGemmProduct* Find(const SluiceGemmProblem& p, bool is_packed, const SluiceGemmProduct* packed_like) {
  const ProblemKey key(p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.transpose_a, p.transpose_b, is_packed, packed_like);
  ProductCache& cache = Cache();
  const Lock lock(&cache.mu);
  const auto found = cache.products.find(key);
  if (found != cache.products.end()) return found->second.get();
  if (cache.products.size() >= ProductCache::kMaxProducts) return nullptr;
  const OneThread one_thread;
  return cache.products.emplace(key, Make(p, is_packed, packed_like)).first->second.get();
}

const SluiceGemmProduct* Prepare(const SluiceGemmProblem* problem) {
  try {
    return Find(*problem, false, nullptr);
  } catch (...) {
    return nullptr;
  }
}

const SluiceGemmProduct* PreparePacked(const SluiceGemmProblem* problem, const SluiceGemmProduct* packed_like) {
  try {
    return Find(*problem, true, packed_like);
  } catch (...) {
    return nullptr;
  }
}

uint64_t PackedBytes(const SluiceGemmProduct* product) { return product->b.get_size(); }

int32_t Pack(const SluiceGemmProduct* product, const float* b, void* packed) {
  try {
    const OneThread one_thread;
    dnnl::stream stream(Engine());
    memory from(product->b_plain, Engine(), const_cast<float*>(b));
    memory to(product->b, Engine(), packed);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return 0;
  } catch (...) {
    return 1;
  }
}

int32_t Execute(const SluiceGemmProduct* product, const float* a, const void* b, float* c) {
  try {
    const OneThread one_thread;
    thread_local dnnl::stream stream(Engine());
    product->matmul.execute(stream, {{DNNL_ARG_SRC, memory(product->a, Engine(), const_cast<float*>(a))},
                                     {DNNL_ARG_WEIGHTS, memory(product->b, Engine(), const_cast<void*>(b))},
                                     {DNNL_ARG_DST, memory(product->c, Engine(), c)}});
    stream.wait();
    return 0;
  } catch (...) {
    return 1;
  }
}

constexpr SluiceGemmPlugin kPlugin = {
    SLUICE_GEMM_PLUGIN_VERSION, &Prepare, &PreparePacked, &PackedBytes, &Pack, &Execute};

}  // namespace

extern "C" __attribute__((visibility("default"))) const SluiceGemmPlugin* sluice_gemm_plugin(uint32_t version) {
  return version == SLUICE_GEMM_PLUGIN_VERSION ? &kPlugin : nullptr;
}

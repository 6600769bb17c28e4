#ifndef SLUICE_EXECUTOR_THREADS_FLUSH_DENORMALS_H_
#define SLUICE_EXECUTOR_THREADS_FLUSH_DENORMALS_H_

#include <immintrin.h>

namespace sluice {

// While it lives, this thread's float arithmetic takes and gives zeros for denormals, as TensorFlow's kernels do
// (FTZ and DAZ in MXCSR). Afterwards the thread is as it was: a host's own floating-point state is never changed.
// Cheap where denormals are flushed already. One thread's, on the stack.
class FlushDenormals {
 public:
  FlushDenormals() : saved_(_mm_getcsr()) {
    if ((saved_ & kFlush) != kFlush) _mm_setcsr(saved_ | kFlush);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  // Only the two bits are put back: exceptions that the work raised stay visible.
  ~FlushDenormals() {
    if ((saved_ & kFlush) != kFlush) _mm_setcsr((_mm_getcsr() & ~kFlush) | (saved_ & kFlush));
  }

 private:
  static constexpr unsigned kFlush = 0x8040;  // Flush-to-zero (bit 15), denormals-are-zero (bit 6).
  const unsigned saved_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_FLUSH_DENORMALS_H_

#include "kernels/optimizers/update_loop.h"

#include "graph/base/check.h"

namespace sluice {
namespace {

// Elements of a block. Five arrays of as many numbers are on the stack.
template <typename N>
inline constexpr int64_t kBlockSize = 2048 / static_cast<int64_t>(sizeof(N));

template <typename Stored, typename N>
void Load(const Stored* from, N* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<N>(from[i]);
}
template <typename Stored, typename N>
void Store(const N* from, Stored* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = Stored(from[i]);
}

// Runs `loop`, which is over elements N, over elements Stored.
template <typename Stored, typename N>
void RunInBlocks(UpdateLoop loop, int num_slots, const UpdateSpan& span, const UpdateSetting& setting) {
  N blocks[kMaxUpdateSlots + 1][kBlockSize<N>];
  for (int64_t begin = 0; begin < span.size; begin += kBlockSize<N>) {
    const int64_t n = span.size - begin < kBlockSize<N> ? span.size - begin : kBlockSize<N>;
    UpdateSpan block;
    block.size = n;
    for (int slot = 0; slot < num_slots; ++slot) {
      Load(static_cast<const Stored*>(span.from[slot]) + begin, blocks[slot], n);
      block.from[slot] = block.to[slot] = blocks[slot];
    }
    Load(static_cast<const Stored*>(span.grad) + begin, blocks[kMaxUpdateSlots], n);
    block.grad = blocks[kMaxUpdateSlots];
    loop(block, setting);
    for (int slot = 0; slot < num_slots; ++slot) {
      Store(blocks[slot], static_cast<Stored*>(span.to[slot]) + begin, n);
    }
  }
}

template <typename Stored>
void RunRounded(const UpdateLoops& loops, int num_slots, const UpdateSpan& span, UpdateSetting setting,
                Rounding rounding) {
  UpdateSpan vectors = span;
  vectors.size = span.size / kVectorSize * kVectorSize;
  setting.rounding = rounding;
  RunInBlocks<Stored, float>(loops.of_rounded, num_slots, vectors, setting);
  setting.rounding.rounds_inner_root = true;
  RunInBlocks<Stored, float>(loops.of_rounded, num_slots,
                             PartOf(span, num_slots, sizeof(Stored), vectors.size, span.size), setting);
}

}  // namespace

UpdateSpan PartOf(const UpdateSpan& span, int num_slots, size_t element_size, int64_t begin, int64_t end) {
  const size_t offset = static_cast<size_t>(begin) * element_size;
  UpdateSpan part;
  for (int slot = 0; slot < num_slots; ++slot) {
    part.from[slot] = static_cast<const char*>(span.from[slot]) + offset;
    part.to[slot] = static_cast<char*>(span.to[slot]) + offset;
  }
  part.grad = static_cast<const char*>(span.grad) + offset;
  part.size = end - begin;
  return part;
}

void RunUpdate(const UpdateLoops& loops, int num_slots, DType dtype, const UpdateSpan& span,
               const UpdateSetting& setting) {
  using Complex = std::complex<double>;
  switch (dtype) {
    case DType::kFloat:
      return loops.of_float(span, setting);
    case DType::kDouble:
      return loops.of_double(span, setting);
    case DType::kHalf:
      return RunRounded<Half>(loops, num_slots, span, setting, kHalfRounding);
    case DType::kBFloat16:
      return RunRounded<BFloat16>(loops, num_slots, span, setting, kBFloat16Rounding);
    case DType::kComplex64:
      return RunInBlocks<std::complex<float>, Complex>(loops.of_complex, num_slots, span, setting);
    case DType::kComplex128:
      return loops.of_complex(span, setting);
    default:
      SLUICE_DCHECK(false);
  }
}

}  // namespace sluice

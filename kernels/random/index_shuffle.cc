// RandomIndexShuffle: where an index of [0, max_index] goes in a random order of all of them, without making the order.
// A block cipher (Simon, of the NSA: Beaulieu et al., 2013) with blocks just large enough is the order; numbers above
// max_index are enciphered again until one is not.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/random/families.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// A cipher of blocks of 2 * `width` bits.
class SimonCipher {
 public:
  using Key = std::array<uint32_t, 3>;

  SimonCipher(int width, const Key& key, int rounds)
      : width_(width), mask_(width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1) {
    keys_.reserve(static_cast<size_t>(rounds));
    for (const uint32_t word : key) keys_.push_back(word & mask_);
    uint64_t sequence = 0x7369f885192c0ef5 & mask_;  // A constant of the cipher; a bit of it for each key.
    for (size_t i = keys_.size(); i < static_cast<size_t>(rounds); ++i) {
      const uint64_t mixed = Rotated(keys_[i - 1], width_ - 3) ^ Rotated(keys_[i - 1], width_ - 4);
      keys_.push_back((0xfffffffc & mask_) ^ (sequence & 1) ^ keys_[i - 3] ^ mixed);
      sequence >>= 1;
    }
  }

  uint64_t Encipher(uint64_t value) const {
    uint64_t left = value >> width_ & mask_;
    uint64_t right = value & mask_;
    for (size_t i = 0; i + 1 < keys_.size(); i += 2) {
      left ^= Mixed(right) ^ keys_[i];
      right ^= Mixed(left) ^ keys_[i + 1];
    }
    return left << width_ | right;
  }

 private:
  uint64_t Rotated(uint64_t x, int left) const { return (x << left | x >> (width_ - left)) & mask_; }
  uint64_t Mixed(uint64_t x) const { return (Rotated(x, 1) & Rotated(x, 8)) ^ Rotated(x, 2); }

  int width_;
  uint64_t mask_;
  absl::InlinedVector<uint64_t, 16> keys_;
};

// Half the bits of the smallest block that holds all indices up to `max_index`.
int WidthFor(uint64_t max_index) {
  constexpr int kMinBits = 16;
  const int bits = max_index == 0 ? 0 : static_cast<int>(std::ceil(std::log2(static_cast<double>(max_index))));
  return std::max(bits + bits % 2, kMinBits) / 2;
}

// A number of any integer type as the bits of uint64; negative ones are above all others.
uint64_t BitsAt(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kUInt64) return static_cast<const uint64_t*>(tensor.raw_data())[i];
  return static_cast<uint64_t>(IndexAt(tensor, i));
}

bool IsSigned(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

// Reads input `input`, whose elements (or rows of the last axis) each define a shuffle. Returns their number; 1 means
// one definition for all shuffles. kOpShape for other shapes.
absl::StatusOr<int64_t> CountOf(const KernelContext& context, int input, absl::string_view name, int row_rank,
                                absl::string_view expected) {
  const Shape& shape = context.input(input).shape();
  const bool is_list = shape.rank() == row_rank + 1;
  if ((shape.rank() == row_rank || is_list) && (row_rank == 0 || shape.dim(shape.rank() - 1) == 3)) {
    return is_list ? shape.dim(0) : 1;
  }
  return ShapeError(input, name, shape, expected);
}

// One index for each of several shuffles, or several indices of one.
class RandomIndexShuffleKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    constexpr int64_t kMaxRounds = 1024;
    SLUICE_ASSIGN_OR_RETURN(const int64_t rounds, construction.Get<int64_t>("rounds"));
    if (rounds < 4 || rounds > kMaxRounds || rounds % 2 != 0) {
      return AttrError("rounds", rounds, absl::StrCat("an even number from 4 to ", kMaxRounds));
    }
    return std::make_unique<RandomIndexShuffleKernel>(static_cast<int>(rounds));
  }
  explicit RandomIndexShuffleKernel(int rounds) : rounds_(rounds) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const int64_t indices, CountOf(context, 0, "index", 0, "a scalar or vector"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t seeds, CountOf(context, 1, "seed", 1, "three numbers, or rows of three"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t maxima, CountOf(context, 2, "max_index", 0, "a scalar or vector"));
    const int64_t count = indices != 1 ? indices : seeds != 1 ? seeds : maxima;
    for (const auto& [input, found] : {std::pair(0, indices), std::pair(1, seeds), std::pair(2, maxima)}) {
      if (found == 1 || found == count) continue;
      return ShapesError(input, "", absl::StrCat(found, " for ", count, " shuffles"),
                         "1, or as many as there are others");
    }
    const bool is_scalar = context.input(0).rank() == 0 && context.input(1).rank() == 1 && context.input(2).rank() == 0;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, is_scalar ? Shape() : Shape::Of({count})));
    return Shuffle(context, {indices != 1, seeds != 1, maxima != 1}, count, out);
  }

 private:
  // Which inputs are lists.
  struct Lists {
    bool index, seed, max_index;
  };

  absl::Status Shuffle(const KernelContext& context, const Lists& lists, int64_t count, Tensor* out) const {
    const Workers workers(context.run());
    return workers.ForEachPart(count, 200, [&](int64_t begin, int64_t end) -> absl::Status {
      for (int64_t i = begin; i < end; ++i) {
        const uint64_t index = BitsAt(context.input(0), lists.index ? i : 0);
        const uint64_t max_index = BitsAt(context.input(2), lists.max_index ? i : 0);
        const bool is_negative = IsSigned(out->dtype()) && static_cast<int64_t>(index) < 0;
        if (is_negative || index > max_index || (IsSigned(out->dtype()) && static_cast<int64_t>(max_index) < 0)) {
          return ValueError(
              0, "index",
              absl::StrCat(static_cast<int64_t>(index), " with max_index ", static_cast<int64_t>(max_index)),
              "0 to max_index");
        }
        SimonCipher::Key key;
        for (int64_t k = 0; k < 3; ++k) {
          key[static_cast<size_t>(k)] = static_cast<uint32_t>(BitsAt(context.input(1), (lists.seed ? 3 * i : 0) + k));
        }
        const SimonCipher cipher(WidthFor(max_index), key, rounds_);
        uint64_t moved = index;
        do {
          moved = cipher.Encipher(moved);
        } while (moved > max_index);
        if (DTypeSize(out->dtype()) == 8) {
          static_cast<uint64_t*>(out->mutable_raw_data())[i] = moved;
        } else {
          static_cast<uint32_t*>(out->mutable_raw_data())[i] = static_cast<uint32_t>(moved);
        }
      }
      return absl::OkStatus();
    });
  }

  const int rounds_;
};

constexpr DTypeSet kWords = {DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64};
constexpr KernelRow kRows[] = {
    KernelRow("RandomIndexShuffle", &New<RandomIndexShuffleKernel>).Types("dtype", kWords).Types("Tseed", kWords),
};

}  // namespace

absl::Span<const KernelRow> IndexShuffleKernels() { return kRows; }

}  // namespace sluice

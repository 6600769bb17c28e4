#ifndef SLUICE_KERNELS_MEMORY_SIZE_CLASSES_H_
#define SLUICE_KERNELS_MEMORY_SIZE_CLASSES_H_

// The sizes that small blocks come in: every multiple of 64 bytes up to 1 KiB, then four between a power of two and the
// next, up to 64 KiB. At most a fifth of a block beyond 1 KiB is wasted.

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

inline constexpr size_t kGranule = 64;
inline constexpr size_t kMaxSmallBytes = 64 * 1024;
inline constexpr int kNumSizeClasses = 40;

namespace size_classes_internal {

constexpr std::array<uint32_t, kNumSizeClasses> MakeSizes() {
  std::array<uint32_t, kNumSizeClasses> sizes{};
  uint32_t granules = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    granules += i < 16 ? 1 : uint32_t{4} << ((i - 16) / 4);
    sizes[i] = granules * static_cast<uint32_t>(kGranule);
  }
  return sizes;
}
inline constexpr std::array<uint32_t, kNumSizeClasses> kSizes = MakeSizes();
static_assert(kSizes.back() == kMaxSmallBytes, "the classes end at the largest small block");

// The class by number of granules, rounded up.
constexpr std::array<uint8_t, kMaxSmallBytes / kGranule + 1> MakeClasses() {
  std::array<uint8_t, kMaxSmallBytes / kGranule + 1> classes{};
  uint8_t current = 0;
  for (size_t granules = 0; granules < classes.size(); ++granules) {
    if (granules * kGranule > kSizes[current]) ++current;
    classes[granules] = current;
  }
  return classes;
}
inline constexpr auto kClasses = MakeClasses();

}  // namespace size_classes_internal

// The smallest class whose blocks hold `bytes`. REQUIRES: bytes <= kMaxSmallBytes.
constexpr int SizeClassOf(size_t bytes) { return size_classes_internal::kClasses[(bytes + kGranule - 1) / kGranule]; }
// Bytes of a block of a class.
constexpr size_t SizeOfClass(int size_class) { return size_classes_internal::kSizes[static_cast<size_t>(size_class)]; }

}  // namespace sluice

#endif  // SLUICE_KERNELS_MEMORY_SIZE_CLASSES_H_

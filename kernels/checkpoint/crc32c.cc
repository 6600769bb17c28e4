#include "kernels/checkpoint/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sluice {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed.
constexpr uint32_t kMaskDelta = 0xa282ead8;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ByTable(const char* p, size_t n, uint32_t crc) {
  for (; n > 0; ++p, --n) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(*p)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ByInstruction(const char* p, size_t n, uint32_t crc) {
  uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof(word));
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; n > 0; ++p, --n) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*p));
  return crc;
}
#endif

// The product of two polynomials modulo the CRC's, bits reversed as in all CRCs here: bit 31 is the constant term.
uint32_t MultiplyPolynomials(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes, uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~ByInstruction(bytes.data(), bytes.size(), ~crc);
#endif
  return ~ByTable(bytes.data(), bytes.size(), ~crc);
}

// Zeros behind a text multiply its CRC by a power of x.
uint32_t JoinCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t power = uint32_t{1} << 31;   // x^0.
  uint32_t square = uint32_t{1} << 23;  // x^8: one byte.
  for (; second_bytes != 0; second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) power = MultiplyPolynomials(power, square);
    square = MultiplyPolynomials(square, square);
  }
  return MultiplyPolynomials(power, first) ^ second;
}

uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMaskDelta; }

uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - kMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace sluice

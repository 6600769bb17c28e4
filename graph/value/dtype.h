#ifndef SLUICE_GRAPH_VALUE_DTYPE_H_
#define SLUICE_GRAPH_VALUE_DTYPE_H_

// Element types. The numbers are those of TensorFlow's DataType, so that they go to and from files unchanged.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/float16.h"

namespace sluice {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  // Known by number and name, and refused: no tensor holds them.
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kFloat8E4M3FNUZ = 26,
  kFloat8E4M3B11FNUZ = 27,
  kFloat8E5M2FNUZ = 28,
  kInt4 = 29,
  kUInt4 = 30,
};

// A reference type is the base type's number plus this.
inline constexpr int kRefOffset = 100;

constexpr bool IsRef(DType t) { return static_cast<int>(t) > kRefOffset; }
constexpr DType BaseType(DType t) { return IsRef(t) ? static_cast<DType>(static_cast<int>(t) - kRefOffset) : t; }
constexpr DType RefType(DType t) { return IsRef(t) ? t : static_cast<DType>(static_cast<int>(t) + kRefOffset); }

// Whether tensors of `t` (not a reference) can exist here: 1 to 23.
constexpr bool IsSupported(DType t) { return t >= DType::kFloat && t <= DType::kUInt64; }

// The dtype with TensorFlow's number `number` (references included), or kInvalid when there is none.
DType DTypeFromNumber(int64_t number);

namespace dtype_internal {
// By number.
inline constexpr uint8_t kSizes[24] = {0, 4, 8, 4, 1, 2, 1, 24, 8, 8, 1, 1, 1, 4, 2, 2, 2, 2, 16, 2, 8, 8, 4, 8};
}  // namespace dtype_internal

// Bytes of one element in memory: string 24, resource 8, variant 8. 0 for types that no tensor holds.
constexpr size_t DTypeSize(DType t) {
  return static_cast<uint8_t>(t) < 24 ? size_t{dtype_internal::kSizes[static_cast<uint8_t>(t)]} : 0;
}

// "float32", "int64", "string", "bfloat16"; references end in "&"; "invalid" and "dtype(77)" for others.
std::string DTypeName(DType t);
// Reads any of: "float32", "float", "f32", "DT_FLOAT", "half", "float16", "i64", ... INVALID_ARGUMENT otherwise.
absl::StatusOr<DType> ParseDType(absl::string_view text);

// Half, bfloat16, float, double.
constexpr bool IsFloating(DType t) {
  return t == DType::kFloat || t == DType::kDouble || t == DType::kHalf || t == DType::kBFloat16;
}
constexpr bool IsComplex(DType t) { return t == DType::kComplex64 || t == DType::kComplex128; }
// Signed and unsigned, not quantized, not bool.
constexpr bool IsInteger(DType t) {
  return (t >= DType::kInt32 && t <= DType::kInt8) || t == DType::kInt64 || t == DType::kUInt16 ||
         t == DType::kUInt32 || t == DType::kUInt64;
}
constexpr bool IsQuantized(DType t) {
  return (t >= DType::kQInt8 && t <= DType::kQInt32) || t == DType::kQInt16 || t == DType::kQUInt16;
}
// Elements are plain bytes: everything but string, resource and variant.
constexpr bool IsTrivial(DType t) {
  return IsSupported(t) && t != DType::kString && t != DType::kResource && t != DType::kVariant;
}

// Quantized integers: a distinct type around the integer.
template <typename Int, int kTag>
struct Quantized {
  Int value = 0;
};
using QInt8 = Quantized<int8_t, 11>;
using QUInt8 = Quantized<uint8_t, 12>;
using QInt32 = Quantized<int32_t, 13>;
using QInt16 = Quantized<int16_t, 15>;
using QUInt16 = Quantized<uint16_t, 16>;

class TString;         // graph/value/tstring.h
class ResourceHandle;  // graph/value/resource_handle.h (a counted pointer)
class Variant;         // graph/value/variant.h (a counted pointer)

// DTypeOf<float>::value == DType::kFloat. Undefined for types that no tensor holds.
template <typename T>
struct DTypeOf;
#define SLUICE_DTYPE_OF(type, dtype)             \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType value = DType::dtype; \
  }
SLUICE_DTYPE_OF(float, kFloat);
SLUICE_DTYPE_OF(double, kDouble);
SLUICE_DTYPE_OF(int32_t, kInt32);
SLUICE_DTYPE_OF(uint8_t, kUInt8);
SLUICE_DTYPE_OF(int16_t, kInt16);
SLUICE_DTYPE_OF(int8_t, kInt8);
SLUICE_DTYPE_OF(TString, kString);
SLUICE_DTYPE_OF(std::complex<float>, kComplex64);
SLUICE_DTYPE_OF(int64_t, kInt64);
SLUICE_DTYPE_OF(bool, kBool);
SLUICE_DTYPE_OF(QInt8, kQInt8);
SLUICE_DTYPE_OF(QUInt8, kQUInt8);
SLUICE_DTYPE_OF(QInt32, kQInt32);
SLUICE_DTYPE_OF(BFloat16, kBFloat16);
SLUICE_DTYPE_OF(QInt16, kQInt16);
SLUICE_DTYPE_OF(QUInt16, kQUInt16);
SLUICE_DTYPE_OF(uint16_t, kUInt16);
SLUICE_DTYPE_OF(std::complex<double>, kComplex128);
SLUICE_DTYPE_OF(Half, kHalf);
SLUICE_DTYPE_OF(ResourceHandle, kResource);
SLUICE_DTYPE_OF(Variant, kVariant);
SLUICE_DTYPE_OF(uint32_t, kUInt32);
SLUICE_DTYPE_OF(uint64_t, kUInt64);
#undef SLUICE_DTYPE_OF

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_DTYPE_H_

#ifndef SLUICE_KERNELS_DTYPE_SET_H_
#define SLUICE_KERNELS_DTYPE_SET_H_

#include <cstdint>
#include <initializer_list>

#include "graph/value/dtype.h"

namespace sluice {

// A set of dtypes, as a constant: `constexpr DTypeSet kReal = kFloats | DTypeSet{DType::kInt32};`
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (const DType t : types) bits_ |= Bit(t);
  }
  static constexpr DTypeSet All() {
    DTypeSet all;
    all.bits_ = ~uint64_t{0};
    return all;
  }
  constexpr bool Contains(DType t) const { return (bits_ & Bit(t)) != 0; }
  constexpr bool Intersects(DTypeSet other) const { return (bits_ & other.bits_) != 0; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr uint64_t Bit(DType t) { return uint64_t{1} << (static_cast<uint8_t>(t) & 63); }
  uint64_t bits_ = 0;
};

inline constexpr DTypeSet kFloatTypes{DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16};
inline constexpr DTypeSet kComplexTypes{DType::kComplex64, DType::kComplex128};
inline constexpr DTypeSet kSignedTypes{DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kUnsignedTypes{DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
inline constexpr DTypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr DTypeSet kQuantizedTypes{DType::kQInt8, DType::kQUInt8, DType::kQInt32, DType::kQInt16,
                                          DType::kQUInt16};
inline constexpr DTypeSet kRealTypes = kFloatTypes | kIntegerTypes;
inline constexpr DTypeSet kNumberTypes = kRealTypes | kComplexTypes;
inline constexpr DTypeSet kIndexTypes{DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kAllTypes = DTypeSet::All();

}  // namespace sluice

#endif  // SLUICE_KERNELS_DTYPE_SET_H_

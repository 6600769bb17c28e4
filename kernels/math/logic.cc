#include <climits>
#include <type_traits>

#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

struct LogicalAndOp {
  static bool Apply(bool a, bool b) { return a & b; }
};
struct LogicalOrOp {
  static bool Apply(bool a, bool b) { return a | b; }
};
struct LogicalNotOp {
  static bool Apply(bool x) { return !x; }
};

struct BitwiseAndOp {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOrOp {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXorOp {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct InvertOp {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(~x);
  }
};

// Counts outside of [0, width) act as the nearest that is inside.
template <typename T>
int ShiftCount(T count) {
  constexpr int kLast = static_cast<int>(sizeof(T) * CHAR_BIT) - 1;
  if (count < T(0)) return 0;
  return count > T(kLast) ? kLast : static_cast<int>(count);
}
struct LeftShiftOp {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<WrapType<T>>(a) << ShiftCount(b));
  }
};
// Of signed numbers: copies of the sign come in.
struct RightShiftOp {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a >> ShiftCount(b));
  }
};

struct PopulationCountOp {
  template <typename T>
  static uint8_t Apply(T x) {
    return static_cast<uint8_t>(__builtin_popcountll(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

// LogicalAnd and its kin have no type attr.
using Bool = TypeList<bool>;

constexpr KernelRow kRows[] = {
    KernelRow("LogicalAnd", &MakeBinary<LogicalAndOp, Bool>),
    KernelRow("LogicalOr", &MakeBinary<LogicalOrOp, Bool>),
    KernelRow("LogicalNot", &MakeUnary<LogicalNotOp, Bool>),
    BinaryRow<BitwiseAndOp, IntegerCppTypes>("BitwiseAnd"),
    BinaryRow<BitwiseOrOp, IntegerCppTypes>("BitwiseOr"),
    BinaryRow<BitwiseXorOp, IntegerCppTypes>("BitwiseXor"),
    BinaryRow<LeftShiftOp, IntegerCppTypes>("LeftShift"),
    BinaryRow<RightShiftOp, IntegerCppTypes>("RightShift"),
    UnaryRow<InvertOp, IntegerCppTypes>("Invert"),
    UnaryRow<PopulationCountOp, IntegerCppTypes>("PopulationCount"),
};

}  // namespace

absl::Span<const KernelRow> LogicKernels() { return kRows; }

}  // namespace sluice

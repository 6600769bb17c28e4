#include "graph/value/dtype.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// One row per number, in order of the numbers.
struct Row {
  absl::string_view name;       // Ours and NumPy's.
  absl::string_view enum_name;  // In text files.
};

constexpr Row kRows[] = {
    {"invalid", "DT_INVALID"},
    {"float32", "DT_FLOAT"},
    {"float64", "DT_DOUBLE"},
    {"int32", "DT_INT32"},
    {"uint8", "DT_UINT8"},
    {"int16", "DT_INT16"},
    {"int8", "DT_INT8"},
    {"string", "DT_STRING"},
    {"complex64", "DT_COMPLEX64"},
    {"int64", "DT_INT64"},
    {"bool", "DT_BOOL"},
    {"qint8", "DT_QINT8"},
    {"quint8", "DT_QUINT8"},
    {"qint32", "DT_QINT32"},
    {"bfloat16", "DT_BFLOAT16"},
    {"qint16", "DT_QINT16"},
    {"quint16", "DT_QUINT16"},
    {"uint16", "DT_UINT16"},
    {"complex128", "DT_COMPLEX128"},
    {"float16", "DT_HALF"},
    {"resource", "DT_RESOURCE"},
    {"variant", "DT_VARIANT"},
    {"uint32", "DT_UINT32"},
    {"uint64", "DT_UINT64"},
    {"float8_e5m2", "DT_FLOAT8_E5M2"},
    {"float8_e4m3fn", "DT_FLOAT8_E4M3FN"},
    {"float8_e4m3fnuz", "DT_FLOAT8_E4M3FNUZ"},
    {"float8_e4m3b11fnuz", "DT_FLOAT8_E4M3B11FNUZ"},
    {"float8_e5m2fnuz", "DT_FLOAT8_E5M2FNUZ"},
    {"int4", "DT_INT4"},
    {"uint4", "DT_UINT4"},
};
constexpr int kNumRows = sizeof(kRows) / sizeof(kRows[0]);

// Other spellings that people write.
struct Alias {
  absl::string_view text;
  DType dtype;
};

constexpr Alias kAliases[] = {
    {"float", DType::kFloat},   {"f32", DType::kFloat},       {"double", DType::kDouble}, {"f64", DType::kDouble},
    {"half", DType::kHalf},     {"f16", DType::kHalf},        {"bf16", DType::kBFloat16}, {"i8", DType::kInt8},
    {"i16", DType::kInt16},     {"i32", DType::kInt32},       {"int", DType::kInt32},     {"i64", DType::kInt64},
    {"u8", DType::kUInt8},      {"u16", DType::kUInt16},      {"u32", DType::kUInt32},    {"u64", DType::kUInt64},
    {"c64", DType::kComplex64}, {"c128", DType::kComplex128}, {"str", DType::kString},    {"boolean", DType::kBool},
};

// The row of a base type, or null.
const Row* FindRow(int number) { return number >= 0 && number < kNumRows ? &kRows[number] : nullptr; }

DType FindName(absl::string_view text) {
  for (int i = 1; i < kNumRows; ++i) {
    if (text == kRows[i].name || text == kRows[i].enum_name) return static_cast<DType>(i);
  }
  for (const Alias& alias : kAliases) {
    if (text == alias.text) return alias.dtype;
  }
  return DType::kInvalid;
}

}  // namespace

DType DTypeFromNumber(int64_t number) {
  const int64_t base = number > kRefOffset ? number - kRefOffset : number;
  return base > 0 && base < kNumRows ? static_cast<DType>(number) : DType::kInvalid;
}

std::string DTypeName(DType t) {
  const Row* row = FindRow(static_cast<int>(BaseType(t)));
  if (row == nullptr) return absl::StrCat("dtype(", static_cast<int>(t), ")");
  return absl::StrCat(row->name, IsRef(t) ? "&" : "");
}

absl::StatusOr<DType> ParseDType(absl::string_view text) {
  absl::string_view base = text;
  const bool is_ref =
      absl::ConsumeSuffix(&base, "&") || absl::ConsumeSuffix(&base, "_REF") || absl::ConsumeSuffix(&base, "_ref");
  const DType dtype = FindName(base);
  if (dtype == DType::kInvalid) {
    return Error(ErrorCode::kTensorDType)
        .Found(PrintableName(text))
        .Expected("a dtype, such as float32, int64 or DT_STRING")
        .Text(absl::StrCat("'", PrintableName(text), "' is not a dtype"));
  }
  return is_ref ? RefType(dtype) : dtype;
}

}  // namespace sluice

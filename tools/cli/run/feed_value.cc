#include "tools/cli/run/feed_value.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "tools/cli/numpy/npy.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/run/value_literal.h"

namespace sluice {
namespace {

// "2x3xf32=VALUE", taken apart.
struct Fill {
  std::vector<int64_t> dims;
  DType dtype = DType::kInvalid;
  absl::string_view value;
};

// Reads the shape and the dtype of a fill; `head` is what stands before '='. Without a dtype ("2x3") it is
// `by_default`, unless that is kInvalid.
absl::Status ReadFillHead(absl::string_view head, DType by_default, Fill* fill) {
  absl::string_view rest = head;
  while (!rest.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest[0]))) {
    const absl::string_view size = rest.substr(0, rest.find('x'));
    int64_t dim = 0;
    if (!absl::SimpleAtoi(size, &dim)) break;
    fill->dims.push_back(dim);
    fill->dtype = by_default;
    rest.remove_prefix(size.size());
    if (rest.empty() && by_default != DType::kInvalid) return absl::OkStatus();
    absl::ConsumePrefix(&rest, "x");
  }
  const absl::StatusOr<DType> stated = ParseDType(rest);
  if (stated.ok()) {
    fill->dtype = *stated;
    return absl::OkStatus();
  }
  const bool is_name = !rest.empty() && absl::ascii_isalpha(static_cast<unsigned char>(rest[0]));
  const std::string part = absl::StrCat("'", PrintableName(is_name ? rest : rest.substr(0, rest.find('x'))), "'");
  const std::string problem = rest.empty() ? "a size or a dtype is missing at its end"
                              : is_name    ? absl::StrCat(part, " is not a dtype")
                                           : absl::StrCat(part, " is not a size (sizes are whole numbers from 0 on)");
  return Error(ErrorCode::kValueSyntax)
      .Text(absl::StrCat("'", PrintableName(head), "' is not a shape with a dtype such as 2x3xf32: ", problem));
}

// Parses `text` as a fill, for a feed of `dtype`; no value if it is not one. A string may contain '=': it is a fill
// only if it names the dtype.
absl::StatusOr<std::optional<Fill>> ParseFill(absl::string_view text, DType dtype) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || text[0] == '"' || text[0] == '[') return std::optional<Fill>();
  const bool is_text = dtype == DType::kString;
  Fill fill;
  fill.value = text.substr(equals + 1);
  const absl::Status head = ReadFillHead(text.substr(0, equals), is_text ? DType::kInvalid : dtype, &fill);
  if (is_text && (!head.ok() || fill.dtype != DType::kString)) return std::optional<Fill>();
  if (!head.ok()) return head;
  return std::optional<Fill>(std::move(fill));
}

// Numbers for tests: SplitMix64, the same on every machine.
class TestNumbers {
 public:
  explicit TestNumbers(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
  }
  // In [0,1), exact in a float.
  float NextFloat() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }

 private:
  uint64_t state_;
};

template <typename T>
void FillFloats(TestNumbers& numbers, Tensor* tensor) {
  for (T& value : tensor->flat<T>()) value = T(numbers.NextFloat());
}
template <typename T>
void FillIntegers(TestNumbers& numbers, Tensor* tensor) {
  for (T& value : tensor->flat<T>()) value = static_cast<T>(numbers.Next() % 100);
}

absl::Status FillAtRandom(uint64_t seed, Tensor* tensor) {
  TestNumbers numbers(seed);
  switch (tensor->dtype()) {
    case DType::kFloat:
      return FillFloats<float>(numbers, tensor), absl::OkStatus();
    case DType::kDouble:
      return FillFloats<double>(numbers, tensor), absl::OkStatus();
    case DType::kHalf:
      return FillFloats<Half>(numbers, tensor), absl::OkStatus();
    case DType::kBFloat16:
      return FillFloats<BFloat16>(numbers, tensor), absl::OkStatus();
    case DType::kInt8:
      return FillIntegers<int8_t>(numbers, tensor), absl::OkStatus();
    case DType::kInt16:
      return FillIntegers<int16_t>(numbers, tensor), absl::OkStatus();
    case DType::kInt32:
      return FillIntegers<int32_t>(numbers, tensor), absl::OkStatus();
    case DType::kInt64:
      return FillIntegers<int64_t>(numbers, tensor), absl::OkStatus();
    case DType::kUInt8:
      return FillIntegers<uint8_t>(numbers, tensor), absl::OkStatus();
    case DType::kUInt16:
      return FillIntegers<uint16_t>(numbers, tensor), absl::OkStatus();
    case DType::kUInt32:
      return FillIntegers<uint32_t>(numbers, tensor), absl::OkStatus();
    case DType::kUInt64:
      return FillIntegers<uint64_t>(numbers, tensor), absl::OkStatus();
    case DType::kBool:
      for (bool& value : tensor->flat<bool>()) value = (numbers.Next() & 1) != 0;
      return absl::OkStatus();
    default:
      return Error(ErrorCode::kValueSyntax)
          .Text(absl::StrCat("there are no random numbers of dtype ", DTypeName(tensor->dtype())));
  }
}

// All elements of `tensor` become a copy of `scalar`'s.
void Repeat(const Tensor& scalar, Tensor* tensor) {
  if (scalar.dtype() == DType::kString) {
    for (TString& value : tensor->flat<TString>()) value = scalar.flat<TString>()[0];
    return;
  }
  const size_t size = DTypeSize(scalar.dtype());
  char* const out = static_cast<char*>(tensor->mutable_raw_data());
  for (size_t i = 0; i < static_cast<size_t>(tensor->num_elements()); ++i) {
    std::memcpy(out + i * size, scalar.raw_data(), size);
  }
}

absl::StatusOr<Tensor> MakeFill(const Fill& fill, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(fill.dims));
  int64_t bytes = 0;
  if (!CheckedMul(shape.num_elements(), static_cast<int64_t>(DTypeSize(fill.dtype)), &bytes) ||
      bytes > limits.max_tensor_bytes) {
    return Error(ErrorCode::kLimitTensorBytes)
        .Limit("max_tensor_bytes", limits.max_tensor_bytes)
        .Text(absl::StrCat("a value of shape ", shape.ToString(), " is too large"));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(fill.dtype, shape));
  absl::string_view value = fill.value;
  if (absl::ConsumePrefix(&value, "random:")) {
    uint64_t seed = 0;
    if (!absl::SimpleAtoi(value, &seed)) {
      return Error(ErrorCode::kValueSyntax)
          .Text(absl::StrCat("'", PrintableName(value), "' is not a seed: seeds are whole numbers from 0 on"));
    }
    SLUICE_RETURN_IF_ERROR(FillAtRandom(seed, &tensor));
    return tensor;
  }
  SLUICE_ASSIGN_OR_RETURN(const ValueLiteral literal, ParseValueLiteral(value));
  if (!literal.dims.empty()) return Error(ErrorCode::kValueSyntax).Text("a fill has one value, not a list");
  SLUICE_ASSIGN_OR_RETURN(const Tensor scalar, LiteralToTensor(literal, fill.dtype));
  Repeat(scalar, &tensor);
  return tensor;
}

absl::StatusOr<Tensor> ReadValueFile(const std::string& name, const LoadLimits& limits) {
  const size_t member = name.find(".npz:");
  const std::string path = member == std::string::npos ? name : name.substr(0, member + 4);
  SLUICE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits.max_file_bytes));
  const auto read = [&]() -> absl::StatusOr<Tensor> {
    if (absl::EndsWith(path, ".npz")) {
      SLUICE_ASSIGN_OR_RETURN(const NpzReader archive, NpzReader::Open(bytes, limits));
      if (member != std::string::npos) return archive.Read(name.substr(member + 5));
      if (archive.names().size() == 1) return archive.Read(archive.names()[0]);
      return Error(ErrorCode::kValueSyntax)
          .Text(absl::StrCat("which array? Name it as @", path, ":NAME"))
          .Found(archive.NamesText());
    }
    if (absl::EndsWith(path, ".npy")) return ReadNpy(bytes, {limits, nullptr});
    if (absl::EndsWith(path, ".pb")) {
      DecodeTensorOptions options;
      options.limits = limits;
      return DecodeTensorProto(bytes, options);
    }
    return Error(ErrorCode::kValueSyntax).Text("the file of a value must end in .npy, .npz or .pb");
  };
  absl::StatusOr<Tensor> tensor = read();
  if (!tensor.ok()) return WithFile(tensor.status(), path);
  return tensor;
}

// `file` is the value's file; empty: it is on the command line.
absl::StatusOr<Tensor> CheckDType(absl::StatusOr<Tensor> tensor, DType dtype, const std::string& file = "") {
  if (!tensor.ok() || tensor->dtype() == dtype) return tensor;
  ErrorBuilder error = Error(ErrorCode::kFeedType);
  error.Found(DTypeName(tensor->dtype())).Expected(DTypeName(dtype)).Text("the value has the wrong dtype");
  const bool is_array = absl::StrContains(file, ".np") && tensor->dtype() != DType::kString;
  if (is_array && dtype != DType::kString) error.Help(absl::StrCat("save x.astype('", DTypeName(dtype), "')"));
  return file.empty() ? absl::Status(error) : WithFile(error, file);
}

// Splits the object `text` into members by key, each as written; no value if it is not an object. Values are scanned
// only for their ends.
using Members = absl::flat_hash_map<std::string, absl::string_view>;
std::optional<Members> ReadMembers(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "{") || !absl::ConsumeSuffix(&text, "}")) return std::nullopt;
  Members members;
  int64_t depth = 0;
  size_t begin = 0, colon = absl::string_view::npos;
  bool is_quoted = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (is_quoted && i == text.size()) return std::nullopt;
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      continue;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':' && depth == 0 && colon == absl::string_view::npos) {
      colon = i;
    } else if (c == ',' && depth == 0) {
      if (colon == absl::string_view::npos) return std::nullopt;
      absl::string_view key = absl::StripAsciiWhitespace(text.substr(begin, colon - begin));
      if (!absl::ConsumePrefix(&key, "\"") || !absl::ConsumeSuffix(&key, "\"")) return std::nullopt;
      members[std::string(key)] = absl::StripAsciiWhitespace(text.substr(colon + 1, i - colon - 1));
      begin = i + 1;
      colon = absl::string_view::npos;
    }
  }
  return depth == 0 && !is_quoted ? std::optional<Members>(std::move(members)) : std::nullopt;
}

// Reads a list or an element from the command line, of the shape `stated` if known.
absl::StatusOr<Tensor> ReadLiteral(absl::string_view text, DType dtype, const std::optional<Shape>& stated,
                                   const PartialShape& known) {
  SLUICE_ASSIGN_OR_RETURN(ValueLiteral literal, ParseValueLiteral(text));
  const auto rank = static_cast<int>(literal.dims.size());
  if (IsComplex(dtype)) {
    const bool has_pairs = stated.has_value()
                               ? static_cast<int64_t>(literal.elements.size()) == 2 * stated->num_elements()
                               : known.has_rank() && static_cast<int>(known.dims().size()) + 1 == rank;
    if (has_pairs) JoinComplexPairs(&literal);
  }
  if (!stated.has_value()) return LiteralToTensor(literal, dtype);
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, *stated));
  if (literal.elements.empty() && stated->num_elements() == 0) return tensor;
  if (std::vector<int64_t>(stated->dims().begin(), stated->dims().end()) != literal.dims) {
    return Error(ErrorCode::kValueSyntax).Text(absl::StrCat("\"values\" do not have the shape ", stated->ToString()));
  }
  return LiteralToTensor(literal, dtype);
}

// A result as `sluice run --json` prints it: {"name": ..., "dtype": "float32", "shape": [0,3], "values": []}.
absl::StatusOr<Tensor> ReadResult(const Members& members, DType dtype, const LoadLimits& limits) {
  const auto member = [&members](const char* key) {
    const auto found = members.find(key);
    return found == members.end() ? absl::string_view() : found->second;
  };
  absl::string_view stated = member("dtype");
  if (absl::ConsumePrefix(&stated, "\"") && absl::ConsumeSuffix(&stated, "\"")) {
    SLUICE_ASSIGN_OR_RETURN(const DType found, ParseDType(stated));
    if (found != dtype) {
      return Error(ErrorCode::kFeedType)
          .Found(DTypeName(found))
          .Expected(DTypeName(dtype))
          .Text("the value has the wrong dtype");
    }
  }
  std::optional<Shape> shape;
  if (!member("shape").empty()) {
    SLUICE_ASSIGN_OR_RETURN(const ValueLiteral dims, ParseValueLiteral(member("shape")));
    SLUICE_ASSIGN_OR_RETURN(const Tensor sizes, LiteralToTensor(dims, DType::kInt64));
    if (sizes.rank() != 1) return Error(ErrorCode::kValueSyntax).Text("\"shape\" is not a list of sizes");
    SLUICE_ASSIGN_OR_RETURN(shape, Shape::Make(sizes.flat<int64_t>()));
    int64_t bytes = 0;
    if (!CheckedMul(shape->num_elements(), static_cast<int64_t>(DTypeSize(dtype)), &bytes) ||
        bytes > limits.max_tensor_bytes) {
      return Error(ErrorCode::kLimitTensorBytes)
          .Limit("max_tensor_bytes", limits.max_tensor_bytes)
          .Text(absl::StrCat("a value of shape ", shape->ToString(), " is too large"));
    }
  }
  return ReadLiteral(member("values"), dtype, shape, PartialShape());
}

}  // namespace

absl::StatusOr<Tensor> ReadFeedValue(absl::string_view value, DType dtype, const LoadLimits& limits,
                                     const PartialShape& shape) {
  if (absl::ConsumePrefix(&value, "@")) {
    const std::string file(value);
    return CheckDType(ReadValueFile(file, limits), dtype, file);
  }
  const std::optional<Members> members = ReadMembers(value);
  if (members.has_value() && members->contains("values")) return ReadResult(*members, dtype, limits);
  const bool is_bytes = members.has_value() && members->contains("b64");
  if (!is_bytes) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<Fill> fill, ParseFill(value, dtype));
    if (fill.has_value()) return CheckDType(MakeFill(*fill, limits), dtype);
  }
  const bool is_literal = is_bytes || absl::StartsWith(value, "\"") || absl::StartsWith(value, "[");
  if (dtype == DType::kString && !is_literal) return Tensor::String(value);
  return ReadLiteral(value, dtype, std::nullopt, shape);
}

}  // namespace sluice

#include "tools/cli/run/value_literal.h"

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

absl::Status SyntaxError(absl::string_view what) { return Error(ErrorCode::kValueSyntax).Text(what); }

// Reads one literal from left to right; an open list is a level of `levels_`, not of the call stack.
class LiteralReader {
 public:
  explicit LiteralReader(absl::string_view text) : text_(text) {}

  absl::StatusOr<ValueLiteral> Read() {
    bool wants_value = true;
    while (true) {
      SkipSpace();
      if (AtEnd()) break;
      if (wants_value) {
        SLUICE_RETURN_IF_ERROR(ReadValue(&wants_value));
      } else if (levels_.empty()) {
        return Problem("there is something after the value");
      } else {
        SLUICE_RETURN_IF_ERROR(ReadAfterValue(&wants_value));
      }
    }
    if (!levels_.empty()) return Problem("a bracket is missing");
    if (wants_value) return Problem("there is no value");
    return std::move(literal_);
  }

 private:
  struct Level {
    int64_t count = 0;
  };

  bool AtEnd() const { return at_ >= text_.size(); }
  char Here() const { return text_[at_]; }
  void SkipSpace() {
    while (!AtEnd() && absl::ascii_isspace(static_cast<unsigned char>(Here()))) ++at_;
  }
  absl::Status Problem(absl::string_view what) const { return SyntaxError(absl::StrCat(what, " at byte ", at_)); }

  absl::Status ReadValue(bool* wants_value) {
    if (Here() == '[') {
      if (levels_.size() >= static_cast<size_t>(kMaxRank)) return Problem("lists are nested too deeply");
      ++at_;
      levels_.emplace_back();
      if (literal_.dims.size() < levels_.size()) literal_.dims.push_back(-1);
      return absl::OkStatus();
    }
    if (Here() == ']' && !levels_.empty() && levels_.back().count == 0) {
      *wants_value = false;
      return Close();
    }
    if (leaf_depth_ < 0) leaf_depth_ = static_cast<int64_t>(levels_.size());
    if (leaf_depth_ != static_cast<int64_t>(levels_.size()) || literal_.dims.size() != levels_.size()) {
      return Problem("a number is where a list should be, or a list where a number should be,");
    }
    *wants_value = false;
    return Here() == '"' ? ReadQuoted() : ReadWord();
  }

  absl::Status ReadAfterValue(bool* wants_value) {
    ++levels_.back().count;
    if (Here() == ',') {
      ++at_;
      *wants_value = true;
      SkipSpace();
      return AtEnd() || Here() == ']' ? Problem("a value is missing") : absl::OkStatus();
    }
    if (Here() == ']') return Close();
    return Problem("a comma or a bracket is missing");
  }

  absl::Status Close() {
    ++at_;
    int64_t& dim = literal_.dims[levels_.size() - 1];
    if (dim >= 0 && dim != levels_.back().count) return Problem("rows have different lengths");
    dim = levels_.back().count;
    levels_.pop_back();
    return absl::OkStatus();
  }

  absl::Status ReadQuoted() {
    const size_t begin = ++at_;
    while (!AtEnd() && Here() != '"') at_ += Here() == '\\' ? 2 : 1;
    if (AtEnd()) return Problem("a quote is missing");
    LiteralElement element;
    element.is_quoted = true;
    std::string error;
    if (!absl::CUnescape(text_.substr(begin, at_ - begin), &element.text, &error)) return Problem(error);
    ++at_;
    literal_.elements.push_back(std::move(element));
    return absl::OkStatus();
  }

  absl::Status ReadWord() {
    const size_t begin = at_;
    while (!AtEnd() && !absl::StrContains(",[]\" \t\n", Here())) ++at_;
    if (at_ == begin) return Problem("a value is missing");
    literal_.elements.push_back({std::string(text_.substr(begin, at_ - begin)), false});
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t at_ = 0;
  std::vector<Level> levels_;
  int64_t leaf_depth_ = -1;
  ValueLiteral literal_;
};

// Integers as such, others through the number they are. False for what does not fit.
template <typename T>
bool ReadNumber(absl::string_view text, T* value) {
  if constexpr (std::is_floating_point<T>::value) {
    double number = 0;
    if (std::is_same<T, float>::value) {
      float single = 0;
      if (!absl::SimpleAtof(text, &single)) return false;
      *value = static_cast<T>(single);
      return true;
    }
    if (!absl::SimpleAtod(text, &number)) return false;
    *value = static_cast<T>(number);
    return true;
  } else if constexpr (std::is_same<T, uint64_t>::value) {
    return absl::SimpleAtoi(text, value);
  } else {
    int64_t number = 0;
    if (!absl::SimpleAtoi(text, &number)) return false;
    if (number < static_cast<int64_t>(std::numeric_limits<T>::min())) return false;
    if (number > static_cast<int64_t>(std::numeric_limits<T>::max())) return false;
    *value = static_cast<T>(number);
    return true;
  }
}

bool ReadElement(const LiteralElement& element, bool* value) {
  const std::string word = absl::AsciiStrToLower(element.text);
  *value = word == "true" || word == "1";
  return *value || word == "false" || word == "0";
}
bool ReadElement(const LiteralElement& element, TString* value) {
  value->assign(element.text);
  return true;
}
template <typename F16>
bool ReadFloat16(const LiteralElement& element, F16* value) {
  float single = 0;
  if (!ReadNumber(element.text, &single)) return false;
  *value = F16(single);
  return true;
}
bool ReadElement(const LiteralElement& element, Half* value) { return ReadFloat16(element, value); }
bool ReadElement(const LiteralElement& element, BFloat16* value) { return ReadFloat16(element, value); }
template <typename T>
bool ReadElement(const LiteralElement& element, std::complex<T>* value) {
  absl::string_view text = element.text;
  T real = 0, imaginary = 0;
  if (!absl::EndsWith(text, "j") && !absl::EndsWith(text, "i")) {
    if (!ReadNumber(text, &real)) return false;
  } else {
    text.remove_suffix(1);
    size_t split = text.find_last_of("+-");
    if (split != absl::string_view::npos && split > 0 && (text[split - 1] == 'e' || text[split - 1] == 'E')) {
      split = text.find_last_of("+-", split - 2);
    }
    if (split == absl::string_view::npos) split = 0;
    if (split > 0 && !ReadNumber(text.substr(0, split), &real)) return false;
    if (!ReadNumber(text.substr(split), &imaginary)) return false;
  }
  *value = {real, imaginary};
  return true;
}
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
bool ReadElement(const LiteralElement& element, T* value) {
  return ReadNumber(element.text, value);
}

template <typename T>
absl::Status ReadElements(const ValueLiteral& literal, Tensor* tensor) {
  const absl::Span<T> values = tensor->flat<T>();
  const bool wants_text = std::is_same<T, TString>::value;
  for (size_t i = 0; i < values.size(); ++i) {
    const LiteralElement& element = literal.elements[i];
    if ((element.is_quoted && !wants_text) || !ReadElement(element, &values[i])) {
      return Error(ErrorCode::kValueSyntax)
          .Text(absl::StrCat("'", PrintableName(element.text), "' is not a value of ", DTypeName(tensor->dtype())));
    }
  }
  return absl::OkStatus();
}

absl::Status FillFrom(const ValueLiteral& literal, Tensor* tensor) {
  switch (tensor->dtype()) {
    case DType::kFloat:
      return ReadElements<float>(literal, tensor);
    case DType::kDouble:
      return ReadElements<double>(literal, tensor);
    case DType::kHalf:
      return ReadElements<Half>(literal, tensor);
    case DType::kBFloat16:
      return ReadElements<BFloat16>(literal, tensor);
    case DType::kInt8:
      return ReadElements<int8_t>(literal, tensor);
    case DType::kInt16:
      return ReadElements<int16_t>(literal, tensor);
    case DType::kInt32:
      return ReadElements<int32_t>(literal, tensor);
    case DType::kInt64:
      return ReadElements<int64_t>(literal, tensor);
    case DType::kUInt8:
      return ReadElements<uint8_t>(literal, tensor);
    case DType::kUInt16:
      return ReadElements<uint16_t>(literal, tensor);
    case DType::kUInt32:
      return ReadElements<uint32_t>(literal, tensor);
    case DType::kUInt64:
      return ReadElements<uint64_t>(literal, tensor);
    case DType::kBool:
      return ReadElements<bool>(literal, tensor);
    case DType::kString:
      return ReadElements<TString>(literal, tensor);
    case DType::kComplex64:
      return ReadElements<std::complex<float>>(literal, tensor);
    case DType::kComplex128:
      return ReadElements<std::complex<double>>(literal, tensor);
    default:
      return SyntaxError(absl::StrCat("a ", DTypeName(tensor->dtype()), " cannot be written down; give a file"));
  }
}

}  // namespace

absl::StatusOr<ValueLiteral> ParseValueLiteral(absl::string_view text) { return LiteralReader(text).Read(); }

absl::StatusOr<Tensor> LiteralToTensor(const ValueLiteral& literal, DType dtype) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(literal.dims));
  if (shape.num_elements() != static_cast<int64_t>(literal.elements.size())) {
    return SyntaxError("a row has no elements where others have some");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  SLUICE_RETURN_IF_ERROR(FillFrom(literal, &tensor));
  return tensor;
}

}  // namespace sluice

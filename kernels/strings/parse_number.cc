#include "kernels/strings/parse_number.h"

#include <limits>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"

namespace sluice {
namespace {

bool IsSign(char c) { return c == '+' || c == '-'; }

template <typename Float>
bool ParseFloat(absl::string_view text, Float* value) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && IsSign(text.front())) text.remove_prefix(1);
  if (text.empty() || IsSign(text.front())) return false;
  const bool is_hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (is_hex) text.remove_prefix(2);
  if (is_hex && !absl::ascii_isxdigit(static_cast<unsigned char>(text.front())) && text.front() != '.') return false;
  const absl::from_chars_result result = absl::from_chars(
      text.data(), text.data() + text.size(), *value, is_hex ? absl::chars_format::hex : absl::chars_format::general);
  if (result.ec == std::errc::invalid_argument || result.ptr != text.data() + text.size()) return false;
  if (result.ec == std::errc::result_out_of_range && *value > 1) *value = std::numeric_limits<Float>::infinity();
  if (is_negative) *value = -*value;
  return true;
}

// The digits of `text` as a number of at most `max`.
bool ParseDigits(absl::string_view text, uint64_t max, uint64_t* value) {
  if (text.empty()) return false;
  *value = 0;
  for (const char c : text) {
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (c < '0' || c > '9' || *value > (max - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return true;
}

template <typename Int>
bool ParseInteger(absl::string_view text, Int* value) {
  text = absl::StripAsciiWhitespace(text);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative && !std::numeric_limits<Int>::is_signed) return false;
  if (!text.empty() && IsSign(text.front())) text.remove_prefix(1);
  const uint64_t max = static_cast<uint64_t>(std::numeric_limits<Int>::max()) + (is_negative ? 1 : 0);
  uint64_t size = 0;
  if (!ParseDigits(text, max, &size)) return false;
  *value = static_cast<Int>(is_negative ? 0 - size : size);
  return true;
}

}  // namespace

bool ParseNumber(absl::string_view text, float* value) { return ParseFloat(text, value); }
bool ParseNumber(absl::string_view text, double* value) { return ParseFloat(text, value); }
bool ParseNumber(absl::string_view text, int32_t* value) { return ParseInteger(text, value); }
bool ParseNumber(absl::string_view text, int64_t* value) { return ParseInteger(text, value); }
bool ParseNumber(absl::string_view text, uint32_t* value) { return ParseInteger(text, value); }
bool ParseNumber(absl::string_view text, uint64_t* value) { return ParseInteger(text, value); }

}  // namespace sluice

#include <array>
#include <cstdint>

#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// The alphabet that is safe in addresses and file names.
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> MakeValues() {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNoDigit;
  for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}
constexpr std::array<uint8_t, 256> kValues = MakeValues();

// --- EncodeBase64 ------------------------------------------------------------------------------------------------

void Encode(absl::string_view text, bool pad, TString* to) {
  const size_t whole = text.size() / 3, rest = text.size() % 3;
  const size_t tail = rest == 0 ? 0 : pad ? 4 : rest + 1;
  char* out = to->ResizeUninitialized(4 * whole + tail);
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint32_t{0}; };
  const auto bits_at = [&byte](size_t i) { return byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2); };
  for (size_t i = 0; i < whole; ++i) {
    const uint32_t bits = bits_at(3 * i);
    for (int shift = 18; shift >= 0; shift -= 6) *out++ = kDigits[bits >> shift & 63];
  }
  const uint32_t bits = rest == 0 ? 0 : bits_at(3 * whole);
  for (size_t i = 0; i < tail; ++i) out[i] = i <= rest ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
}

// Writes bytes in digits, with padding or without.
class EncodeBase64Kernel : public Kernel {
 public:
  explicit EncodeBase64Kernel(bool pad) : pad_(pad) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const int64_t bytes = TotalBytes(input);
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, bytes / 3 * 4 + 4));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
    const absl::Span<const TString> from = input.flat<TString>();
    const absl::Span<TString> to = output->flat<TString>();
    const double unit_ns = StringNs(input.num_elements(), bytes, 1);
    return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) {
      for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        Encode(from[i].view(), pad_, &to[i]);
      return absl::OkStatus();
    });
  }

 private:
  const bool pad_;
};

// --- DecodeBase64 ------------------------------------------------------------------------------------------------

// Returns false at a character that is not a digit. Padding is taken where it makes the length a multiple of four; bits
// beyond the last byte are not looked at.
bool Decode(absl::string_view text, TString* to) {
  if (text.size() % 4 == 0 && !text.empty() && text.back() == '=') {
    text.remove_suffix(text[text.size() - 2] == '=' ? 2 : 1);
  }
  const size_t size = text.size() * 3 / 4;
  char* const out = to->ResizeUninitialized(size);
  uint8_t invalid = 0;
  for (size_t i = 0, at = 0; i < text.size(); i += 4, at += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t value = i + j < text.size() ? kValues[static_cast<uint8_t>(text[i + j])] : uint8_t{0};
      invalid |= value;
      bits = bits << 6 | (value & 63);
    }
    for (size_t j = 0; j < 3 && at + j < size; ++j) out[at + j] = static_cast<char>(bits >> (16 - 8 * j));
  }
  return (invalid & kNoDigit) == 0;
}

absl::Status ComputeDecode(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
  const absl::Span<const TString> from = input.flat<TString>();
  const absl::Span<TString> to = output->flat<TString>();
  const double unit_ns = StringNs(input.num_elements(), TotalBytes(input), 1);
  return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (from[i].size() % 4 != 1 && Decode(from[i].view(), &to[i])) continue;
      return ValueError(0, "input", PrintableName(from[i].view()), "Base64 in the digits A-Z, a-z, 0-9, '-' and '_'");
    }
    return absl::OkStatus();
  });
}

constexpr KernelRow kRows[] = {
    KernelRow("DecodeBase64", &Call<ComputeDecode>),
    KernelRow("EncodeBase64", FromAttr<EncodeBase64Kernel, bool>("pad")),
};

}  // namespace

absl::Span<const KernelRow> Base64Kernels() { return kRows; }

}  // namespace sluice

#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"
#include "kernels/strings/unicode/unicode.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

constexpr double kByteNs = 1.0;

// --- StringLower, StringUpper ------------------------------------------------------------------------------------

// How a case is changed: letters of ASCII, whatever the encoding, or all of UTF-8.
struct CaseChange {
  char first, last;  // The letters of ASCII that change.
  void (*append)(absl::string_view text, std::string* out);
};
constexpr CaseChange kToLower = {'A', 'Z', &AppendLower};
constexpr CaseChange kToUpper = {'a', 'z', &AppendUpper};

void ChangeAscii(const CaseChange& change, const TString& from, TString& to) {
  constexpr char kCaseBit = 0x20;
  if (&from != &to) to.assign(from.view());
  char* const text = to.mutable_data();
  const size_t size = to.size();
  for (size_t i = 0; i < size; ++i) {
    const bool changes = text[i] >= change.first && text[i] <= change.last;
    text[i] = static_cast<char>(text[i] ^ (changes ? kCaseBit : 0));
  }
}

// `kChange`: one of the two.
template <const CaseChange& kChange>
class CaseKernel : public Kernel {
 public:
  explicit CaseKernel(bool is_utf8) : is_utf8_(is_utf8) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string encoding, construction.Get<std::string>("encoding"));
    if (!encoding.empty() && encoding != "utf-8") {
      return AttrError("encoding", encoding, "'utf-8', or nothing for bytes");
    }
    return std::make_unique<CaseKernel>(!encoding.empty());
  }

  absl::Status Compute(KernelContext& context) const override {
    return ChangeStrings(context, is_utf8_ ? 4 * kByteNs : kByteNs, [this](const TString& from, TString& to) {
      if (!is_utf8_) return ChangeAscii(kChange, from, to);
      std::string changed;
      changed.reserve(from.size());
      // As in TensorFlow, where the text ends at the first zero byte.
      kChange.append(from.view().substr(0, from.view().find('\0')), &changed);
      to.assign(changed);
    });
  }

 private:
  const bool is_utf8_;
};

// --- StringStrip -------------------------------------------------------------------------------------------------

absl::Status ComputeStrip(KernelContext& context) {
  return ChangeStrings(context, kByteNs, [](const TString& from, TString& to) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(from.view());
    if (&from != &to || stripped.size() != from.size()) to.assign(stripped);
  });
}

// --- StringLength ------------------------------------------------------------------------------------------------

// Counts bytes or characters.
class StringLengthKernel : public Kernel {
 public:
  explicit StringLengthKernel(const std::string& unit) : counts_bytes_(unit != "UTF8_CHAR") {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const absl::Span<const TString> strings = input.flat<TString>();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
    const absl::Span<int32_t> lengths = output->flat<int32_t>();
    const double unit_ns = counts_bytes_ ? 2 : StringNs(input.num_elements(), TotalBytes(input), kByteNs);
    return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) {
      for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        lengths[i] = counts_bytes_ ? static_cast<int32_t>(strings[i].size()) : CountRunes(strings[i].view());
      }
      return absl::OkStatus();
    });
  }

 private:
  static int32_t CountRunes(absl::string_view text) {
    int32_t count = 0;
    for (const char byte : text) count += IsTrailByte(byte) ? 0 : 1;
    return count;
  }

  const bool counts_bytes_;
};

constexpr KernelRow kRows[] = {
    KernelRow("StringLength", FromAttr<StringLengthKernel, std::string>("unit")),
    KernelRow("StringLower", &New<CaseKernel<kToLower>>),
    KernelRow("StringStrip", &Call<ComputeStrip>),
    KernelRow("StringUpper", &New<CaseKernel<kToUpper>>),
};

}  // namespace

absl::Span<const KernelRow> StringChangeKernels() { return kRows; }

}  // namespace sluice

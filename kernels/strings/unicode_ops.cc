#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"
#include "kernels/strings/unicode/text_encoding.h"
#include "kernels/strings/unicode/unicode.h"

namespace sluice {
namespace {

constexpr double kByteNs = 4;

// How malformed text, and control characters if these count as malformed, are treated.
struct OnBadText {
  enum class Way : uint8_t { kReplace, kIgnore, kFail };
  Way way = Way::kReplace;
  uint32_t replacement = kReplacementRune;
  bool replaces_controls = false;

  bool IsBad(const DecodedRune& rune) const { return !rune.is_valid || (replaces_controls && rune.rune <= 0x1F); }
};

absl::StatusOr<OnBadText> ReadOnBadText(const KernelConstruction& construction) {
  OnBadText on_bad;
  SLUICE_ASSIGN_OR_RETURN(const std::string errors, construction.Get<std::string>("errors"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t replacement, construction.GetOr<int64_t>("replacement_char", kReplacementRune));
  SLUICE_ASSIGN_OR_RETURN(on_bad.replaces_controls, construction.GetOr<bool>("replace_control_characters", false));
  if (errors == "ignore") on_bad.way = OnBadText::Way::kIgnore;
  if (errors == "strict") on_bad.way = OnBadText::Way::kFail;
  if (replacement < 0 || replacement > kMaxRune) {
    return AttrError("replacement_char", replacement, absl::StrCat("a code point, 0 to ", kMaxRune));
  }
  on_bad.replacement = static_cast<uint32_t>(replacement);
  return on_bad;
}

absl::StatusOr<TextEncoding> ReadEncoding(const KernelConstruction& construction, absl::string_view attr) {
  SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>(attr));
  TextEncoding encoding = TextEncoding::kUtf8;
  if (FindTextEncoding(name, &encoding)) return encoding;
  return AttrError(attr, PrintableName(name),
                   "UTF-8, UTF-16, UTF-16BE, UTF-16LE, UTF-32, UTF-32BE, UTF-32LE, US-ASCII or ISO-8859-1");
}

absl::Status BadTextError(int64_t i) {
  return ValueError(0, "input", absl::StrCat("malformed text as element ", i),
                    "text in the encoding that the node states, as attr errors is 'strict'");
}

// --- UnicodeDecode, UnicodeDecodeWithOffsets ---------------------------------------------------------------------

// Numbers of a kernel's own, written to outputs at the end.
struct Decoded {
  std::vector<int64_t> splits = {0};
  std::vector<int32_t> runes;
  std::vector<int64_t> offsets;
};

// Turns texts into code points, perhaps with the bytes where they begin.
class UnicodeDecodeKernel : public Kernel {
 public:
  UnicodeDecodeKernel(TextEncoding encoding, const OnBadText& on_bad, bool has_offsets)
      : encoding_(encoding), on_bad_(on_bad), has_offsets_(has_offsets) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const TextEncoding encoding, ReadEncoding(construction, "input_encoding"));
    SLUICE_ASSIGN_OR_RETURN(const OnBadText on_bad, ReadOnBadText(construction));
    return std::make_unique<UnicodeDecodeKernel>(encoding, on_bad, construction.num_outputs() == 3);
  }

  absl::Status Compute(KernelContext& context) const override {
    Decoded decoded;
    SLUICE_RETURN_IF_ERROR(Decode(context.input(0), &decoded));
    const int64_t count = static_cast<int64_t>(decoded.runes.size());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const splits,
                            context.AllocateOutput(0, Shape::Of({static_cast<int64_t>(decoded.splits.size())})));
    if (splits->dtype() == DType::kInt32) {
      if (count > std::numeric_limits<int32_t>::max()) {
        return ValueError(absl::StrCat(count, " characters"), "as many as int32 counts");
      }
      std::copy(decoded.splits.begin(), decoded.splits.end(), splits->flat<int32_t>().begin());
    } else {
      std::copy(decoded.splits.begin(), decoded.splits.end(), splits->flat<int64_t>().begin());
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const runes, context.AllocateOutput(1, Shape::Of({count})));
    std::copy(decoded.runes.begin(), decoded.runes.end(), runes->flat<int32_t>().begin());
    if (!has_offsets_) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const offsets, context.AllocateOutput(2, Shape::Of({count})));
    std::copy(decoded.offsets.begin(), decoded.offsets.end(), offsets->flat<int64_t>().begin());
    return absl::OkStatus();
  }

 private:
  absl::Status Decode(const Tensor& input, Decoded* decoded) const {
    const absl::Span<const TString> texts = input.flat<TString>();
    for (size_t i = 0; i < texts.size(); ++i) {
      RuneReader reader(encoding_, texts[i].view());
      DecodedRune next;
      for (int64_t offset = 0; reader.Next(&next); offset += next.size) {
        if (!next.is_valid && on_bad_.way == OnBadText::Way::kFail) return BadTextError(static_cast<int64_t>(i));
        const bool is_bad = on_bad_.IsBad(next);
        if (is_bad && on_bad_.way == OnBadText::Way::kIgnore) continue;
        decoded->runes.push_back(static_cast<int32_t>(is_bad ? on_bad_.replacement : next.rune));
        if (has_offsets_) decoded->offsets.push_back(offset);
      }
      decoded->splits.push_back(static_cast<int64_t>(decoded->runes.size()));
    }
    return absl::OkStatus();
  }

  const TextEncoding encoding_;
  const OnBadText on_bad_;
  const bool has_offsets_;
};

// --- UnicodeTranscode --------------------------------------------------------------------------------------------

// Writes texts in another encoding.
class UnicodeTranscodeKernel : public Kernel {
 public:
  UnicodeTranscodeKernel(TextEncoding from, TextEncoding to, const OnBadText& on_bad)
      : from_(from), to_(to), on_bad_(on_bad) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const TextEncoding from, ReadEncoding(construction, "input_encoding"));
    SLUICE_ASSIGN_OR_RETURN(const TextEncoding to, ReadEncoding(construction, "output_encoding"));
    SLUICE_ASSIGN_OR_RETURN(const OnBadText on_bad, ReadOnBadText(construction));
    return std::make_unique<UnicodeTranscodeKernel>(from, to, on_bad);
  }

  absl::Status Compute(KernelContext& context) const override {
    const int64_t count = context.input(0).num_elements();
    const int64_t bytes = TotalBytes(context.input(0));
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, 4 * bytes));  // No code point becomes longer than that.
    const absl::Span<const TString> from = context.input(0).flat<TString>();
    const Shape shape = context.input(0).shape();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
    const absl::Span<TString> to = output->flat<TString>();
    return ForStrings(context, count, StringNs(count, bytes, kByteNs), [&](int64_t begin, int64_t end) -> absl::Status {
      std::string text;
      for (int64_t i = begin; i < end; ++i) {
        if (!Transcode(from[static_cast<size_t>(i)].view(), &text)) return BadTextError(i);
        to[static_cast<size_t>(i)].assign(text);
      }
      return absl::OkStatus();
    });
  }

 private:
  bool Transcode(absl::string_view from, std::string* to) const {
    to->clear();
    RuneReader reader(from_, from);
    DecodedRune next;
    while (reader.Next(&next)) {
      const bool is_bad = on_bad_.IsBad(next);
      if (is_bad && on_bad_.way == OnBadText::Way::kFail) return false;
      if (is_bad && on_bad_.way == OnBadText::Way::kIgnore) continue;
      AppendRune(to_, is_bad ? on_bad_.replacement : next.rune, to);
    }
    return true;
  }

  const TextEncoding from_, to_;
  const OnBadText on_bad_;
};

// --- UnicodeEncode -----------------------------------------------------------------------------------------------

// Whether text may hold `rune`: a code point, no surrogate, none of those that never become characters.
bool IsCharacter(int64_t rune) {
  if (rune < 0 || rune > kMaxRune || (rune >= 0xD800 && rune < 0xE000)) return false;
  return !(rune >= 0xFDD0 && (rune <= 0xFDEF || (rune & 0xFFFE) == 0xFFFE));
}

absl::Status CheckSplits(const KernelContext& context) {
  const Tensor& splits = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 1, "input_splits"));
  const int64_t size = context.input(0).num_elements();
  int64_t before = 0;
  for (int64_t i = 0; i < splits.num_elements(); ++i) {
    const int64_t split = IndexAt(splits, i);
    if (split >= before && split <= size && (i > 0 || split == 0)) {
      before = split;
      continue;
    }
    return ValueError(1, "input_splits", absl::StrCat(split, " as element ", i),
                      absl::StrCat("numbers from 0 to the ", size, " input_values, ascending"));
  }
  if (splits.num_elements() > 0 && before == size) return absl::OkStatus();
  return ValueError(1, "input_splits",
                    splits.num_elements() == 0 ? "no elements" : absl::StrCat("a last element of ", before),
                    absl::StrCat("numbers that end with ", size, ", as many as there are input_values"));
}

// Turns rows of code points into texts.
class UnicodeEncodeKernel : public Kernel {
 public:
  UnicodeEncodeKernel(TextEncoding encoding, const OnBadText& on_bad) : encoding_(encoding), on_bad_(on_bad) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const TextEncoding encoding, ReadEncoding(construction, "output_encoding"));
    SLUICE_ASSIGN_OR_RETURN(const OnBadText on_bad, ReadOnBadText(construction));
    return std::make_unique<UnicodeEncodeKernel>(encoding, on_bad);
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckSplits(context));
    const Tensor& splits = context.input(1);
    const absl::Span<const int32_t> runes = context.input(0).flat<int32_t>();
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, 4 * static_cast<int64_t>(runes.size())));
    const int64_t rows = splits.num_elements() - 1;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape::Of({rows})));
    const absl::Span<TString> texts = output->flat<TString>();
    const double unit_ns = StringNs(rows, static_cast<int64_t>(runes.size()), kByteNs);
    return ForStrings(context, rows, unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
      std::string text;
      std::vector<uint32_t> written;
      for (int64_t row = begin; row < end; ++row) {
        text.clear();
        written.clear();
        for (int64_t i = IndexAt(splits, row); i < IndexAt(splits, row + 1); ++i) {
          SLUICE_ASSIGN_OR_RETURN(const int64_t rune, RuneOf(runes[static_cast<size_t>(i)], i));
          if (rune >= 0) written.push_back(static_cast<uint32_t>(rune));
        }
        AppendAll(written, &text);
        texts[static_cast<size_t>(row)].assign(text);
      }
      return absl::OkStatus();
    });
  }

 private:
  // The code point that element `i` becomes; -1 for none. Ignored characters are still written as far as possible, as
  // in TensorFlow.
  absl::StatusOr<int64_t> RuneOf(int32_t rune, int64_t i) const {
    if (IsCharacter(rune)) return rune;
    if (on_bad_.way == OnBadText::Way::kFail) {
      return ValueError(0, "input_values", absl::StrCat(rune, " as element ", i),
                        "a code point of Unicode that is a character");
    }
    if (on_bad_.way == OnBadText::Way::kReplace) return on_bad_.replacement;
    return rune >= 0 && rune <= static_cast<int64_t>(kMaxRune) ? rune : -1;
  }
  // Adds `runes`, in which two surrogates next to each other are one code point.
  void AppendAll(absl::Span<const uint32_t> runes, std::string* text) const {
    for (size_t i = 0; i < runes.size(); ++i) {
      uint32_t rune = runes[i];
      const bool is_lead = rune >= 0xD800 && rune < 0xDC00;
      if (is_lead && i + 1 < runes.size() && runes[i + 1] >= 0xDC00 && runes[i + 1] < 0xE000) {
        rune = 0x10000 + ((rune & 0x3FF) << 10 | (runes[++i] & 0x3FF));
      }
      const bool is_surrogate = rune >= 0xD800 && rune < 0xE000;
      AppendRune(encoding_, is_surrogate && encoding_ == TextEncoding::kUtf8 ? kReplacementRune : rune, text);
    }
  }

  const TextEncoding encoding_;
  const OnBadText on_bad_;
};

// --- UnicodeScript -----------------------------------------------------------------------------------------------

absl::Status ComputeScript(KernelContext& context) {
  const absl::Span<const int32_t> runes = context.input(0).flat<int32_t>();
  const int64_t count = context.input(0).num_elements();
  const Shape shape = context.input(0).shape();
  if (shape.IsScalar()) {
    context.SetScalar<int32_t>(0, ScriptNumber(runes[0]));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  const absl::Span<int32_t> scripts = output->flat<int32_t>();
  return ForStrings(context, count, 20, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) scripts[i] = ScriptNumber(runes[i]);
    return absl::OkStatus();
  });
}

constexpr KernelRow kRows[] = {
    KernelRow("UnicodeDecode", &New<UnicodeDecodeKernel>).Types("Tsplits", kIndexTypes),
    KernelRow("UnicodeDecodeWithOffsets", &New<UnicodeDecodeKernel>).Types("Tsplits", kIndexTypes),
    KernelRow("UnicodeEncode", &New<UnicodeEncodeKernel>).Types("Tsplits", kIndexTypes),
    KernelRow("UnicodeScript", &Call<ComputeScript>),
    KernelRow("UnicodeTranscode", &New<UnicodeTranscodeKernel>),
};

}  // namespace

absl::Span<const KernelRow> UnicodeKernels() { return kRows; }

}  // namespace sluice

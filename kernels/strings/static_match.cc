#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/utf8.h"

namespace sluice {
namespace {

// A regular expression of the kind that savers write: plain text, which may be followed by ".*". Everything else is
// for an engine that is not here yet.
struct SimplePattern {
  std::string text;
  bool is_open = false;  // Any characters follow, line feeds apart.

  bool Matches(absl::string_view candidate) const {
    if (!is_open) return candidate == text;
    if (!absl::ConsumePrefix(&candidate, text)) return false;
    return !absl::StrContains(candidate, '\n') && IsUtf8(candidate);  // What a dot stands for.
  }
};

// kOpUnimplemented for patterns of another kind.
absl::StatusOr<SimplePattern> ParsePattern(absl::string_view pattern) {
  SimplePattern parsed;
  absl::string_view rest = pattern;
  absl::ConsumePrefix(&rest, "^");
  bool is_simple = true;
  while (is_simple && !rest.empty() && rest != "$") {
    if (rest == ".*" || rest == ".*$") {
      parsed.is_open = true;
      return parsed;
    }
    if (rest.front() == '\\') {
      rest.remove_prefix(1);
      // Before a letter or a digit it is an order of the pattern's.
      is_simple = !rest.empty() && absl::ascii_ispunct(static_cast<unsigned char>(rest.front()));
    } else {
      is_simple = !absl::StrContains(".*+?()[]{}|^$", rest.substr(0, 1));
    }
    if (!is_simple) break;
    parsed.text.push_back(rest.front());
    rest.remove_prefix(1);
    // A sign that repeats what stands before it.
    is_simple = rest.empty() || !absl::StrContains("*+?{", rest.substr(0, 1));
  }
  if (is_simple) return parsed;
  return Error(ErrorCode::kOpUnimplemented)
      .Attr("pattern")
      .Found(absl::StrCat("'", PrintableName(pattern), "'"))
      .Expected("plain text, and .* behind it: other regular expressions are not matched yet");
}

// Whether each element as a whole matches the pattern.
class StaticRegexFullMatchKernel : public Kernel {
 public:
  explicit StaticRegexFullMatchKernel(SimplePattern pattern) : pattern_(std::move(pattern)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string text, construction.Get<std::string>("pattern"));
    SLUICE_ASSIGN_OR_RETURN(SimplePattern pattern, ParsePattern(text));
    return std::make_unique<StaticRegexFullMatchKernel>(std::move(pattern));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, input.shape()));
    const absl::Span<const TString> texts = input.flat<TString>();
    const absl::Span<bool> answers = out->flat<bool>();
    context.ParallelFor(input.num_elements(), 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        answers[static_cast<size_t>(i)] = pattern_.Matches(texts[static_cast<size_t>(i)].view());
      }
    });
    return absl::OkStatus();
  }

 private:
  const SimplePattern pattern_;
};

constexpr KernelRow kRows[] = {KernelRow("StaticRegexFullMatch", &New<StaticRegexFullMatchKernel>)};

}  // namespace

absl::Span<const KernelRow> StaticMatchKernels() { return kRows; }

}  // namespace sluice

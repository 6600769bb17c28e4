#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/regex.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

constexpr double kMatchByteNs = 4;
constexpr double kReplaceByteNs = 60;

absl::Status MatchAll(KernelContext& context, const Regex& regex) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
  const absl::Span<const TString> texts = input.flat<TString>();
  const absl::Span<bool> matches = output->flat<bool>();
  const double unit_ns = StringNs(input.num_elements(), TotalBytes(input), kMatchByteNs);
  return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      matches[i] = regex.MatchesAll(texts[i].view());
    }
    return absl::OkStatus();
  });
}

// The strings of a part of the output. What they take together counts against kMaxTextBytes as a whole only where one
// thread makes all; it is a limit on accidents.
absl::Status ReplacePart(const Regex& regex, absl::string_view rewrite, bool all, absl::Span<const TString> from,
                         absl::Span<TString> to) {
  RegexReplacer replacer(regex, rewrite, all);
  std::string changed;
  size_t left = static_cast<size_t>(kMaxTextBytes);
  for (size_t i = 0; i < from.size(); ++i) {
    bool is_too_long = false;
    if (replacer.Replace(from[i].view(), left, &changed, &is_too_long)) {
      left -= std::min(left, changed.size());
      to[i].assign(changed);
    } else if (is_too_long) {
      return Error(ErrorCode::kOutOfMemory).Text("the replaced text is too long");
    } else if (&from[i] != &to[i]) {
      to[i].assign(from[i].view());
    }
  }
  return absl::OkStatus();
}

absl::Status ReplaceAll(KernelContext& context, const Regex& regex, absl::string_view rewrite, bool all) {
  const int64_t count = context.input(0).num_elements();
  const double unit_ns = StringNs(count, TotalBytes(context.input(0)), kReplaceByteNs);
  const absl::Span<const TString> from = context.input(0).flat<TString>();
  const Shape shape = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
  const absl::Span<TString> to = output->flat<TString>();
  return ForStrings(context, count, unit_ns, [&](int64_t begin, int64_t end) {
    const size_t first = static_cast<size_t>(begin), size = static_cast<size_t>(end - begin);
    return ReplacePart(regex, rewrite, all, from.subspan(first, size), to.subspan(first, size));
  });
}

// The last pattern of an input, compiled: it is the same one most of the time. Thread-safe.
class LastRegex {
 public:
  // The expression of input `i`, a scalar. What Regex::Make says where it is malformed.
  absl::StatusOr<Regex> Get(const KernelContext& context, int i) const ABSL_LOCKS_EXCLUDED(mu_) {
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, i, "pattern"));
    const absl::string_view pattern = context.input(i).flat<TString>()[0].view();
    {
      MutexLock lock(&mu_);
      if (last_ != nullptr && last_->pattern == pattern) return last_->regex;
    }
    SLUICE_ASSIGN_OR_RETURN(const Regex regex, Regex::Make(pattern));
    auto made = std::make_unique<Compiled>(Compiled{std::string(pattern), regex});
    MutexLock lock(&mu_);
    last_.swap(made);  // What was there is destroyed after the lock is released.
    return regex;
  }

 private:
  struct Compiled {
    std::string pattern;
    Regex regex;
  };

  mutable Mutex mu_;
  mutable std::unique_ptr<Compiled> last_ ABSL_GUARDED_BY(mu_);
};

// The pattern is an input.
class FullMatchKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Regex regex, last_.Get(context, 1));
    return MatchAll(context, regex);
  }

 private:
  const LastRegex last_{};
};

// Pattern and rewrite are inputs.
class ReplaceKernel : public Kernel {
 public:
  explicit ReplaceKernel(bool all) : all_(all) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "pattern"));
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "rewrite"));
    SLUICE_ASSIGN_OR_RETURN(const Regex regex, last_.Get(context, 1));
    return ReplaceAll(context, regex, context.input(2).flat<TString>()[0].view(), all_);
  }

 private:
  const bool all_;
  const LastRegex last_{};
};

// A pattern from an attr is compiled once; one that is wrong fails the node when it runs, as in TensorFlow.
class StaticMatchKernel : public Kernel {
 public:
  explicit StaticMatchKernel(const std::string& pattern) : regex_(Regex::Make(pattern)) {}

  absl::Status Compute(KernelContext& context) const override {
    if (!regex_.ok()) return regex_.status();
    return MatchAll(context, *regex_);
  }

 private:
  const absl::StatusOr<Regex> regex_;
};

// The same with pattern and rewrite from attrs.
class StaticReplaceKernel : public Kernel {
 public:
  StaticReplaceKernel(const std::string& pattern, std::string rewrite, bool all)
      : regex_(Regex::Make(pattern)), rewrite_(std::move(rewrite)), all_(all) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string pattern, construction.Get<std::string>("pattern"));
    SLUICE_ASSIGN_OR_RETURN(std::string rewrite, construction.Get<std::string>("rewrite"));
    SLUICE_ASSIGN_OR_RETURN(const bool all, construction.Get<bool>("replace_global"));
    return std::make_unique<StaticReplaceKernel>(pattern, std::move(rewrite), all);
  }

  absl::Status Compute(KernelContext& context) const override {
    if (!regex_.ok()) return regex_.status();
    return ReplaceAll(context, *regex_, rewrite_, all_);
  }

 private:
  const absl::StatusOr<Regex> regex_;
  const std::string rewrite_;
  const bool all_;
};

constexpr KernelRow kRows[] = {
    KernelRow("RegexFullMatch", &New<FullMatchKernel>),
    KernelRow("RegexReplace", FromAttr<ReplaceKernel, bool>("replace_global")),
    KernelRow("StaticRegexFullMatch", FromAttr<StaticMatchKernel, std::string>("pattern")),
    KernelRow("StaticRegexReplace", &New<StaticReplaceKernel>),
};

}  // namespace

absl::Span<const KernelRow> RegexKernels() { return kRows; }

}  // namespace sluice

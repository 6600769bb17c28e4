#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/control/families.h"
#include "kernels/control/print_sink.h"
#include "kernels/control/summarize.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/saved_state.h"
#include "kernels/step/file_access.h"

namespace sluice {
namespace {

// Fails with its data unless the condition holds.
class AssertKernel : public Kernel {
 public:
  explicit AssertKernel(int64_t summarize) : summarize_(summarize) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& condition = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "condition"));
    if (condition.flat<bool>()[0]) return absl::OkStatus();
    std::string text = "assertion failed:";
    for (int i = 1; i < context.num_inputs(); ++i) {
      absl::StrAppend(&text, " [", SummarizeElements(context.input(i), summarize_), "]");
    }
    return Error(ErrorCode::kAssertFailed).Text(text);
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const int64_t summarize_;
};

// Hands its first input on and prints the others, the first `first_n` times.
class PrintKernel : public Kernel, public SavedState {
 public:
  PrintKernel(std::string message, int64_t first_n, int64_t summarize)
      : message_(std::move(message)), first_n_(first_n), summarize_(summarize) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(std::string message, construction.Get<std::string>("message"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t first_n, construction.Get<int64_t>("first_n"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t summarize, construction.Get<int64_t>("summarize"));
    return std::make_unique<PrintKernel>(std::move(message), first_n, summarize);
  }

  absl::Status Compute(KernelContext& context) const override {
    if (first_n_ < 0 || calls_.fetch_add(1, std::memory_order_relaxed) < first_n_) Print(context);
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

  Tensor SaveState() const override { return Tensor::Scalar(calls_.load(std::memory_order_relaxed)); }
  bool RestoreState(const Tensor& saved) const override {
    const absl::StatusOr<int64_t> calls = saved.AsScalar<int64_t>();
    if (!calls.ok() || *calls < 0) return false;
    calls_.store(*calls, std::memory_order_relaxed);
    return true;
  }

 private:
  void Print(const KernelContext& context) const {
    std::string text = message_;
    for (int i = 1; i < context.num_inputs(); ++i) {
      absl::StrAppend(&text, "[", SummarizeElements(context.input(i), summarize_), "]");
    }
    text.push_back('\n');
    PrintText(PrintStream::kStderr, text);
  }

  const std::string message_;
  const int64_t first_n_, summarize_;
  mutable std::atomic<int64_t> calls_{0};  // Relaxed is enough: only the number counts.
};

std::optional<PrintStream> StreamOf(absl::string_view name) {
  if (name == "stdout") return PrintStream::kStdout;
  if (name == "stderr") return PrintStream::kStderr;
  if (name == "log(info)") return PrintStream::kLogInfo;
  if (name == "log(warning)") return PrintStream::kLogWarning;
  if (name == "log(error)") return PrintStream::kLogError;
  return std::nullopt;
}

// Prints a text to one of the streams, or appends it to a file.
class PrintV2Kernel : public Kernel {
 public:
  PrintV2Kernel(std::optional<PrintStream> stream, std::string file, std::string end)
      : stream_(stream), file_(std::move(file)), end_(std::move(end)) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("output_stream"));
    SLUICE_ASSIGN_OR_RETURN(std::string end, construction.Get<std::string>("end"));
    const std::optional<PrintStream> stream = StreamOf(name);
    absl::string_view file = name;
    if (!stream.has_value() && !absl::ConsumePrefix(&file, "file://")) {
      return AttrError("output_stream", name, "stdout, stderr, log(info), log(warning), log(error) or file://...");
    }
    return std::make_unique<PrintV2Kernel>(stream, std::string(file), std::move(end));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "input"));
    const std::string text = absl::StrCat(input.flat<TString>()[0].view(), end_);
    if (!stream_.has_value()) {
      SLUICE_RETURN_IF_ERROR(CheckFileWrite(context.run().session_state, file_));
      return Append(text);
    }
    PrintText(*stream_, text);
    return absl::OkStatus();
  }

 private:
  absl::Status Append(const std::string& text) const {
    std::FILE* const file = std::fopen(file_.c_str(), "a");
    const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (written && closed) return absl::OkStatus();
    return Error(ErrorCode::kOpPrecondition).Found(file_).Text("cannot append to this file");
  }

  const std::optional<PrintStream> stream_;
  const std::string file_;  // The file that is appended to; used without a stream.
  const std::string end_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Assert", FromAttr<AssertKernel, int64_t>("summarize")).Shared(Sharing::kEqualNodes),
    KernelRow("Print", &New<PrintKernel>),
    KernelRow("PrintV2", &New<PrintV2Kernel>).Shared(Sharing::kEqualNodes),
};

}  // namespace

absl::Span<const KernelRow> AssertPrintKernels() { return kRows; }

}  // namespace sluice

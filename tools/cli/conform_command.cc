#include "tools/cli/conform_command.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/mutex.h"
#include "graph/functions/call_choice.h"
#include "tools/cli/conform/case_copy.h"
#include "tools/cli/conform/conform_case.h"
#include "tools/cli/conform/conform_report.h"
#include "tools/cli/conform/conform_runner.h"
#include "tools/cli/console/json_document.h"
#include "tools/cli/output_file.h"
#include "tools/cli/plugin_option.h"
#include "tools/cli/run/functions_option.h"

namespace sluice {
namespace {

// `sluice conform`: runs cases on `--jobs` threads and reports in their order. Lives for one run.
class ConformCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("DIR", paths_, "case folders, or folders above them")->required()->option_text("...");
    app.add_option("--needs", needs_, "only cases that need nothing but these (see the cases' README)")
        ->delimiter(',')
        ->option_text("NAME,...")
        ->group("Selection");
    plugins_.Declare(app, "Selection");
    app.add_option("--jobs", jobs_, "cases at a time")->check(CLI::Range(1, 256))->option_text("N [1]");
    DeclareFunctions(app, &calls_);
    app.add_option("--json", json_, "write all results to this file, - for standard output")
        ->option_text("FILE")
        ->group("Output");
  }

  int Run(Console& console) override {
    absl::Status begun = CheckOutputFile(json_);
    if (begun.ok()) begun = plugins_.Load();
    if (!begun.ok()) {
      console.Problem(begun);
      return kExitFailed;
    }
    std::vector<ConformCase> cases;
    if (!ReadCases(console, &cases)) return kExitFailed;
    const std::vector<CaseResult> results = RunAll(console, cases);
    ConformReport report;
    for (const CaseResult& result : results) report.Add(result);
    if (json_ != "-") WriteText(console, results, report);
    if (!json_.empty() && !WriteJson(console, report)) return kExitFailed;
    return report.passed() == report.cases() ? kExitOk : kExitFailed;
  }

 private:
  bool ReadCases(Console& console, std::vector<ConformCase>* cases) const {
    for (const std::string& path : paths_) {
      const absl::StatusOr<std::vector<std::string>> folders = FindCaseFolders(path);
      if (!folders.ok()) return console.Problem(folders.status()), false;
      for (const std::string& folder : *folders) {
        absl::StatusOr<ConformCase> test = ReadConformCase(folder);
        if (!test.ok()) return console.Problem(test.status()), false;
        if (IsWanted(*test)) cases->push_back(*std::move(test));
      }
    }
    return true;
  }

  bool IsWanted(const ConformCase& test) const {
    if (needs_.empty()) return true;
    return std::all_of(test.needs.begin(), test.needs.end(), [this](const std::string& need) {
      return std::find(needs_.begin(), needs_.end(), need) != needs_.end();
    });
  }

  // Results in the order of the cases.
  std::vector<CaseResult> RunAll(Console& console, const std::vector<ConformCase>& cases) const {
    std::vector<CaseResult> results(cases.size());
    std::atomic<size_t> next{0};  // Relaxed: only hands out numbers.
    Mutex console_mu;
    const auto work = [&] {
      for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < cases.size();
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        if (!WorksInItsFolder(cases[i])) results[i] = RunOne(cases[i]);
        if (i % 16 != 0) continue;
        MutexLock lock(&console_mu);
        console.Progress(absl::StrCat(i, " of ", cases.size(), " cases"));
      }
    };
    std::vector<std::thread> threads;
    for (int job = 1; job < jobs_; ++job) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < cases.size(); ++i) {
      if (WorksInItsFolder(cases[i])) results[i] = RunInCopy(console, cases[i]);
    }
    return results;
  }

  CaseResult RunOne(const ConformCase& test) const {
    return RunConformCase(test, plugins_.kernels(), plugins_.added_ops(), calls_);
  }

  // Runs a case with file names relative to its folder: the process works in a copy meanwhile.
  CaseResult RunInCopy(Console& console, const ConformCase& test) const {
    const absl::StatusOr<std::unique_ptr<CaseCopy>> copy = CaseCopy::Make(test);
    if (copy.ok()) return RunOne((*copy)->test());
    console.Problem(copy.status());
    return RunOne(test);
  }

  static void WriteText(Console& console, const std::vector<CaseResult>& results, const ConformReport& report) {
    for (const CaseResult& result : results) {
      for (const StepResult& step : result.steps) {
        if (step.passed) continue;
        console.Write(
            absl::StrCat(result.name, " step ", step.step, ": ", console.out().Red("FAILED"), " ", step.why, "\n"));
      }
    }
    for (const std::string& line : report.Summary()) console.Write(line + "\n");
    console.Write(report.ClosingLine() + "\n");
  }

  bool WriteJson(Console& console, const ConformReport& report) const {
    const std::string text = JsonDocument(report.ToJson());
    if (json_ == "-") {
      console.Write(text);
      return true;
    }
    const absl::Status written = WriteFile(json_, text);
    if (!written.ok()) console.Problem(written);
    return written.ok();
  }

  std::vector<std::string> paths_;
  std::vector<std::string> needs_;
  PluginOption plugins_;
  int jobs_ = 1;
  CallPolicy calls_ = CallPolicy::kByCost;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeConformCommand() { return std::make_unique<ConformCommand>(); }

}  // namespace sluice

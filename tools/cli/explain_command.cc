#include "tools/cli/explain_command.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/base/error_code.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"

namespace sluice {
namespace {

constexpr size_t kTextWidth = 96;

std::string CodeText(const ErrorCodeRow& row) { return absl::StrFormat("SLC%04d", static_cast<int>(row.code)); }

std::string CanonicalText(const ErrorCodeRow& row) { return absl::StatusCodeToString(row.canonical); }

// `text` in lines of at most kTextWidth characters after `indent` blanks; the first line without them.
std::string Wrapped(absl::string_view text, size_t indent) {
  std::string out, line;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!line.empty() && line.size() + 1 + word.size() > kTextWidth) {
      absl::StrAppend(&out, line, "\n", std::string(indent, ' '));
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  return out + line;
}

nlohmann::ordered_json JsonOf(const ErrorCodeRow& row) {
  return {{"code", CodeText(row)},           {"canonical", CanonicalText(row)},     {"title", std::string(row.title)},
          {"cause", std::string(row.cause)}, {"example", std::string(row.example)}, {"fix", std::string(row.fix)}};
}

// "SLC2103", "slc2103" and "2103" are all the same code; -1 for anything else.
int32_t ParseCode(absl::string_view text) {
  if (absl::StartsWithIgnoreCase(text, "SLC")) text.remove_prefix(3);
  int32_t code = -1;
  return absl::SimpleAtoi(text, &code) && code >= 0 ? code : -1;
}

// Codes of the same hundred as `code`, else the nearest ones.
std::vector<std::string> NearCodes(int32_t code) {
  std::vector<std::pair<int32_t, const ErrorCodeRow*>> rows;
  for (const ErrorCodeRow& row : AllErrorCodes()) {
    rows.emplace_back(std::abs(static_cast<int32_t>(row.code) - code), &row);
  }
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> near;
  for (size_t i = 0; i < rows.size() && i < 3; ++i) near.push_back(CodeText(*rows[i].second));
  return near;
}

// `sluice explain`: rows of the table of error codes. Lives for one run, on one thread.
class ExplainCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("CODE", code_, "an error code (SLC2103, or 2103); without it all codes are listed")
        ->option_text(" ");
    app.add_flag("--json", json_, "one JSON document")->group("Output");
  }

  int Run(Console& console) override {
    if (code_.empty()) return ListAll(console);
    const int32_t code = ParseCode(code_);
    const ErrorCodeRow* row = FindErrorCode(code);
    if (row == nullptr) {
      const std::string hint =
          code < 0 ? "codes look like SLC2103" : absl::StrCat("near it: ", absl::StrJoin(NearCodes(code), ", "));
      console.Complain(absl::StrCat("sluice explain: there is no code '", code_, "'; ", hint));
      return kExitUsage;
    }
    if (json_) {
      console.Write(JsonDocument(JsonOf(*row)));
      return kExitOk;
    }
    const Paint& paint = console.out();
    console.Write(
        absl::StrCat(paint.Red(CodeText(*row)), " ", CanonicalText(*row), "\n", paint.Bold(row->title), "\n\n"));
    console.Write(absl::StrCat("  cause    ", Wrapped(row->cause, 11), "\n"));
    console.Write(absl::StrCat("  example  ", Wrapped(row->example, 11), "\n"));
    console.Write(absl::StrCat("  fix      ", Wrapped(row->fix, 11), "\n"));
    return kExitOk;
  }

 private:
  int ListAll(Console& console) const {
    if (json_) {
      nlohmann::ordered_json document = nlohmann::ordered_json::array();
      for (const ErrorCodeRow& row : AllErrorCodes()) document.push_back(JsonOf(row));
      console.Write(JsonDocument(document));
      return kExitOk;
    }
    for (const ErrorCodeRow& row : AllErrorCodes()) {
      console.Write(
          absl::StrFormat("%s  %-19s %s\n", console.out().Bold(CodeText(row)), CanonicalText(row), row.title));
    }
    return kExitOk;
  }

  std::string code_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace sluice

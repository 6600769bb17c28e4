// Models whose every text holds escape sequences of terminals: none of them may reach one, by any command.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

// EVIL in it stands for what clears a screen, sets the title of a window, forges a line, and is a control character of
// two bytes, and what is no character and may not stand in XML.
std::string Model(absl::string_view text) {
  constexpr absl::string_view kEvil = "\\033[2J\\033]0;title\\007\\nFORGED\\302\\2332K\\342\\200\\256\\357\\277\\276";
  return absl::StrReplaceAll(text, {{"EVIL", kEvil}});
}

constexpr absl::string_view kMetaGraph = R"(
meta_info_def { tensorflow_version: "2.EVIL" tags: "serve" tags: "EVIL" }
graph_def {
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { unknown_rank: true } } } }
  node { name: "odd" op: "OddEVIL" input: "x" device: "EVIL" attr { key: "aEVIL" value { s: "EVIL" } } }
  node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  library { function { signature { name: "fEVIL" input_arg { name: "aEVIL" type: DT_FLOAT }
                                   output_arg { name: "bEVIL" type: DT_FLOAT } }
                       node_def { name: "nEVIL" op: "OpEVIL" input: "aEVIL" } ret { key: "bEVIL" value: "aEVIL" } }
            gradient { function_name: "fEVIL" gradient_func: "gEVIL" } }
}
collection_def { key: "cEVIL" value { node_list { value: "EVIL" } } }
collection_def { key: "train_op" value { node_list { value: "trainEVIL" } } }
signature_def { key: "sEVIL" value { method_name: "mEVIL" inputs { key: "iEVIL" value { name: "x:0" dtype: DT_FLOAT } }
                                     outputs { key: "oEVIL" value { name: "yEVIL:0" dtype: DT_FLOAT } } } }
asset_file_def { tensor_info { name: "tEVIL" } filename: "EVIL" }
)";

// The same without what keeps it from being run.
constexpr absl::string_view kRunnable = R"(
node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "EVIL" } } } }
node { name: "y" op: "Identity" input: "x" attr { key: "T" value { type: DT_STRING } }
       attr { key: "_noteEVIL" value { s: "EVIL" } } }
library { function { signature { name: "fEVIL" } } }
)";

// No byte of `text` steers a terminal.
void ExpectNoControls(const std::string& text, const std::string& what) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE((byte >= 0x20 && byte != 0x7f) || c == '\n') << what << " holds byte " << int{byte};
  }
  EXPECT_FALSE(absl::StrContains(text, "\xc2\x9b")) << what;
  EXPECT_FALSE(absl::StrContains(text, "\xe2\x80\xae")) << what;
  EXPECT_FALSE(absl::StrContains(text, "\xef\xbf\xbe")) << what;
}

// The file cannot add lines to the output, either.
void ExpectHarmless(const std::string& text, const std::string& what) {
  ExpectNoControls(text, what);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_FALSE(absl::StartsWith(line, "FORGED")) << what << " has a line that the file made";
  }
}

void RunAll(const std::string& bytes) {
  const std::string svg = TestFile("evil.svg"), html = TestFile("evil.html"), out = TestFile("evil.pbtxt");
  const std::vector<std::vector<std::string>> commands = {
      {"show", "-", "--svg", svg, "--html", html},
      {"show", "-", "--json"},
      {"show", "-", "--all"},
      {"check", "-"},
      {"check", "-", "--all"},
      {"check", "-", "--json"},
      {"run", "-", "--fetch", "y", "--stats"},
      {"run", "-", "--fetch", "y", "--json"},
      {"run", "-", "--fetch", "nothing"},
      {"run", "-", "--signature", "none"},
      {"run", "-"},
      {"bench", "-", "--fetch", "y", "--runs", "2"},
      {"bench", "-", "--fetch", "y", "--runs", "2", "--json"},
      {"convert", "-", out},
      {"convert", "-", "-", "--text"},
      {"convert", "-", out, "--json"},
      {"grad", "-", "--y", "y", "--x", "x", "-o", TestFile("evil.pb")},
      {"grad", "-", "--y", "nothing", "--x", "x", "-o", TestFile("evil.pb"), "--json"},
  };
  for (const std::vector<std::string>& command : commands) {
    const RunResult run = RunSluice(command, bytes);
    const std::string what = absl::StrJoin(command, " ");
    EXPECT_LE(run.status, 2) << what;
    ExpectHarmless(run.out, what);
    ExpectHarmless(run.err, what + " (standard error)");
    const bool is_json = absl::StrContains(what, "--json");
    if (is_json && !run.out.empty()) {
      EXPECT_TRUE(nlohmann::json::accept(run.out)) << what;
    }
  }
  ExpectNoControls(ReadTestFile(svg), "the SVG drawing");  // Where a line that ends is a blank.
  ExpectNoControls(ReadTestFile(html), "the HTML page");
}

TEST(HostileNamesTest, NoCommandLetsAnEscapeSequenceThrough) { RunAll(Model(kMetaGraph)); }
TEST(HostileNamesTest, NorDoCommandsThatRunTheModel) { RunAll(Model(kRunnable)); }

TEST(HostileNamesTest, TheOpsOfArgumentsAreEscapedToo) {
  const RunResult run = RunSluice({"ops", "Re\x1b[2Jlu"});
  EXPECT_EQ(run.status, 2);
  ExpectHarmless(run.err, "ops");
}

}  // namespace
}  // namespace sluice

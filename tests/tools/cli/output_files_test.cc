// Where a command is to write in the end is looked at before it begins.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"
#include "tests/tools/cli/sample_models.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

using Call = std::vector<std::string>;

// Calls of every command that writes files, each up to the place of the file's name, which comes last; `ending` is what
// the name ends in. The model is not there: a command that began would say so.
struct Writer {
  Call call;
  std::string ending;
};

std::vector<Writer> FileWriters() {
  return {
      {{"run", "nowhere.pb", "--save", "y="}, ".npy"},
      {{"run", "nowhere.pb", "--save", "x=a.npy", "--save", "y="}, ".npz"},
      {{"run", "nowhere.pb", "--trace"}, ".json"},
      {{"show", "nowhere.pb", "--svg"}, ".svg"},
      {{"show", "nowhere.pb", "--html"}, ".html"},
      {{"convert", "nowhere.pb"}, ".pbtxt"},
      {{"grad", "nowhere.pb", "--y", "y", "--x", "x", "-o"}, ".pb"},
      {{"conform", "nowhere", "--json"}, ".json"},
  };
}

RunResult RunInto(const Writer& writer, const std::string& place) {
  Call call = writer.call;
  if (absl::EndsWith(call.back(), "=")) {
    absl::StrAppend(&call.back(), place);
  } else {
    call.push_back(place);
  }
  return RunSluice(call);
}

void ExpectRefused(const RunResult& run, const std::string& path, const std::string& why) {
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  const std::string text = absl::StrCat("SLC1009 FAILED_PRECONDITION: cannot write '", path, "': ", why, "\n");
  EXPECT_TRUE(absl::StartsWith(run.err, text)) << run.err;
}

TEST(OutputFilesTest, ADirectoryThatIsMissingIsSaidFirst) {
  for (const Writer& writer : FileWriters()) {
    const std::string path = TestFile("missing/out") + writer.ending;
    ExpectRefused(RunInto(writer, path), path, absl::StrCat("there is no directory '", TestFile("missing"), "'"));
  }
}

TEST(OutputFilesTest, AFileInThePlaceOfADirectoryIsSaidFirst) {
  const std::string file = MakeTestFile("file", "kept");
  for (const Writer& writer : FileWriters()) {
    const std::string path = file + "/out" + writer.ending;
    ExpectRefused(RunInto(writer, path), path, absl::StrCat("'", file, "' is not a directory"));
  }
  EXPECT_EQ(ReadTestFile(file), "kept");
}

TEST(OutputFilesTest, ADirectoryInThePlaceOfAFileIsSaidFirst) {
  for (const Writer& writer : FileWriters()) {
    const std::string path = TestFile("directory") + writer.ending;
    fs::create_directories(path);
    ExpectRefused(RunInto(writer, path), path, "it is a directory");
  }
}

TEST(OutputFilesTest, AWorkThatFailsLeavesFilesAsTheyWere) {
  for (const Writer& writer : FileWriters()) {
    const std::string path = MakeTestFile("old" + writer.ending, "old"), none = TestFile("none" + writer.ending);
    for (const std::string& place : {path, none}) {
      const RunResult run = RunInto(writer, place);
      EXPECT_EQ(run.status, 1) << run.err;
      EXPECT_FALSE(absl::StrContains(run.err, "SLC1009")) << run.err;
    }
    EXPECT_EQ(ReadTestFile(path), "old");
    EXPECT_FALSE(fs::exists(none));
  }
}

// Only the directory of a checkpoint is made, and those above a training's, too.
TEST(OutputFilesTest, DirectoriesThatCanBeMadeAreNoProblem) {
  const std::string file = MakeTestFile("no_directory", "");
  const Writer checkpoint = {{"run", "nowhere.pb", "--checkpoint"}, ""};
  const Writer train = {{"train", "nowhere.pb", "rows.npz", "--loss", "l", "-o"}, ""};
  const Writer exported = {{"train", "nowhere.pb", "rows.npz", "--loss", "l", "-o", TestFile("run"), "--export"}, ""};
  const std::string one = TestFile("made") + "/model", two = TestFile("made") + "/too/model";
  ExpectRefused(RunInto(checkpoint, two), two, absl::StrCat("there is no directory '", TestFile("made"), "'"));
  EXPECT_TRUE(absl::StrContains(RunInto(checkpoint, one).err, "SLC1001"));
  for (const Writer& writer : {train, exported}) {
    EXPECT_TRUE(absl::StrContains(RunInto(writer, two).err, "SLC1001"));
    ExpectRefused(RunInto(writer, file), file, absl::StrCat("'", file, "' is not a directory"));
    ExpectRefused(RunInto(writer, file + "/x"), file + "/x", absl::StrCat("'", file, "' is not a directory"));
  }
  ExpectRefused(RunInto(checkpoint, file + "/x"), file + "/x", absl::StrCat("'", file, "' is not a directory"));
  EXPECT_FALSE(fs::exists(TestFile("made")));
}

TEST(OutputFilesTest, DevicesAndLinksAreWrittenTo) {
  const std::string target = MakeTestFile("target.pb", "old"), link = TestFile("link.pb");
  fs::create_symlink(target, link);
  for (const char* place : {"/dev/null", "/dev/stdout"}) {
    EXPECT_EQ(RunSluice({"convert", "-", place, "--binary"}, SampleModel()).status, 0) << place;
  }
  EXPECT_EQ(RunSluice({"convert", "-", link}, SampleModel()).status, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_NE(ReadTestFile(target), "old");
}

TEST(OutputFilesTest, WithJsonItIsOneDocument) {
  const RunResult run = RunSluice({"run", "nowhere.pb", "--json", "--trace", TestFile("missing/trace.json")});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(nlohmann::json::parse(run.out)["errors"][0]["code"], "SLC1009") << run.out;
}

}  // namespace
}  // namespace sluice

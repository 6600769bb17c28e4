#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(FormatErrorTest, AllFactsHaveTheirLines) {
  absl::Status status = Error(ErrorCode::kInputSlot)
                            .Node("net/conv", "Conv2D")
                            .Input(1, "net/relu:3")
                            .Found("slot 3")
                            .Expected("a slot below 1")
                            .Help("use 'net/relu:0'");
  status = WithFile(WithFunction(WithPlace(status, 1417, 1849022, 1849310), "body_12"), "detector.pb");
  EXPECT_EQ(FormatError(status),
            "SLC2103 INVALID_ARGUMENT: Conv2D 'net/conv': input 1 'net/relu:3': found slot 3, expected a slot below 1\n"
            "  at    'detector.pb', node 1,417, bytes 1,849,022-1,849,310\n"
            "  in    function 'body_12'\n"
            "  input 1 'net/relu:3'   found slot 3\n"
            "  rule  expected a slot below 1\n"
            "  help  use 'net/relu:0'\n"
            "  see   sluice explain SLC2103");
}

TEST(FormatErrorTest, AttrsAndTextPlaces) {
  absl::Status status =
      Error(ErrorCode::kAttrKind).Node("out", "Conv2D").Attr("strides").Found("list(float)").Expected("list(int)");
  EXPECT_EQ(FormatError(WithLine(WithFile(status, "a.pbtxt"), 8812, 3)),
            "SLC2202 INVALID_ARGUMENT: Conv2D 'out': attr 'strides': found list(float), expected list(int)\n"
            "  at    'a.pbtxt', line 8812, column 3\n"
            "  attr  'strides'   found list(float)\n"
            "  rule  expected list(int)\n"
            "  see   sluice explain SLC2202");
}

TEST(FormatErrorTest, LimitsAreNamedWithTheirValue) {
  const absl::Status status = Error(ErrorCode::kLimitFileSize)
                                  .Found("3221225472 bytes")
                                  .Expected("at most 2147483647")
                                  .Limit("max_file_bytes", 2147483647)
                                  .Help("keep the weights in a checkpoint");
  EXPECT_EQ(FormatError(status),
            "SLC7001 RESOURCE_EXHAUSTED: found 3221225472 bytes, expected at most 2147483647\n"
            "  rule  expected at most 2147483647\n"
            "  limit max_file_bytes = 2,147,483,647\n"
            "  help  keep the weights in a checkpoint\n"
            "  see   sluice explain SLC7001");
}

TEST(FormatErrorTest, OneLineModeGivesTheFirstLineOnly) {
  const absl::Status status = Error(ErrorCode::kCycle).Node("a", "AddV2").Text("cycle a -> b -> a").At(3, 10, 20);
  EXPECT_EQ(FormatError(status, /*one_line=*/true), "SLC3001 INVALID_ARGUMENT: AddV2 'a': cycle a -> b -> a");
}

TEST(FormatErrorTest, ForeignStatusesAreShownAsTheyAre) {
  EXPECT_EQ(FormatError(absl::UnavailableError("line 1\nline 2\x1b")), "UNAVAILABLE: line 1\\nline 2\\x1b");
  EXPECT_EQ(FormatError(absl::OkStatus()), "OK");
}

TEST(FormatErrorTest, ErrorsOfALoadStandBehindEachOtherWithASummary) {
  ErrorCollector errors;
  for (const char* name : {"a", "b"}) errors.Add(Error(ErrorCode::kOpUnknown).Node(name, "Nope").Text("no such op"));
  errors.Add(Error(ErrorCode::kAttrMissing).Node("c", "Relu").Attr("T"));
  const absl::Status status = errors.Finish();
  EXPECT_EQ(FormatError(status),
            "SLC2003 NOT_FOUND: Nope 'a': no such op\n  see   sluice explain SLC2003\n"
            "SLC2003 NOT_FOUND: Nope 'b': no such op\n  see   sluice explain SLC2003\n"
            "SLC2201 NOT_FOUND: Relu 'c': attr 'T': A required attr is missing, so the node's types are unknown\n"
            "  attr  'T'\n  see   sluice explain SLC2201\n"
            "3 errors: 2 SLC2003, 1 SLC2201");
  EXPECT_EQ(FormatError(status, true), "SLC2003 NOT_FOUND: Nope 'a': no such op (1 of 3 errors)");
}

TEST(FormatErrorTest, ThePlaceIsSaidOnceAndOneLineModeKeepsIt) {
  const absl::Status in_text = WithLine(Error(ErrorCode::kFileText).Text("a brace is missing"), 1905, 9);
  EXPECT_EQ(FormatError(in_text),
            "SLC1006 INVALID_ARGUMENT: a brace is missing\n"
            "  at    line 1905, column 9\n"
            "  see   sluice explain SLC1006");
  EXPECT_EQ(FormatError(in_text, /*one_line=*/true),
            "SLC1006 INVALID_ARGUMENT: a brace is missing at line 1905, column 9");
  EXPECT_EQ(FormatError(Error(ErrorCode::kFileWire).AtByte(1234).Text("not protobuf")),
            "SLC1004 INVALID_ARGUMENT: not protobuf\n"
            "  at    byte 1,234\n"
            "  see   sluice explain SLC1004");
}

// `count` errors of one cause, of nodes n0, n1, ... of two ops in turn, at lines 48, 49, ...
absl::Status ManyErrors(int count) {
  ErrorCollector errors(1000);
  for (int i = 0; i < count; ++i) {
    const absl::Status error = Error(ErrorCode::kOpInternal)
                                   .Node(absl::StrCat("n", i), i % 2 == 0 ? "_Arg" : "_Retval")
                                   .Text("may not be here");
    errors.Add(WithFile(WithLine(WithPlace(error, i, -1, -1), 48 + i, 3), "dump.pbtxt"));
  }
  return errors.Finish();
}

TEST(FormatErrorTest, ErrorsOfOneCauseAreOneGroup) {
  EXPECT_EQ(FormatError(ManyErrors(437)),
            "SLC2005 INVALID_ARGUMENT: 437 x _Arg/_Retval: may not be here\n"
            "  at    'dump.pbtxt', node 0, line 48, column 3: 'n0'\n"
            "  also  'n1' line 49, 'n2' line 50, 'n3' line 51, 'n4' line 52, 'n5' line 53 and 431 more\n"
            "  see   sluice explain SLC2005\n"
            "437 errors: 437 SLC2005");
}

TEST(GroupErrorsTest, TwoOfAKindStayApartAndOpsAreDifferentCauses) {
  EXPECT_EQ(GroupErrors(AllErrors(ManyErrors(2))).size(), 2u);
  std::vector<absl::Status> errors;
  for (const char* op : {"Foo", "Bar", "Foo", "Bar", "Foo", "Bar"}) {
    errors.push_back(Error(ErrorCode::kOpUnknown).Node("n", op).Text("is not known"));
  }
  errors.push_back(absl::UnknownError("from elsewhere"));
  const std::vector<ErrorGroup> groups = GroupErrors(errors);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].count, 3);
  EXPECT_EQ(groups[0].ops, std::vector<std::string>{"Foo"});
  EXPECT_EQ(groups[0].others.size(), 2u);
  EXPECT_EQ(groups[1].ops, std::vector<std::string>{"Bar"});
  EXPECT_EQ(FormatErrorGroup(groups[2]), "UNKNOWN: from elsewhere");
}

}  // namespace
}  // namespace sluice

#include "graph/base/device_name.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

DeviceName Parsed(absl::string_view text) {
  DeviceName name;
  EXPECT_TRUE(ParseDeviceName(text, &name)) << text;
  return name;
}

// The canonical form of `text`, or "malformed".
std::string Canonical(absl::string_view text) {
  DeviceName name;
  return ParseDeviceName(text, &name) ? name.ToString() : "malformed";
}

TEST(DeviceNameTest, AFullNameHasAllItsParts) {
  const DeviceName name = Parsed("/job:worker/replica:1/task:22/device:GPU:3");
  EXPECT_EQ(name.job, "worker");
  EXPECT_EQ(name.replica, 1);
  EXPECT_EQ(name.task, 22);
  EXPECT_EQ(name.type, "GPU");
  EXPECT_EQ(name.id, 3);
  EXPECT_TRUE(name.IsFull());
  EXPECT_EQ(name.ToString(), "/job:worker/replica:1/task:22/device:GPU:3");
}

TEST(DeviceNameTest, TheEmptyNameAndTheSlashStateNothing) {
  EXPECT_EQ(Parsed(""), DeviceName());
  EXPECT_EQ(Parsed("/"), DeviceName());
  EXPECT_EQ(Canonical("/"), "");
}

TEST(DeviceNameTest, ShortFormsNameTheUpperCaseType) {
  for (absl::string_view text : {"/cpu:0", "/CPU:0", "/cpu:00"}) EXPECT_EQ(Canonical(text), "/device:CPU:0") << text;
  for (absl::string_view text : {"/gpu:*", "/GPU:*"}) EXPECT_EQ(Canonical(text), "/device:GPU:*") << text;
}

TEST(DeviceNameTest, TheLongFormKeepsItsCase) {
  EXPECT_EQ(Canonical("/device:cpu:0"), "/device:cpu:0");
  EXPECT_FALSE(MatchesDevice(Parsed("/device:cpu:0"), Parsed("/device:CPU:0")));
}

TEST(DeviceNameTest, StarsAndMissingPartsStateNothing) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"/device:CPU", "/device:CPU:*"},
                                                                 {"/device:CPU:*", "/device:CPU:*"},
                                                                 {"/device:*", ""},
                                                                 {"/device:*:*", ""},
                                                                 {"/job:*", ""},
                                                                 {"/job:*/cpu:0", "/device:CPU:0"},
                                                                 {"/job:a/task:*", "/job:a"},
                                                                 {"/replica:*/task:1", "/task:1"},
                                                                 {"/device:*:2", "/device:*:2"}};
  for (const auto& [text, canonical] : rows) EXPECT_EQ(Canonical(text), canonical) << text;
}

TEST(DeviceNameTest, PartsComeInAnyOrderAndTheLastOneCounts) {
  EXPECT_EQ(Canonical("/device:CPU:0/task:3/job:a"), "/job:a/task:3/device:CPU:0");
  EXPECT_EQ(Canonical("/cpu:0/gpu:1"), "/device:GPU:1");
  EXPECT_EQ(Canonical("/job:a/job:b"), "/job:b");
  EXPECT_EQ(Canonical("/device:CPU:0/device:CPU:*"), "/device:CPU:*");
}

TEST(DeviceNameTest, MalformedTextsAreRefused) {
  for (absl::string_view text : {"/gpu:banana",
                                 "/job:x/task:-1",
                                 "cpu:0:0",
                                 "CPU:0",
                                 "/cpu",
                                 "/cpu:",
                                 "/Cpu:0",
                                 "/DEVICE:CPU:0",
                                 "//cpu:0",
                                 " /cpu:0",
                                 "/cpu:0 ",
                                 "/cpu:+0",
                                 "/cpu:-1",
                                 "/device:CPU:",
                                 "/device::0",
                                 "/device:CPU:0/",
                                 "/device:CPU:0:0",
                                 "/device:1CPU:0",
                                 "/device:_C:0",
                                 "/device:X-Y:0",
                                 "/tpu:0",
                                 "/job:",
                                 "/job:1a",
                                 "/job:a-b",
                                 "/job:_a",
                                 "/job:a.b",
                                 "/job:a;b",
                                 "/task:",
                                 "/replica:x",
                                 "job:a",
                                 "/job"}) {
    EXPECT_FALSE(IsValidDeviceSpec(text)) << text;
    EXPECT_FALSE(IsValidDeviceSpec(absl::StrCat("/job:a", text, "x:y"))) << text;
  }
}

TEST(DeviceNameTest, NumbersAboveTheRangeOfInt32AreRefused) {
  EXPECT_EQ(Parsed("/cpu:2147483647").id, 2147483647);
  EXPECT_EQ(Parsed("/device:C:00000000000000000000").id, 0);
  EXPECT_FALSE(IsValidDeviceSpec("/cpu:2147483648"));
  EXPECT_FALSE(IsValidDeviceSpec("/task:99999999999999999999999"));
}

TEST(DeviceNameTest, NamesWithControlBytesAreRefused) {
  EXPECT_FALSE(IsValidDeviceSpec(absl::string_view("/cpu:0\0", 7)));
  EXPECT_FALSE(IsValidDeviceSpec("/job:\xff"));
}

TEST(DeviceNameTest, CanonicalTextIsReadBackUnchanged) {
  for (absl::string_view text : {"/job:a/replica:1/task:2/device:GPU:3", "/task:2", "/device:GPU:*", "/device:*:2"}) {
    EXPECT_EQ(Canonical(Canonical(text)), Canonical(text));
  }
}

TEST(DeviceNameTest, APatternMatchesWhatItStates) {
  const DeviceName device = Parsed("/job:a/replica:0/task:1/device:GPU:2");
  for (absl::string_view pattern : {"", "/job:a", "/task:1", "/gpu:*", "/gpu:2", "/job:a/device:GPU:2"}) {
    EXPECT_TRUE(MatchesDevice(Parsed(pattern), device)) << pattern;
  }
  for (absl::string_view pattern : {"/job:b", "/replica:1", "/task:0", "/cpu:*", "/gpu:1", "/job:A"}) {
    EXPECT_FALSE(MatchesDevice(Parsed(pattern), device)) << pattern;
  }
  EXPECT_FALSE(MatchesDevice(Parsed("/job:a"), Parsed("/task:1"))) << "what the name leaves open is not what we want";
}

TEST(DeviceNameTest, NamesAreCompatibleUnlessTheyDisagree) {
  EXPECT_TRUE(AreCompatible(Parsed("/job:a"), Parsed("/gpu:1")));
  EXPECT_TRUE(AreCompatible(Parsed("/job:a/gpu:*"), Parsed("/gpu:1")));
  EXPECT_FALSE(AreCompatible(Parsed("/job:a"), Parsed("/job:b/gpu:1")));
  EXPECT_FALSE(AreCompatible(Parsed("/gpu:0"), Parsed("/gpu:1")));
  EXPECT_FALSE(AreCompatible(Parsed("/gpu:0"), Parsed("/cpu:0")));
}

TEST(DeviceNameTest, MergingUnitesWhatBothState) {
  DeviceName target = Parsed("/job:a/task:1");
  ASSERT_TRUE(MergeDeviceNames(Parsed("/task:1/device:GPU:0"), /*allow_soft=*/false, &target).ok());
  EXPECT_EQ(target.ToString(), "/job:a/task:1/device:GPU:0");
}

TEST(DeviceNameTest, MergingConflictingNamesSaysWhichPartAndChangesNothing) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/job:b", "job"}, {"/replica:1", "replica"}, {"/task:9", "task"}, {"/cpu:0", "type"}, {"/gpu:1", "number"}};
  for (const auto& [other, part] : rows) {
    DeviceName target = Parsed("/job:a/replica:0/task:0/device:GPU:0");
    const absl::Status status = MergeDeviceNames(Parsed(other), /*allow_soft=*/false, &target);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(absl::StrCat("differ in their ", part)), absl::string_view::npos) << status;
    EXPECT_TRUE(target.IsFull());
  }
}

TEST(DeviceNameTest, SoftMergingGivesUpTypeAndNumberButNotTheTask) {
  DeviceName target = Parsed("/job:a/device:GPU:0");
  ASSERT_TRUE(MergeDeviceNames(Parsed("/cpu:0"), /*allow_soft=*/true, &target).ok());
  EXPECT_EQ(target.ToString(), "/job:a");
  target = Parsed("/job:a/device:GPU:0");
  ASSERT_TRUE(MergeDeviceNames(Parsed("/gpu:1"), /*allow_soft=*/true, &target).ok());
  EXPECT_EQ(target.ToString(), "/job:a/device:GPU:*");
  EXPECT_FALSE(MergeDeviceNames(Parsed("/job:b"), /*allow_soft=*/true, &target).ok());
}

TEST(DeviceNameTest, OverridingTakesTheOthersParts) {
  EXPECT_EQ(OverrideDeviceName(Parsed("/job:a/gpu:0"), Parsed("/job:b/task:1")).ToString(),
            "/job:b/task:1/device:GPU:0");
}

TEST(DeviceNameTest, TheTaskPartNamesTheProcess) {
  EXPECT_EQ(TaskName(Parsed("/job:a/replica:1/task:2/device:CPU:0")), "/job:a/replica:1/task:2");
}

}  // namespace
}  // namespace sluice

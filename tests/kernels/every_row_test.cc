// Every row of the kernel registry, with each dtype: random small inputs, empty ones and scalars among them, and some
// large ones. Where the kernel answers, all ways to call it give the same bits; where it refuses, the same error.

#include <set>
#include <string>
#include <vector>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/control/print_sink.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "tests/kernels/row_trial.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int kStripes = 8;
constexpr int kSmallTrials = 300;
constexpr int kLargeTrials = 3;
constexpr int kEnough = 40;      // Small trials with an answer.
constexpr int kPatience = 3000;  // Trials before a kernel that never answers is given up.

// Ops whose kernels need more than inputs: a call, a rendezvous, a function, what other kernels of the step have made,
// a graph of the time before the op was removed, text of a certain form, variants.
const std::set<std::string>& NeedMoreThanInputs() {
  static const std::set<std::string>& ops = *new std::set<std::string>{"Placeholder",
                                                                       "PlaceholderV2",
                                                                       "_Arg",
                                                                       "_DeviceArg",
                                                                       "_Retval",
                                                                       "_DeviceRetval",
                                                                       "_Send",
                                                                       "_HostSend",
                                                                       "_Recv",
                                                                       "_HostRecv",
                                                                       "GetSessionTensor",
                                                                       "DeleteSessionTensor",
                                                                       "StackPush",
                                                                       "StackPushV2",
                                                                       "StackPop",
                                                                       "StackPopV2",
                                                                       "StackClose",
                                                                       "StackCloseV2",
                                                                       "DestroyTemporaryVariable",
                                                                       "TensorArray",
                                                                       "TensorArrayV2",
                                                                       "BatchNormWithGlobalNormalization",
                                                                       "BatchNormWithGlobalNormalizationGrad",
                                                                       "Conv3DBackpropFilter",
                                                                       "Conv3DBackpropInput",
                                                                       "DecodeProtoV2",
                                                                       "DeserializeManySparse",
                                                                       "DeserializeSparse",
                                                                       "EncodeProto",
                                                                       "Fingerprint",
                                                                       "For",
                                                                       "ConsumeMutexLock",
                                                                       "ParseExample",
                                                                       "ParseExampleV2",
                                                                       "ParseSingleExample",
                                                                       "ParseSingleSequenceExample",
                                                                       "ParseTensor",
                                                                       "RaggedTensorFromVariant",
                                                                       "RaggedTensorToVariantGradient",
                                                                       "TakeManySparseFromTensorsMap",
                                                                       "TopK"};
  return ops;
}

// Kernels for lists, optionals and tables, which other kernels make.
bool NeedsMadeByOthers(const std::string& op) {
  static const std::set<std::string>& makers = *new std::set<std::string>{
      "TensorListReserve", "TensorListFromTensor", "TensorListScatter", "TensorListScatterV2",
      "TensorListSplit",   "OptionalNone",         "OptionalFromValue"};
  for (const char* const prefix : {"TensorList", "TensorMap", "Optional", "LookupTable", "InitializeTable"}) {
    if (op.rfind(prefix, 0) == 0) return makers.count(op) == 0;
  }
  return false;
}

bool BeginsWith(const std::string& op, const char* part) { return op.rfind(part, 0) == 0; }

bool NeedsMoreThanInputs(const std::string& op) {
  const bool is_on_array = BeginsWith(op, "TensorArray") && op != "TensorArrayV3";
  // A value that another node has made.
  const bool is_on_queue = BeginsWith(op, "Queue") || (BeginsWith(op, "Barrier") && op != "Barrier");
  const bool is_on_accumulator =
      BeginsWith(op, "Accumulator") || BeginsWith(op, "ResourceAccumulator") || BeginsWith(op, "SparseAccumulator");
  // Numbers of tensors that ascend, and as many tensors: tests/kernels/queues.
  const bool is_on_map = op == "MapStage" || op == "OrderedMapStage";
  return is_on_array || is_on_queue || is_on_accumulator || is_on_map || NeedsMadeByOthers(op) ||
         NeedMoreThanInputs().count(op) > 0;
}

// Ops that wait for what no other node of a trial ever gives them.
bool WaitsForOthers(const std::string& op) {
  for (const char* const prefix : {"MapUnstage", "MapPeek", "OrderedMapUnstage", "OrderedMapPeek"}) {
    if (BeginsWith(op, prefix)) return true;
  }
  return op == "Unstage" || op == "StagePeek" || op == "MutexLock";
}

// Kernels for variants of types that a host has given functions (variant_functions.h); those of trials have none.
bool NeedsFunctionsOfItsType(const CallCase& row_case) {
  return (row_case.op == "AddN" || row_case.op == "ZerosLike") && row_case.inputs[0] == DType::kVariant;
}

// Ops that work on files, which no random text names: tests/kernels/io.
bool WorksOnFiles(const std::string& op) {
  static const std::set<std::string>& ops = *new std::set<std::string>{
      "MatchingFiles", "MergeV2Checkpoints", "ReadFile", "Restore", "RestoreSlice", "RestoreV2", "Save",
      "SaveV2",        "SaveSlices",         "WriteFile"};
  return ops.count(op) > 0;
}

// Ops that answer otherwise each time they are called, and those whose generators come as states or as keys and
// counters, which random inputs hardly ever are: see tests/kernels/random.
bool DrawsFromGenerator(const std::string& op) {
  static const std::set<std::string>& ops = *new std::set<std::string>{"FixedUnigramCandidateSampler",
                                                                       "LearnedUnigramCandidateSampler",
                                                                       "LogUniformCandidateSampler",
                                                                       "Multinomial",
                                                                       "NonDeterministicInts",
                                                                       "ParameterizedTruncatedNormal",
                                                                       "RandomGamma",
                                                                       "RandomPoisson",
                                                                       "RandomPoissonV2",
                                                                       "RandomShuffle",
                                                                       "RandomStandardNormal",
                                                                       "RandomUniform",
                                                                       "RandomUniformInt",
                                                                       "RngReadAndSkip",
                                                                       "RngSkip",
                                                                       "StatefulRandomBinomial",
                                                                       "StatefulStandardNormalV2",
                                                                       "StatefulTruncatedNormal",
                                                                       "StatefulUniform",
                                                                       "StatefulUniformFullInt",
                                                                       "StatefulUniformInt",
                                                                       "StatelessRandomGammaV3",
                                                                       "StatelessRandomNormalV2",
                                                                       "StatelessRandomUniformFullIntV2",
                                                                       "StatelessRandomUniformInt",
                                                                       "StatelessRandomUniformIntV2",
                                                                       "StatelessSampleDistortedBoundingBox",
                                                                       "StatelessRandomUniformV2",
                                                                       "StatelessShuffle",
                                                                       "StatelessTruncatedNormalV2",
                                                                       "ThreadUnsafeUnigramCandidateSampler",
                                                                       "Timestamp",
                                                                       "TruncatedNormal",
                                                                       "UniformCandidateSampler"};
  if (op.rfind("SampleDistortedBoundingBox", 0) == 0) return true;
  return ops.count(op) > 0;
}

class EveryRowTest : public ::testing::TestWithParam<int> {
 protected:
  EveryRowTest() {
    SetPrintSink([](PrintStream, absl::string_view) {});
  }
  ~EveryRowTest() override { SetPrintSink(nullptr); }

  // Runs the trials of one case. Whether the kernel has ever answered.
  bool RunCase(const CallCase& row_case, uint32_t seed) {
    CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", 1);
    const absl::StatusOr<std::unique_ptr<PreparedKernel>> kernel =
        PreparedKernel::Make(row_case.op, row_case.attrs, row_case.inputs, &device);
    if (!kernel.ok()) {
      why_not_ = kernel.status().ToString();
      return false;
    }
    RowTrial trial(row_case, **kernel, seed);
    for (int i = 0; i < kPatience && trial.counts().ok < kEnough; ++i) {
      if (i >= kSmallTrials + kLargeTrials && trial.counts().ok > 0) break;
      const std::string difference = trial.Run(/*is_large=*/i < kLargeTrials);
      EXPECT_EQ(difference, "");
      if (!difference.empty()) break;
    }
    total_.ok += trial.counts().ok;
    total_.failed += trial.counts().failed;
    total_.in_place += trial.counts().in_place;
    total_.in_shards += trial.counts().in_shards;
    return trial.counts().ok > 0;
  }

  TrialCounts total_;
  std::string why_not_;
};

TEST_P(EveryRowTest, AllWaysToCallItAgree) {
  const std::shared_ptr<const OpRegistry> ops = NewOpRegistry();
  int index = 0, cases = 0, cases_ok = 0;
  for (const absl::Span<const KernelRow> table : BuiltinKernels().Tables()) {
    for (const KernelRow& row : table) {
      const std::string op(row.op());
      if (index++ % kStripes != GetParam() || DrawsFromGenerator(op) || WorksOnFiles(op)) continue;
      if (WaitsForOthers(op)) continue;
      const OpSchema* const schema = ops->Find(row.op());
      ASSERT_NE(schema, nullptr) << row.op();
      int row_ok = 0;
      bool needs_more = NeedsMoreThanInputs(std::string(row.op()));
      why_not_.clear();
      for (const CallCase& row_case : CasesOf(row, *schema)) {
        SCOPED_TRACE(row_case.Name());
        const bool has_answered = RunCase(row_case, static_cast<uint32_t>(index));
        ++cases;
        row_ok += has_answered ? 1 : 0;
        needs_more = needs_more || NeedsFunctionsOfItsType(row_case);
      }
      cases_ok += row_ok;
      // One that needs more may answer by luck, which a row that is added elsewhere changes: seeds go by numbers of
      // rows.
      EXPECT_TRUE(row_ok > 0 || needs_more) << row.op() << " " << why_not_;
    }
  }
  RecordProperty("cases", cases);
  RecordProperty("cases_ok", cases_ok);
  RecordProperty("answers", total_.ok);
  RecordProperty("refusals", total_.failed);
  RecordProperty("in_place", total_.in_place);
  RecordProperty("in_shards", total_.in_shards);
  std::printf("%d cases, %d with answers; %d answers, %d refusals, %d in place, %d in shards\n", cases, cases_ok,
              total_.ok, total_.failed, total_.in_place, total_.in_shards);
  // So that the test cannot come to test nothing.
  EXPECT_GT(cases_ok, cases * 2 / 3);
  EXPECT_GT(total_.ok, 20 * cases_ok);
  EXPECT_GT(total_.in_place, 500);
  EXPECT_GT(total_.in_shards, 500);
}

INSTANTIATE_TEST_SUITE_P(Stripes, EveryRowTest, ::testing::Range(0, kStripes));

}  // namespace
}  // namespace sluice

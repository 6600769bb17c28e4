#include "kernels/plugin/load_plugin.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "gtest/gtest.h"
#include "tests/kernels/plugin/plugin_catalogue.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

bool HasOp(const PluginCatalogue& catalogue, const std::string& op) { return catalogue.ops->Find(op) != nullptr; }

// That nothing is registered of a plug-in that describes the op HalfDone, and that the catalogue is as good as new.
void ExpectUntouched(PluginCatalogue& catalogue) {
  EXPECT_FALSE(HasOp(catalogue, "HalfDone"));
  EXPECT_FALSE(catalogue.kernels.HasRows("HalfDone"));
  EXPECT_EQ(PluginOf(*catalogue.ops, "HalfDone"), nullptr);
  EXPECT_OK(catalogue.Load("libaccepted.so"));
  EXPECT_TRUE(HasOp(catalogue, "HalfDone"));
}

TEST(LoadPluginTest, APlugInBringsItsOpsAndKernelsAndSaysWhatItIs) {
  PluginCatalogue catalogue;
  ASSERT_OK_AND_ASSIGN(const PluginInfo info, catalogue.Load("libplain.so"));
  EXPECT_EQ(info.Title(), "plug-in 'plain' (tests/kernels/plugin/libplain.so)");
  EXPECT_EQ(info.version, "0.1");
  EXPECT_EQ(info.ops, std::vector<std::string>{"PlainNegate"});
  EXPECT_EQ(info.num_kernels, 1);
  EXPECT_EQ(PluginOf(*catalogue.ops, "PlainNegate")->Title(), info.Title());
  EXPECT_EQ(PluginOf(*catalogue.ops, "MatMul"), nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor y, catalogue.Run("PlainNegate", {Tensor::Vector<float>({1, -2})}));
  EXPECT_EQ(y.flat<float>()[0], -1);
  EXPECT_EQ(y.flat<float>()[1], 2);
}

TEST(LoadPluginTest, AnotherCatalogueKnowsNothingOfItAndMayLoadItToo) {
  PluginCatalogue first;
  PluginCatalogue second;
  ASSERT_OK(first.Load("libplain.so"));
  EXPECT_FALSE(HasOp(second, "PlainNegate"));
  EXPECT_FALSE(second.kernels.HasRows("PlainNegate"));
  ASSERT_OK(second.Load("libplain.so"));
  EXPECT_OK(second.Run("PlainNegate", {Tensor::Scalar(1.0f)}));
  EXPECT_FALSE(BuiltinKernels().HasRows("PlainNegate"));
}

TEST(LoadPluginTest, LoadedTwiceIntoOneCatalogueItIsRefusedAndTheFirstStays) {
  PluginCatalogue catalogue;
  ASSERT_OK(catalogue.Load("libplain.so"));
  EXPECT_THAT(catalogue.Load("libplain.so"), IsError(ErrorCode::kOpSchema,
                                                     "op 'PlainNegate' is already defined by plug-in 'plain' "
                                                     "(tests/kernels/plugin/libplain.so)"));
  EXPECT_OK(catalogue.Run("PlainNegate", {Tensor::Scalar(1.0f)}));
}

TEST(LoadPluginTest, WhatIsNotAPlugInIsRefusedByName) {
  PluginCatalogue catalogue;
  EXPECT_THAT(catalogue.Load("libnowhere.so"), IsError(ErrorCode::kFileMissing, "libnowhere.so"));
  EXPECT_THAT(LoadPlugin("tests", catalogue.ops, catalogue.kernels), IsError(ErrorCode::kFileRead, "tests"));
  const std::string text = testing::TempDir() + "/plugin.txt";
  std::ofstream(text) << "not a library\n";
  EXPECT_THAT(LoadPlugin(text, catalogue.ops, catalogue.kernels),
              IsError(ErrorCode::kHostKernel, "plugin.txt' cannot be opened as a library: "));
  const std::string empty = testing::TempDir() + "/empty.so";
  { const std::ofstream made(empty); }
  EXPECT_THAT(LoadPlugin(empty, catalogue.ops, catalogue.kernels), IsError(ErrorCode::kHostKernel, "empty.so"));
  EXPECT_THAT(catalogue.Load("libno_symbol.so"),
              IsError(ErrorCode::kHostKernel, "libno_symbol.so' is a library that does not export 'sluice_plugin'"));
  ExpectUntouched(catalogue);
}

TEST(LoadPluginTest, AnotherVersionIsRefusedWithWhatWasWantedAndFound) {
  PluginCatalogue catalogue;
  EXPECT_THAT(catalogue.Load("libother_major.so"),
              IsError(ErrorCode::kHostKernel,
                      "libother_major.so' was built for another version of the interface: found 2.1, expected 1.0 "
                      "to 1.1"));
  EXPECT_THAT(catalogue.Load("libnewer_minor.so"), IsError(ErrorCode::kHostKernel, "found 1.99, expected 1.0 to 1."));
  EXPECT_THAT(catalogue.Load("libother_layout.so"), IsError(ErrorCode::kHostKernel, "lay out structs differently"));
  EXPECT_THAT(catalogue.Load("libother_magic.so"), IsError(ErrorCode::kHostKernel, "is something else"));
  ExpectUntouched(catalogue);
}

TEST(LoadPluginTest, APlugInThatFailsInTheMiddleRegistersNothing) {
  PluginCatalogue catalogue;
  EXPECT_THAT(catalogue.Load("libfails_in_the_middle.so"),
              IsError(ErrorCode::kHostKernel,
                      "plug-in 'refused' (tests/kernels/plugin/libfails_in_the_middle.so) was "
                      "not loaded: the audio server is not there"));
  EXPECT_THAT(catalogue.Load("liboverlooks_an_error.so"),
              IsError(ErrorCode::kOpSchema, "op 'HalfDone' is already defined by this plug-in"));
  EXPECT_THAT(catalogue.Load("libthrows.so"), IsError(ErrorCode::kHostKernel, "no reason"));
  EXPECT_THAT(catalogue.Load("libkernel_twice.so"), IsError(ErrorCode::kHostKernel, "registered twice for CPU"));
  EXPECT_THAT(catalogue.Load("libbad_kernels.so"), IsError(ErrorCode::kHostKernel, "op that does not exist"));
  EXPECT_THAT(catalogue.Load("libkernel_for_a_gpu.so"), IsError(ErrorCode::kHostKernel, "has no streams"));
  EXPECT_THAT(catalogue.Load("libwrong_size.so"), IsError(ErrorCode::kHostKernel, "struct_size is not its size"));
  ExpectUntouched(catalogue);
}

TEST(LoadPluginTest, ANameThatIsTakenIsRefusedWithItsOwner) {
  PluginCatalogue catalogue;
  EXPECT_THAT(catalogue.Load("libtakes_a_known_name.so"),
              IsError(ErrorCode::kOpSchema, "op 'MatMul' is already defined by TensorFlow or Sluice itself"));
  ASSERT_OK(catalogue.Load("libplain.so"));
  EXPECT_THAT(catalogue.Load("libtakes_anothers_name.so"),
              IsError(ErrorCode::kOpSchema, "op 'PlainNegate' is already defined by plug-in 'plain'"));
  ExpectUntouched(catalogue);
}

TEST(LoadPluginTest, AShapeFunctionForANameOfTensorFlowsIsRefusedBeforeAnythingIsRegistered) {
  const auto empty = std::make_shared<OpRegistry>();  // It does not know MatMul, the table of shape functions does.
  KernelRegistry kernels;
  EXPECT_THAT(LoadPlugin(PluginFile("libtakes_a_known_shape_function.so"), empty, kernels),
              IsError(ErrorCode::kOpSchema, "op 'MatMul' cannot have a shape function"));
  EXPECT_EQ(empty->Find("MatMul"), nullptr);
  EXPECT_EQ(empty->Find("HalfDone"), nullptr);
}

TEST(LoadPluginTest, AKernelOfAKnownOpGoesBeforeOursAndConflictsOnlyWithOtherAddedOnes) {
  PluginCatalogue catalogue;
  ASSERT_OK_AND_ASSIGN(const PluginInfo info, catalogue.Load("libkernel_of_known_op.so"));
  EXPECT_TRUE(info.ops.empty());
  EXPECT_EQ(info.num_kernels, 1);
  ASSERT_EQ(catalogue.kernels.HostRowsOf("Neg").size(), 1u);
  EXPECT_EQ(catalogue.kernels.HostRowsOf("Neg")[0]->origin(), info.Title());
  EXPECT_THAT(catalogue.Run("Neg", {Tensor::Scalar(1.0f)}), IsError(ErrorCode::kOutputMissing));  // It does nothing.
  EXPECT_THAT(catalogue.Load("libkernel_of_known_op.so"), IsError(ErrorCode::kHostKernel, "by plug-in 'refused'"));
}

TEST(LoadPluginTest, SessionsThatAreOpenUseItInTheirNextSignature) {
  PluginCatalogue catalogue;
  GraphBuilder b(catalogue.ops);
  b.Op("Neg", "y", {b.Placeholder("x", DType::kFloat)});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, catalogue.Open(std::move(graph)));
  EXPECT_OK(session->Run({{"x", Tensor::Scalar(1.0f)}}, {"y"}, {}));
  ASSERT_OK(catalogue.Load("libplain.so"));
  GraphBuilder more(catalogue.ops);
  more.Op("PlainNegate", "z", {more.Const("one", Tensor::Scalar(1.0f))});
  ASSERT_OK_AND_ASSIGN(const Graph added, more.Build());
  ASSERT_OK(session->Extend(GraphSource::Copy(ExportGraph(added))));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> z, session->Run({}, {"z"}, {}));
  EXPECT_EQ(*z[0].AsScalar<float>(), -1);
}

TEST(LoadPluginTest, ThreadsThatLoadTheSamePlugInGetItOnce) {
  for (int round = 0; round < 20; ++round) {
    PluginCatalogue catalogue;
    std::atomic<int> loaded{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { loaded += catalogue.Load("libplain.so").ok() ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loaded.load(), 1);
    EXPECT_EQ(catalogue.kernels.HostRowsOf("PlainNegate").size(), 1u);
  }
}

TEST(LoadPluginTest, ResultsOutliveTheCatalogue) {
  Tensor y;
  {
    PluginCatalogue catalogue;
    ASSERT_OK(catalogue.Load("libplain.so"));
    ASSERT_OK_AND_ASSIGN(y, catalogue.Run("PlainNegate", {Tensor::Vector<float>(std::vector<float>(100, 1))}));
  }
  EXPECT_EQ(y.flat<float>()[99], -1);
}

}  // namespace
}  // namespace sluice

#ifndef SLUICE_TESTS_CORPUS_CORPUS_ROW_H_
#define SLUICE_TESTS_CORPUS_CORPUS_ROW_H_

// One bad input and what loading it must answer. The rows are named after reliability 1.5: "G05_SlotIsNoNumber".

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/error_code.h"
#include "graph/ir/graph.h"
#include "gtest/gtest.h"

namespace sluice {

// A row; facts that are not set are not asked for. Built in one expression:
//
//   Bad("G05_EmptyInput", graph, ErrorCode::kInputSyntax).AtNode("out", "Relu").AtInput(0)
struct CorpusRow {
  std::string name;
  std::string graph;             // The GraphDef's bytes.
  std::vector<ErrorCode> codes;  // Any of these.
  std::string node, op;
  std::string attr;
  std::string function;
  std::string word;  // Some word that the message must hold.
  int32_t input = -1;
  size_t num_errors = 1;
  bool in_function = false;  // The node lies in a function's body: its place is the body's.
  bool has_offset = false;   // The byte at fault is known.

  CorpusRow& Or(ErrorCode code) { return codes.push_back(code), *this; }
  CorpusRow& AtNode(absl::string_view name, absl::string_view op_name) {
    return node = std::string(name), op = std::string(op_name), *this;
  }
  CorpusRow& AtInput(int32_t index) { return input = index, *this; }
  CorpusRow& AtAttr(absl::string_view attr_name) { return attr = std::string(attr_name), *this; }
  CorpusRow& InFunction(absl::string_view name) { return function = std::string(name), in_function = true, *this; }
  CorpusRow& Says(absl::string_view text) { return word = std::string(text), *this; }
  CorpusRow& WithErrors(size_t count) { return num_errors = count, *this; }
  CorpusRow& AtAByte() { return has_offset = true, *this; }
};

inline CorpusRow Bad(std::string name, std::string graph, ErrorCode code) {
  CorpusRow row;
  row.name = std::move(name);
  row.graph = std::move(graph);
  row.codes.push_back(code);
  return row;
}

inline std::ostream& operator<<(std::ostream& out, const CorpusRow& row) { return out << row.name; }

// Loads a GraphDef as a session does: import, then control flow, functions, and what counts only for nodes that run.
absl::StatusOr<Graph> LoadCorpusGraph(absl::string_view bytes);

// Loads the row's graph and expects its error with all facts; no bytes kept, none reserved beyond what the input's
// size explains; and that a good graph loads afterwards.
void ExpectRefused(const CorpusRow& row);

// Names test cases after their rows.
struct CorpusRowName {
  std::string operator()(const ::testing::TestParamInfo<CorpusRow>& info) const { return info.param.name; }
};

}  // namespace sluice

#endif  // SLUICE_TESTS_CORPUS_CORPUS_ROW_H_

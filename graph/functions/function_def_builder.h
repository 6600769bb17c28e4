#ifndef SLUICE_GRAPH_FUNCTIONS_FUNCTION_DEF_BUILDER_H_
#define SLUICE_GRAPH_FUNCTIONS_FUNCTION_DEF_BUILDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"
#include "graph/ir/function_library.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// Writes a FunctionDef message part by part, and reads it back as a definition that owns its bytes.
// Texts of inputs and results as in Note [Values in bodies] (body_values.h). Nothing is checked but what
// ParseFunctionDef checks. A value type; not thread-safe.
class FunctionDefBuilder {
 public:
  using Attrs = std::vector<std::pair<std::string, AttrValue>>;

  // `signature` also says the function's name, attrs and control outputs.
  explicit FunctionDefBuilder(OpSchema signature) : signature_(std::move(signature)) {}

  void AddNode(absl::string_view name, absl::string_view op, const std::vector<std::string>& inputs,
               const Attrs& attrs = {}, absl::string_view device = "");
  void AddRet(absl::string_view output, absl::string_view value);
  // Also adds `name` to the signature's control outputs.
  void AddControlRet(absl::string_view name, absl::string_view node);
  void AddAttr(absl::string_view name, const AttrValue& value);

  // The FunctionDef message.
  std::string Encode() const;
  absl::StatusOr<std::shared_ptr<const FunctionDefinition>> Build() const;

 private:
  OpSchema signature_;
  std::string fields_;  // All but the signature.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_FUNCTION_DEF_BUILDER_H_

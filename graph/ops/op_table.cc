#include "graph/ops/op_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_traits.h"
#include "graph/ops/tensorflow_ops.h"

namespace sluice {
namespace {

// The project's own ops, as lines of a table, in ascending byte order like those of tensorflow_ops.txt:
//   GradSum  adds those of its inputs that are live, in their order; dead when none is. Joins the gradients of the
//            branches of a conditional. See Note [Activation] in frames/activation.h.
//   _DeviceCopy  copies its input from one memory to another. Made when a graph is prepared for several devices; see
//            Note [Copies] in graph/placement/copy_nodes.h.
constexpr absl::string_view kOwnOps =
    "GradSum\t<inputs:N*T\t>sum:T\t@N:int>=1\t@T:numbertype\n"
    "_DeviceCopy\t<input:T\t>output:T\t@T:type\n";

// The own ops and TensorFlow's, looked up in this order. Thread-safe, immutable.
class AllOpsTable : public OpTable {
 public:
  absl::StatusOr<OpSchema> Find(absl::string_view name) const override {
    absl::StatusOr<OpSchema> own = own_.Find(name);
    return own.ok() ? std::move(own) : tensorflow_.Find(name);
  }
  void ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const override {
    std::vector<absl::string_view> names;
    const auto add = [&names](absl::string_view name) { names.push_back(name); };
    own_.ForEachName(add);
    tensorflow_.ForEachName(add);
    std::sort(names.begin(), names.end());
    for (const absl::string_view name : names) fn(name);
  }

 private:
  const OpTextTable own_{kOwnOps, OpTraitsText()};
  const OpTextTable tensorflow_{TensorFlowOpsText(), OpTraitsText()};
};

absl::string_view NameOf(absl::string_view line) { return line.substr(0, line.find('\t')); }

void SetFlags(absl::string_view flags, OpSchemaBuilder* builder) {
  for (const char flag : flags) {
    switch (flag) {
      case 's':
        builder->Stateful();
        break;
      case 'c':
        builder->Commutative();
        break;
      case 'a':
        builder->Aggregate();
        break;
      case 'u':
        builder->AllowsUninitializedInput();
        break;
      case 'd':
        builder->DistributedCommunication();
        break;
      default:
        break;
    }
  }
}

absl::StatusOr<OpSchema> ParseLine(absl::string_view line) {
  OpSchemaBuilder builder(NameOf(line));
  line.remove_prefix(NameOf(line).size());
  for (absl::string_view field : absl::StrSplit(line, '\t', absl::SkipEmpty())) {
    const char kind = field[0];
    field.remove_prefix(1);
    switch (kind) {
      case '<':
        builder.Input(field);
        break;
      case '>':
        builder.Output(field);
        break;
      case '@':
        builder.Attr(field);
        break;
      case '!':
        SetFlags(field, &builder);
        break;
      case '~': {
        const size_t blank = field.find(' ');
        int32_t version = 0;
        if (blank == absl::string_view::npos || !absl::SimpleAtoi(field.substr(0, blank), &version)) {
          return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op table: deprecation '", field, "' is malformed"));
        }
        builder.Deprecated(version, field.substr(blank + 1));
        break;
      }
      default:
        return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op table: field '", field, "' is of no known kind"));
    }
  }
  return builder.Build();
}

// The line of `text` that holds the byte at `position`, without its end.
absl::string_view LineAt(absl::string_view text, size_t position) {
  const size_t before = position == 0 ? absl::string_view::npos : text.rfind('\n', position - 1);
  const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// The line that begins with `name`; empty where `text` has none.
absl::string_view FindLine(absl::string_view text, absl::string_view name) {
  // Between `low` and `high` lie whole lines, the one sought among them if it is there at all.
  size_t low = 0;
  size_t high = text.size();
  while (low < high) {
    const absl::string_view line = LineAt(text, low + (high - low) / 2);
    const int order = NameOf(line).compare(name);
    if (order == 0) return line;
    const size_t begin = static_cast<size_t>(line.data() - text.data());
    if (order < 0) {
      low = begin + line.size() + 1;
    } else {
      high = begin;
    }
  }
  return absl::string_view();
}

absl::StatusOr<OpTraits> ParseTraits(absl::string_view line) {
  OpTraits traits;
  line.remove_prefix(NameOf(line).size());
  for (const absl::string_view word : absl::StrSplit(line, '\t', absl::SkipEmpty())) {
    if (AddTrait(word, &traits)) continue;
    return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op traits: there is no trait '", word, "'"));
  }
  return traits;
}

}  // namespace

absl::StatusOr<OpSchema> OpTextTable::Find(absl::string_view name) const {
  const absl::string_view line = FindLine(text_, name);
  if (line.empty()) return absl::NotFoundError(name);
  SLUICE_ASSIGN_OR_RETURN(OpSchema schema, ParseLine(line));
  SLUICE_ASSIGN_OR_RETURN(schema.traits, ParseTraits(FindLine(traits_, name)));
  return schema;
}

void OpTextTable::ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const {
  for (const absl::string_view line : absl::StrSplit(text_, '\n', absl::SkipEmpty())) fn(NameOf(line));
}

const OpRegistry& BuiltinOps() {
  // Never destroyed: graphs in static storage may outlive every function-local object.
  static const AllOpsTable* const table = std::make_unique<AllOpsTable>().release();
  static const OpRegistry* const registry = std::make_unique<OpRegistry>(table).release();
  return *registry;
}

std::shared_ptr<OpRegistry> NewOpRegistry() { return std::make_shared<OpRegistry>(&BuiltinOps()); }

}  // namespace sluice

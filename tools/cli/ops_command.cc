#include "tools/cli/ops_command.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/gradients/added_gradients.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_registry.h"
#include "kernels/plugin/load_plugin.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/ops/op_support.h"
#include "tools/cli/plugin_option.h"

namespace sluice {
namespace {

constexpr size_t kTextWidth = 100;
constexpr absl::string_view kIndent = "            ";  // Under the first word after "  gradient  ".

void AppendType(std::string* out, DType t) { out->append(DTypeName(t)); }

std::string ArgText(const ArgSpec& arg) {
  std::string type = arg.dtype != DType::kInvalid ? DTypeName(arg.dtype) : arg.type_attr + arg.type_list_attr;
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, " * ", type);
  return absl::StrCat(arg.name, ": ", arg.is_ref ? absl::StrCat("Ref(", type, ")") : type);
}

std::string AttrSpecText(const AttrSpec& attr) {
  std::string text = absl::StrCat(attr.name, ": ", AttrTypeName(attr.type));
  if (!attr.allowed_strings.empty()) absl::StrAppend(&text, " {", absl::StrJoin(attr.allowed_strings, ", "), "}");
  if (!attr.allowed_types.empty()) {
    absl::StrAppend(&text, " {", absl::StrJoin(attr.allowed_types, ", ", &AppendType), "}");
  }
  if (attr.has_minimum) absl::StrAppend(&text, " >= ", attr.minimum);
  if (attr.has_default) absl::StrAppend(&text, " = ", AttrView(attr.default_value).ToString());
  return text;
}

std::string SupportText(OpSupport support) {
  switch (support) {
    case OpSupport::kNone:
      return "no kernel here";
    case OpSupport::kKernel:
      return "by a kernel";
    case OpSupport::kOrder:
      return "carried out by the executor itself, any dtype";
    case OpSupport::kExpanded:
      return "replaced by the nodes of its functions before the graph runs";
  }
  return "";
}

std::string GradientText(OpTraits::Gradient gradient) {
  switch (gradient) {
    case OpTraits::Gradient::kUnknown:
      return "none is registered";
    case OpTraits::Gradient::kFunction:
      return "yes";
    case OpTraits::Gradient::kNone:
      return "no derivative: gradients end here";
    case OpTraits::Gradient::kRefused:
      return "refused, as in TensorFlow";
    case OpTraits::Gradient::kControlFlow:
      return "with the loop that it is part of";
  }
  return "";
}

// Explains the words of graph/ops/op_traits.txt after the gradient to users.
std::vector<std::string> TraitTexts(const OpSchema& op) {
  std::vector<std::string> texts;
  const auto add = [&texts](bool is_so, absl::string_view text) {
    if (is_so) texts.emplace_back(text);
  };
  add(op.is_stateful, "stateful");
  add(op.traits.is_impure, "never folded or merged");
  add(op.traits.may_run_again, "may run again in a recomputed body");
  add(op.traits.takes_any_value, "fails only where shapes disagree");
  add(op.traits.is_activation, "fused into the layer before it");
  add(op.traits.makes_variable, "makes a variable");
  add(op.traits.is_placeholder, "to be fed");
  add(op.traits.is_saver, "part of a saver");
  add(op.traits.is_inner, "not an output that is guessed");
  return texts;
}

std::string KernelText(const KernelFact& fact) {
  std::vector<std::string> parts = {fact.device};
  for (const KernelFact::Attr& attr : fact.attrs) {
    parts.push_back(absl::StrCat(attr.name, " in {", absl::StrJoin(attr.types, ", ", &AppendType), "}"));
  }
  if (!fact.origin.empty()) parts.push_back(absl::StrCat("from ", fact.origin));
  return absl::StrJoin(parts, ", ");
}

template <typename Items, typename Fn>
std::vector<std::string> TextsOf(const Items& items, Fn fn) {
  std::vector<std::string> texts;
  std::transform(items.begin(), items.end(), std::back_inserter(texts), fn);
  return texts;
}

// " inputs a: T" and a line each for the others; "none" for an empty list.
std::string Rows(absl::string_view title, const std::vector<std::string>& texts) {
  std::string head = absl::StrCat("  ", title, std::string(kIndent.size() - 2 - title.size(), ' '));
  return absl::StrCat(head, texts.empty() ? "none" : absl::StrJoin(texts, absl::StrCat("\n", kIndent)), "\n");
}

// `names` in as many columns as fit.
std::string Columns(const std::vector<std::string>& names) {
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size() + 2);
  const size_t columns = std::max<size_t>(1, kTextWidth / std::max<size_t>(width, 1));
  const size_t rows = (names.size() + columns - 1) / columns;
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    std::string line = " ";
    for (size_t i = row; i < names.size(); i += rows) {
      absl::StrAppend(&line, " ", names[i], std::string(width - 1 - names[i].size(), ' '));
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

// Whether `name` contains `part`, ignoring case.
bool Holds(absl::string_view name, absl::string_view part) {
  return absl::StrContains(absl::AsciiStrToLower(name), absl::AsciiStrToLower(part));
}

// `sluice ops`: the ops of TensorFlow, and which of them run here. Lives for one run, on one thread.
class OpsCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("NAME", names_, "an op, or a part of the names of several; without it all that run are listed")
        ->option_text("...");
    plugins_.Declare(app, "Ops");
    app.add_flag("--missing", missing_, "those without a kernel instead");
    app.add_flag("--json", json_, "one JSON document")->group("Output");
  }

  int Run(Console& console) override {
    if (const absl::Status plugins = plugins_.Load(); !plugins.ok()) {
      console.Problem(plugins);
      return kExitFailed;
    }
    const KernelRegistry& kernels = plugins_.kernels();
    if (!names_.empty() && !missing_) return ShowNamed(kernels, console);
    std::vector<std::string> listed;
    size_t total = 0;
    plugins_.ops().ForEachName([&](absl::string_view name) {
      ++total;
      const bool runs = SupportOf(kernels, name) != OpSupport::kNone;
      if (runs != missing_ && IsAskedFor(name)) listed.emplace_back(name);
    });
    if (json_) {
      console.Write(JsonDocument(listed));
      return kExitOk;
    }
    console.Write(Columns(listed));
    console.Note(absl::StrCat(CountText(static_cast<int64_t>(listed.size())), " of ",
                              CountText(static_cast<int64_t>(total)), " ops",
                              missing_ ? " have no kernel here" : " run here"));
    return kExitOk;
  }

 private:
  bool IsAskedFor(absl::string_view name) const {
    return names_.empty() ||
           std::any_of(names_.begin(), names_.end(), [name](const std::string& asked) { return Holds(name, asked); });
  }

  // Returns the ops that `asked` means: the one of that name, else all that contain it.
  std::vector<std::string> Meant(const std::string& asked) const {
    if (plugins_.ops().Find(asked) != nullptr) return {asked};
    std::vector<std::string> found;
    plugins_.ops().ForEachName([&](absl::string_view name) {
      if (Holds(name, asked)) found.emplace_back(name);
    });
    return found;
  }

  int ShowNamed(const KernelRegistry& kernels, Console& console) const {
    nlohmann::ordered_json document = nlohmann::ordered_json::array();
    std::string text;
    for (const std::string& asked : names_) {
      const std::vector<std::string> meant = Meant(asked);
      if (meant.empty()) return Unknown(asked, console);
      for (const std::string& name : meant) {
        const OpSchema& op = *plugins_.ops().Find(name);
        const OpSupport support = SupportOf(kernels, name);
        if (json_) {
          document.push_back(JsonOf(op, support, KernelsOf(kernels, op)));
        } else {
          absl::StrAppend(&text, text.empty() ? "" : "\n", console.out().Bold(name), "\n",
                          TextOf(op, support, KernelsOf(kernels, op)));
        }
      }
    }
    console.Write(json_ ? JsonDocument(document) : text);
    return kExitOk;
  }

  int Unknown(const std::string& asked, Console& console) const {
    const std::vector<std::string> near = plugins_.ops().Nearest(asked, 3);
    console.Complain(absl::StrCat("sluice ops: there is no op '", PrintableName(asked), "'",
                                  near.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(near, ", "), "?")));
    return kExitUsage;
  }

  // Returns the plug-in that defines the op; else empty.
  std::string OriginOf(const OpSchema& op) const {
    const std::shared_ptr<const PluginInfo> plugin = PluginOf(plugins_.ops(), op.name);
    return plugin != nullptr ? plugin->Title() : "";
  }

  // Plug-ins add gradients beside those that the traits tell of.
  std::string GradientOf(const OpSchema& op) const {
    const bool is_added = FindAddedGradient(&plugins_.ops(), op.name) != nullptr;
    return GradientText(is_added ? OpTraits::Gradient::kFunction : op.traits.gradient);
  }

  std::string TextOf(const OpSchema& op, OpSupport support, const std::vector<KernelFact>& facts) const {
    std::vector<std::string> runs = TextsOf(facts, &KernelText);
    if (runs.empty()) runs = {SupportText(support)};
    std::string text = Rows("inputs", TextsOf(op.inputs, &ArgText)) + Rows("outputs", TextsOf(op.outputs, &ArgText)) +
                       Rows("attrs", TextsOf(op.attrs, &AttrSpecText)) + Rows("runs", runs) +
                       Rows("gradient", {GradientOf(op)});
    if (const std::vector<std::string> traits = TraitTexts(op); !traits.empty()) text += Rows("traits", traits);
    if (const std::string origin = OriginOf(op); !origin.empty()) text += Rows("from", {origin});
    if (op.deprecated_at > 0) {
      absl::StrAppend(&text, Rows("old", {absl::StrCat("from version ", op.deprecated_at, ": ", op.deprecation_text)}));
    }
    return text;
  }

  nlohmann::ordered_json JsonOf(const OpSchema& op, OpSupport support, const std::vector<KernelFact>& facts) const {
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
    for (const KernelFact& fact : facts) {
      nlohmann::ordered_json types = nlohmann::ordered_json::object();
      for (const KernelFact::Attr& attr : fact.attrs) types[attr.name] = TextsOf(attr.types, &DTypeName);
      nlohmann::ordered_json kernel = {{"device", fact.device}, {"types", types}};
      if (!fact.origin.empty()) kernel["from"] = fact.origin;
      kernels.push_back(std::move(kernel));
    }
    nlohmann::ordered_json document = {{"op", op.name},
                                       {"runs", support != OpSupport::kNone},
                                       {"how", SupportText(support)},
                                       {"inputs", TextsOf(op.inputs, &ArgText)},
                                       {"outputs", TextsOf(op.outputs, &ArgText)},
                                       {"attrs", TextsOf(op.attrs, &AttrSpecText)},
                                       {"kernels", kernels},
                                       {"gradient", GradientOf(op)},
                                       {"traits", TraitTexts(op)}};
    if (const std::string origin = OriginOf(op); !origin.empty()) document["from"] = origin;
    return document;
  }

  std::vector<std::string> names_;
  PluginOption plugins_;
  bool missing_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace sluice

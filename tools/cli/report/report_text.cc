#include "tools/cli/report/report_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/report/absent_devices.h"
#include "tools/cli/report/example_value.h"
#include "tools/cli/report/text_table.h"

namespace sluice {
namespace {

// `text`, which came from a file, in a form that stays on its line and is safe on a terminal; not cut.
std::string Printable(absl::string_view text) { return PrintableName(text, std::string::npos); }

std::string TensorText(DType dtype, const PartialShape& shape) {
  return absl::StrCat(DTypeText(dtype), " ", shape.ToString());
}

// Renders one report. Lives for one call of RenderReportText.
class TextRenderer {
 public:
  TextRenderer(const ModelReport& report, const ReportTextOptions& options, const Paint& paint)
      : report_(report), options_(options), paint_(paint) {}

  std::string Render() {
    Summary();
    Signatures();
    Tensors("Inputs", report_.inputs);
    Tensors("Outputs", report_.outputs);
    Counts("Targets", report_.targets, "waits for");
    Training();
    Functions();
    Frames();
    Variables();
    Counts("Other state", report_.resources, "");
    Ops("Ops", report_.ops);
    Ops("Ops in functions", report_.function_ops);
    Constants();
    Scopes();
    Devices();
    Extras();
    return std::move(out_);
  }

 private:
  void Heading(absl::string_view title, int64_t count) {
    absl::StrAppend(&out_, "\n", paint_.Bold(title), paint_.Dim(absl::StrCat(" (", CountText(count), ")")), "\n");
  }

  // How many of `size` rows are shown; says so when it is not all. Call after the rows.
  size_t Shown(size_t size) const { return std::min(size, static_cast<size_t>(options_.max_rows)); }
  size_t MaxLine() const { return static_cast<size_t>(options_.max_line); }
  void More(size_t size) {
    if (size <= Shown(size)) return;
    const std::string text =
        absl::StrCat("  … and ", CountText(static_cast<int64_t>(size - Shown(size))), " more (--all)");
    absl::StrAppend(&out_, paint_.Dim(text), "\n");
  }

  void Summary() {
    const std::string name = report_.source == "-" ? "standard input" : PrintableName(report_.source);
    absl::StrAppend(&out_, paint_.Bold(name), "  ", report_.format, ", ", BytesText(report_.source_bytes), "\n");
    if (report_.num_errors > 0) {
      absl::StrAppend(&out_, "  ",
                      paint_.Yellow(absl::StrCat("cannot run: ", CountOf(report_.num_errors, "error"),
                                                 ", shown as far as it is known (see sluice check)")),
                      "\n");
    }
    absl::StrAppend(&out_, "  ", CountOf(report_.num_nodes, "node"), ", ", CountOf(report_.num_data_edges, "data edge"),
                    ", ", CountOf(report_.num_control_edges, "control edge"), "\n");
    if (report_.num_constants > 0) {
      absl::StrAppend(&out_, "  ", CountOf(report_.num_constants, "constant"), ": ", BytesText(report_.constant_bytes),
                      "\n");
    }
    if (!report_.variables.empty()) {
      absl::StrAppend(&out_, "  ", CountOf(static_cast<int64_t>(report_.variables.size()), "variable"), ": ",
                      BytesText(report_.variable_bytes), "\n");
    }
    absl::StrAppend(
        &out_, "  written by graph version ", report_.versions.producer,
        report_.tensorflow_version.empty() ? "" : " (TensorFlow " + PrintableName(report_.tensorflow_version) + ")",
        ", for readers from ", report_.versions.min_consumer, "\n");
    if (!report_.tags.empty()) absl::StrAppend(&out_, "  tags ", Printable(absl::StrJoin(report_.tags, ", ")));
    if (report_.tag_sets.size() > 1) {
      absl::StrAppend(&out_, "; the file has ", report_.tag_sets.size(),
                      " graphs: ", absl::StrJoin(report_.tag_sets, ", ", [](std::string* out, const auto& tags) {
                        absl::StrAppend(out, "{", Printable(absl::StrJoin(tags, ",")), "}");
                      }));
    }
    if (!report_.tags.empty()) absl::StrAppend(&out_, "\n");
  }

  void Tensors(absl::string_view title, const std::vector<TensorFact>& tensors) {
    if (tensors.empty()) return;
    Heading(title, static_cast<int64_t>(tensors.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(tensors.size()); ++i) {
      table.Add({tensors[i].name, TensorText(tensors[i].dtype, tensors[i].shape), tensors[i].op});
    }
    out_ += table.Render("  ", MaxLine());
    More(tensors.size());
  }

  void Counts(absl::string_view title, const std::vector<NamedCount>& counts, absl::string_view word) {
    if (counts.empty()) return;
    Heading(title, static_cast<int64_t>(counts.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(counts.size()); ++i) {
      table.Add({counts[i].name, absl::StrCat(word, word.empty() ? "" : " ", CountText(counts[i].count))});
    }
    out_ += table.Render("  ", MaxLine());
    More(counts.size());
  }

  void Signatures() {
    if (report_.signatures.empty()) return;
    Heading("Signatures", static_cast<int64_t>(report_.signatures.size()));
    for (const ModelSignature& signature : report_.signatures) {
      absl::StrAppend(&out_, "  ", paint_.Cyan(PrintableName(signature.key)),
                      signature.method_name.empty() ? "" : "  " + PrintableName(signature.method_name), "\n");
      TextTable table;
      const auto add = [&table](absl::string_view role, const SignatureTensor& tensor) {
        const std::string where = tensor.components.empty() ? tensor.name : absl::StrJoin(tensor.components, ", ");
        table.Add({std::string(role), PrintableName(tensor.key), TensorText(tensor.dtype, tensor.shape),
                   PrintableName(where)});
      };
      for (const SignatureTensor& tensor : signature.inputs) add("in", tensor);
      for (const SignatureTensor& tensor : signature.outputs) add("out", tensor);
      out_ += table.Render("    ", MaxLine());
      if (const std::string call = CallOf(signature); !call.empty()) absl::StrAppend(&out_, "    run  ", call, "\n");
    }
  }

  // Returns a command line that runs the signature on made-up values; empty if callers cannot use or feed it.
  std::string CallOf(const ModelSignature& signature) const {
    if (absl::StartsWith(signature.key, "__saved_model_") || report_.num_errors > 0) return "";
    std::string call = absl::StrCat("sluice run ", PrintableName(report_.source, 1000));
    if (signature.key != "serving_default") absl::StrAppend(&call, " --signature ", PrintableName(signature.key));
    for (const SignatureTensor& tensor : signature.inputs) {
      if (tensor.name.empty()) return "";
      absl::StrAppend(&call, " --feed ", PrintableName(tensor.key), "=",
                      ExampleFeedValue(tensor.dtype, ShapeOf(tensor)));
    }
    return call;
  }

  // Returns the shape that the signature states, else the graph's.
  PartialShape ShapeOf(const SignatureTensor& tensor) const {
    if (tensor.shape.has_rank()) return tensor.shape;
    for (const TensorFact& input : report_.inputs) {
      if (absl::StrCat(input.name, ":0") == tensor.name) return input.shape;
    }
    return tensor.shape;
  }

  static std::string ArgsText(const std::vector<std::pair<std::string, std::string>>& args) {
    constexpr size_t kMaxArgs = 6;
    std::vector<std::string> parts;
    for (size_t i = 0; i < std::min(args.size(), kMaxArgs); ++i) {
      parts.push_back(absl::StrCat(args[i].first, ": ", args[i].second));
    }
    if (args.size() > kMaxArgs) parts.push_back(absl::StrCat("… ", args.size() - kMaxArgs, " more"));
    return absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
  }

  void Functions() {
    if (report_.functions.empty()) return;
    Heading("Functions", static_cast<int64_t>(report_.functions.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(report_.functions.size()); ++i) {
      const FunctionFact& function = report_.functions[i];
      const std::string gradient = function.gradient.empty() ? "" : absl::StrCat("  gradient ", function.gradient);
      table.Add({function.name, CountOf(function.num_nodes, "node"),
                 absl::StrCat(ArgsText(function.args), " -> ", ArgsText(function.results), gradient)});
    }
    table.AlignRight(1);
    out_ += table.Render("  ", MaxLine());
    More(report_.functions.size());
  }

  void Frames() {
    if (report_.frames.empty()) return;
    Heading("Loop frames", static_cast<int64_t>(report_.frames.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(report_.frames.size()); ++i) {
      const FrameFact& frame = report_.frames[i];
      table.Add({frame.name, CountOf(frame.num_nodes, "node"),
                 absl::StrCat(CountOf(frame.num_loop_variables, "loop variable"), ", ", frame.num_constants,
                              " constant, ", CountOf(frame.parallel_iterations, "parallel iteration"),
                              frame.parent.empty() ? "" : absl::StrCat(", inside ", frame.parent))});
    }
    out_ += table.Render("  ", MaxLine());
    More(report_.frames.size());
  }

  void Variables() {
    if (report_.variables.empty()) return;
    Heading("Variables", static_cast<int64_t>(report_.variables.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(report_.variables.size()); ++i) {
      const VariableFact& variable = report_.variables[i];
      table.Add({variable.name, TensorText(variable.dtype, variable.shape),
                 variable.bytes < 0 ? "?" : BytesText(variable.bytes), KindText(variable)});
    }
    table.AlignRight(2);
    out_ += table.Render("  ", MaxLine());
    More(report_.variables.size());
  }

  static std::string KindText(const VariableFact& variable) {
    const std::string kind = variable.is_resource ? "resource" : "ref";
    const std::string also = absl::StrJoin(variable.aliases, ", ");
    return also.empty() ? kind : absl::StrCat(kind, ", also ", also);
  }

  void Training() {
    if (report_.training.empty()) return;
    Heading("Training", static_cast<int64_t>(report_.training.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(report_.training.size()); ++i) {
      table.Add({report_.training[i].role, report_.training[i].name});
    }
    out_ += table.Render("  ", MaxLine());
    More(report_.training.size());
  }

  // As many as fit in a line, most frequent first.
  void Ops(absl::string_view title, const std::vector<NamedCount>& ops) {
    if (ops.empty()) return;
    constexpr size_t kLine = 100;
    Heading(title, static_cast<int64_t>(ops.size()));
    std::string line = " ";
    size_t used = 1;  // Characters of the line, colours not counted.
    const size_t shown = std::min(ops.size(), static_cast<size_t>(options_.max_rows) * 3);
    for (size_t i = 0; i < shown; ++i) {
      const std::string count = CountText(ops[i].count);
      const std::string name = Printable(ops[i].name);
      const size_t width = name.size() + count.size() + 3;
      if (used + width > kLine) {
        absl::StrAppend(&out_, line, "\n");
        line = " ";
        used = 1;
      }
      absl::StrAppend(&line, " ", name, " ", paint_.Dim(count), i + 1 < shown ? "," : "");
      used += width;
    }
    absl::StrAppend(&out_, line, "\n");
    if (shown < ops.size())
      absl::StrAppend(&out_, paint_.Dim(absl::StrCat("  … and ", ops.size() - shown, " more (--all)")), "\n");
  }

  void Constants() {
    if (report_.constant_bytes < 1024) return;
    Heading("Largest constants", static_cast<int64_t>(report_.largest_constants.size()));
    TextTable table;
    for (const ConstantFact& constant : report_.largest_constants) {
      table.Add({constant.name, TensorText(constant.dtype, constant.shape), BytesText(constant.bytes)});
    }
    out_ += table.Render("  ", MaxLine());
  }

  void Scopes() {
    if (report_.scopes.size() < 2 || options_.scope_depth == 0) return;
    Heading("Name scopes", static_cast<int64_t>(report_.scopes.size()) - 1);
    TextTable table;
    std::vector<std::pair<int32_t, int>> todo = {{0, 0}};  // Scope and depth; last in, first out.
    size_t total = 0;
    while (!todo.empty()) {
      const auto [index, depth] = todo.back();
      todo.pop_back();
      const NameScope& scope = report_.scopes[static_cast<size_t>(index)];
      if (depth > options_.scope_depth) continue;
      if (depth > 0) ++total;
      if (depth > 0 && total <= static_cast<size_t>(options_.max_rows)) {
        const std::string indent(static_cast<size_t>(depth - 1) * 2, ' ');
        table.Add({absl::StrCat(indent, scope.name, "/"),
                   absl::StrCat(CountOf(scope.num_nodes, "node"), scope.num_nodes == 1 ? " " : ""),
                   scope.constant_bytes > 0 ? BytesText(scope.constant_bytes) : ""});
      }
      for (auto child = scope.scopes.rbegin(); child != scope.scopes.rend(); ++child)
        todo.emplace_back(*child, depth + 1);
    }
    table.AlignRight(1);
    out_ += table.Render("  ", MaxLine());
    More(total);
  }

  void Devices() {
    const bool none_asked = report_.devices.size() == 1 && report_.devices[0].name.empty();
    if (report_.devices.empty() || none_asked) return;
    Heading("Devices asked for", static_cast<int64_t>(report_.devices.size()));
    TextTable table;
    for (size_t i = 0; i < Shown(report_.devices.size()); ++i) {
      const NamedCount& device = report_.devices[i];
      table.Add({device.name.empty() ? "(any)" : PrintableName(device.name), CountOf(device.count, "node"),
                 IsAbsentDevice(device.name) ? "not here: the CPU runs them" : ""});
    }
    out_ += table.Render("  ", MaxLine());
    More(report_.devices.size());
  }

  // Shows the additional facts of a MetaGraphDef.
  void Extras() {
    if (!report_.init_ops.empty())
      absl::StrAppend(&out_, "\n", paint_.Bold("Init op"), "  ", Printable(report_.init_ops[0]), "\n");
    if (!report_.assets.empty()) {
      Heading("Assets", static_cast<int64_t>(report_.assets.size()));
      TextTable table;
      for (const ModelAsset& asset : report_.assets) table.Add({PrintableName(asset.filename), asset.tensor});
      out_ += table.Render("  ", MaxLine());
    }
    if (!report_.collections.empty()) {
      Heading("Collections", static_cast<int64_t>(report_.collections.size()));
      TextTable table;
      for (const ModelCollection& collection : report_.collections) {
        table.Add({PrintableName(collection.key), CountText(collection.count)});
      }
      table.AlignRight(1);
      out_ += table.Render("  ", MaxLine());
    }
  }

  const ModelReport& report_;
  const ReportTextOptions& options_;
  const Paint& paint_;
  std::string out_;
};

}  // namespace

std::string RenderReportText(const ModelReport& report, const ReportTextOptions& options, const Paint& paint) {
  return TextRenderer(report, options, paint).Render();
}

}  // namespace sluice

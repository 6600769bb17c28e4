"""Files carried inside a binary."""

# The assembler copies the file's bytes; a terminating zero follows, which the view does not count.
_ASSEMBLE = """
cat > $(RULEDIR)/{name}.s <<'END'
    .section .rodata.{label}, "a", @progbits
    .balign 64
    .globl {label}_begin
    .hidden {label}_begin
    .type {label}_begin, @object
{label}_begin:
    .incbin "SOURCE"
    .globl {label}_end
    .hidden {label}_end
{label}_end:
    .byte 0
    .size {label}_begin, . - {label}_begin
    .section .note.GNU-stack, "", @progbits
END
sed -i 's|SOURCE|$(location {src})|' $(RULEDIR)/{name}.s
as -o $@ $(RULEDIR)/{name}.s
rm $(RULEDIR)/{name}.s
"""

_HEADER = """
cat > $@ <<'END'
#ifndef {guard}
#define {guard}

#include "absl/strings/string_view.h"

namespace {namespace} {{

// The bytes of {src}, as they were when the program was built. Constant data: no work at start-up,
// 64-byte aligned, followed by a zero byte, valid for ever.
absl::string_view {symbol}();

}}  // namespace {namespace}

#endif  // {guard}
END
"""

_SOURCE = """
cat > $@ <<'END'
#include "{header}"

#include <cstddef>

extern "C" const char {label}_begin[];
extern "C" const char {label}_end[];

namespace {namespace} {{

absl::string_view {symbol}() {{
  return absl::string_view({label}_begin, static_cast<size_t>({label}_end - {label}_begin));
}}

}}  // namespace {namespace}
END
"""

def embed_file(name, src, symbol, namespace = "sluice", visibility = None, testonly = False):
    """A cc_library whose header "<package>/<name>.h" declares `absl::string_view symbol()`.

    Args:
      name: the library, and the stem of its header.
      src: the file, or the label of a rule with one output.
      symbol: the function's name.
      namespace: where it is declared.
      visibility: of the library.
      testonly: as everywhere.
    """
    package = native.package_name()
    names = {
        "guard": "SLUICE_%s_%s_H_" % (package.replace("/", "_").upper(), name.upper()),
        "header": package + "/" + name + ".h",
        "label": "sluice_%s_%s" % (package.replace("/", "_").replace(".", "_").replace("-", "_"), name),
        "name": name,
        "namespace": namespace,
        "src": src,
        "symbol": symbol,
    }
    for out, template in [(name + ".h", _HEADER), (name + ".cc", _SOURCE), (name + "_bytes.o", _ASSEMBLE)]:
        native.genrule(
            name = out.replace(".", "_") + "_gen",
            srcs = [src] if out.endswith(".o") else [],
            outs = [out],
            cmd = template.format(**names),
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
    native.cc_library(
        name = name,
        srcs = [name + ".cc", name + "_bytes.o"],
        hdrs = [name + ".h"],
        testonly = testonly,
        visibility = visibility,
        deps = ["@sys//:absl_strings"],
    )

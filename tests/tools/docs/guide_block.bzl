"""Blocks of C++ that README.md and the guides show, cut out of their texts."""

def guide_block(text, block, out):
    """Writes the block that the line "```cpp BLOCK" of a text opens into a file, for a target that builds it.

    Args:
      text: README.md or a guide.
      block: the name after the language.
      out: the file.
    """
    native.genrule(
        name = block + "_text",
        srcs = [text],
        outs = [out],
        cmd = "awk -v first='```cpp %s' '$$0 == first { on = 1; next } /^```/ { on = 0 } on' $< > $@" % block,
    )

"""Headers of the system's libraries, compiled once for all sources. See Note [Compiled headers] in README.md."""

def _compiled_header_impl(ctx):
    # The header's own name is another: the one that sources see must lie beside what is compiled.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    toolchain = ctx.attr._cc_toolchain[cc_common.CcToolchainInfo]
    outputs = [header]
    if toolchain.compiler == "clang":
        # It asks for another form, and is used for analyses only.
        ctx.actions.write(header, "")
    else:
        ctx.actions.expand_template(template = ctx.file.header, output = header, substitutions = {})
        compiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
        outputs.append(compiled)
        _compile(ctx, toolchain, header, compiled)
    context = cc_common.create_compilation_context(headers = depset(outputs))
    return [DefaultInfo(files = depset(outputs)), CcInfo(compilation_context = context)]

def _compile(ctx, toolchain, header, compiled):
    """Compiles with the options of the sources: the compiler passes over what was compiled with others."""
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
    )
    action = "c++-compile"
    options = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = action,
        variables = variables,
    )
    ctx.actions.run(
        mnemonic = "CppHeader",
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = action),
        arguments = ["-x", "c++-header"] + options,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = action,
            variables = variables,
        ),
        inputs = depset([header], transitive = [toolchain.all_files]),
        outputs = [compiled],
    )

# A header of includes, as "<name>.h", and what the compiler makes of it. Targets that depend on this one, through others
# too, may be compiled with "-include".
compiled_header = rule(
    implementation = _compiled_header_impl,
    attrs = {
        "header": attr.label(allow_single_file = True, mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

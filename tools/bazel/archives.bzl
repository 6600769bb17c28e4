"""The objects that a program is linked from."""

ArchivesInfo = provider(doc = "What a program is linked from.", fields = {"files": "depset of objects (archives, where a library has no objects)"})

def _archives_aspect_impl(_target, ctx):
    files = []
    for dep in getattr(ctx.rule.attr, "deps", []):
        if CcInfo not in dep:
            continue
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list():
            for library in linker_input.libraries:
                objects = library.objects or library.pic_objects
                archive = library.static_library or library.pic_static_library
                files += objects if objects else [archive] if archive else []
    return [ArchivesInfo(files = depset(files))]

_archives_aspect = aspect(implementation = _archives_aspect_impl)

def _linked_archives_impl(ctx):
    files = depset(transitive = [dep[ArchivesInfo].files for dep in ctx.attr.programs])
    listing = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.write(listing, "".join([f.short_path + "\n" for f in files.to_list()]))
    return [DefaultInfo(
        files = depset([listing]),
        runfiles = ctx.runfiles(files = [listing], transitive_files = files),
    )]

# A file "<name>.txt" that names the objects of all cc_libraries that the programs are linked from, one a line, as
# paths in the runfiles tree; the objects themselves come along as runfiles.
linked_archives = rule(
    implementation = _linked_archives_impl,
    attrs = {"programs": attr.label_list(aspects = [_archives_aspect], mandatory = True)},
)

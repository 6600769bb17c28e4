"""C++ libraries from .proto files, made by the system's protoc."""

# Generated code is not ours to warn about: the header declares itself a system header.
_PROTOC = """
$(location @sys//:protoc) -I. --cpp_out=$(BINDIR) {protos}
for header in {headers}; do
  sed -i '0,/^#define GOOGLE_PROTOBUF_INCLUDED/s//#pragma GCC system_header\\n&/' $(RULEDIR)/$$header
done
"""

def sluice_proto_library(name, srcs, deps = [], visibility = None, testonly = False):
    """A cc_library with the C++ code of `srcs`, included as "<package>/<file>.pb.h".

    Args:
      name: the cc_library; `<name>_protos` is the filegroup of its .proto files and those of `deps`.
      srcs: .proto files of this package. They import others by their path from the root.
      deps: other sluice_proto_library targets.
      visibility: of the library and the filegroup.
      testonly: as everywhere.
    """
    native.filegroup(
        name = name + "_protos",
        srcs = srcs + [_protos_of(dep) for dep in deps],
        testonly = testonly,
        visibility = visibility,
    )
    stems = [src[:-len(".proto")] for src in srcs]
    headers = [stem + ".pb.h" for stem in stems]
    sources = [stem + ".pb.cc" for stem in stems]
    package = native.package_name()
    native.genrule(
        name = name + "_protoc",
        srcs = [":" + name + "_protos"],
        outs = headers + sources,
        cmd = _PROTOC.format(
            headers = " ".join(headers),
            protos = " ".join([package + "/" + src for src in srcs]),
        ),
        testonly = testonly,
        tools = ["@sys//:protoc"],
        visibility = ["//visibility:private"],
    )
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        testonly = testonly,
        visibility = visibility,
        deps = deps + ["@sys//:protobuf"],
    )

def _protos_of(dep):
    if ":" in dep:
        return dep + "_protos"
    return dep + ":" + dep.split("/")[-1] + "_protos"

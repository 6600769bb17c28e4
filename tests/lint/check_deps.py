"""Checks that a target names each target whose headers it includes, and none that is not there.

Clang's layering check refuses what GCC lets pass; Bazel speaks of a missing target only where it is asked to build it.
"""

import os

import build_files
import source_tree

_FILES = ("srcs", "hdrs", "textual_hdrs")
_DEPS = ("deps", "implementation_deps")


def files_of(target, keys):
    """The paths in the tree of the files that a target lists."""
    for label in (build_files.resolve(value, target.package) for key in keys for value in listed(target, key)):
        folder, _, name = label.partition(":")
        yield os.path.join(folder.lstrip("/"), name)


def listed(target, key):
    return build_files.flatten(target.attributes.get(key))


def exported(target):
    """The paths that a target's users may include."""
    for path in files_of(target, ("hdrs", "textual_hdrs")):
        yield path
    for path in files_of(target, ("srcs",)):
        if path.endswith(".proto"):
            yield path[:-len("proto")] + "pb.h"


def reached(workspace, target):
    """What a target may include: headers of its own and those of the targets that it names, through aliases too."""
    allowed = set(files_of(target, _FILES))
    pending = [build_files.resolve(value, target.package) for key in _DEPS for value in listed(target, key)]
    while pending:
        dep = workspace.targets.get(pending.pop())
        if dep is None:
            continue
        allowed.update(exported(dep))
        pending += [build_files.resolve(value, dep.package) for value in build_files.flatten(dep.attributes.get("actual"))]
    return allowed


def missing(workspace, target):
    """The labels among a target's deps that no target has. Other repositories than the system's are not read."""
    for label in (build_files.resolve(value, target.package) for key in _DEPS for value in listed(target, key)):
        if label not in workspace.targets and label.startswith(("//", "@sys//")):
            yield label


def check(tree):
    workspace = build_files.Workspace(tree)
    targets = {id(target): target for target in workspace.targets.values() if target.package != "@sys"}.values()
    # Headers that no target exports are private to one, or another check's matter.
    owners = {path: target for target in targets for path in exported(target)}
    problems = set()
    for target in targets:
        for label in missing(workspace, target):
            problems.add(f"{target.path}:{target.line}: //{target.package}:{target.attributes['name']} names {label}, which "
                         f"is no target")
        if not target.kind.startswith("cc_"):
            continue
        allowed = reached(workspace, target)
        for path in files_of(target, ("srcs", "hdrs")):
            if path not in tree.files or not path.endswith((".h", ".cc", ".inc")):
                continue
            for number, header, angled in tree.includes(path):
                if not angled and header in owners and header not in allowed:
                    owner = owners[header]
                    problems.add(f"{path}:{number}: //{target.package}:{target.attributes['name']} includes {header} and "
                                 f"does not name //{owner.package}:{owner.attributes['name']} among its deps")
    return sorted(problems)


if __name__ == "__main__":
    source_tree.main(check, __doc__)

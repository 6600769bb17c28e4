"""Runs tests, examples and conformance cases, and counts them case by case. Called by tools/test."""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

import build_progress

SANITIZERS = {
    "asan": ["--config=asan", "--config=ubsan"],
    "tsan": ["--config=tsan"],
}


class Tally:
    """What passed and what failed, by name, over all parts of a run."""

    def __init__(self):
        self.passed = 0
        self.failures = []  # (name, why)
        self.skipped = []  # (name, why)

    def add(self, name, failure):
        """Counts one case; `failure` is None, or why it failed."""
        if failure is None:
            self.passed += 1
        else:
            self.failures.append((name, failure))

    def print_summary(self):
        for name, why in self.skipped:
            print(f"skipped: {name}{': ' + why if why else ''}")
        for name, why in self.failures:
            print(f"FAILED: {name}{': ' + why if why else ''}")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)


class Checkout:
    """The places of one checkout, and Bazel in it."""

    def __init__(self, root, state):
        self.root = root
        self.state = state

    def bazel(self, *arguments, **options):
        return subprocess.run(["bazel", *arguments], cwd=self.root, stdin=subprocess.DEVNULL, text=True, **options)

    def bazel_with_progress(self, name, *arguments):
        """Runs Bazel, and says how far it is where its output is kept: on a terminal Bazel does that itself. Returns
        its status."""
        if sys.stderr.isatty():
            return self.bazel(*arguments).returncode
        return build_progress.run_bazel(["bazel", *arguments], name, echo=True, cwd=self.root)[0]

    def query(self, expression):
        result = self.bazel("query", "--keep_going", expression, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return sorted(result.stdout.split())


def matches(pattern, name):
    """Whether `pattern` (with "*" for anything) occurs in `name`. Everything matches no pattern."""
    return pattern is None or fnmatch.fnmatchcase(name, f"*{pattern}*")


# Tests -----------------------------------------------------------------------------------------------------------


def read_events(path):
    """Reads Bazel's event file: ({target: [test.xml]}, {target: status other than PASSED}, [targets that did not
    build])."""
    reports, failed, broken = {}, {}, set()
    with open(path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            kind = event.get("id", {})
            if "testResult" in kind:
                files = {output["name"]: output["uri"] for output in event["testResult"].get("testActionOutput", [])}
                if "test.xml" in files:
                    report = urllib.parse.unquote(urllib.parse.urlparse(files["test.xml"]).path)
                    reports.setdefault(kind["testResult"]["label"], []).append(report)
                if event["testResult"].get("status", "PASSED") not in ("PASSED", "FLAKY"):
                    failed[kind["testResult"]["label"]] = event["testResult"]["status"]
            elif "targetCompleted" in kind and not event.get("completed", {}).get("success", False):
                if event.get("aborted", {}).get("reason") != "SKIPPED":
                    broken.add(kind["targetCompleted"]["label"])
            elif "pattern" in kind and "aborted" in event:
                broken.update(kind["pattern"]["pattern"])
            elif "unconfiguredLabel" in kind and "aborted" in event:
                broken.add(kind["unconfiguredLabel"]["label"])
    return reports, failed, sorted(broken - set(reports))


def count_report(tally, target, report, prefix):
    """Counts the cases of one test.xml. A test that writes none of its own is one case, as Bazel reports it."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        tally.add(prefix + target, f"its report cannot be read: {error}")
        return
    for case in cases:
        suite, name = case.get("classname", ""), case.get("name", "")
        is_target = target.lstrip("/").replace(":", "/") == name
        full = prefix + target if is_target else f"{prefix}{target} {suite}.{name}"
        skipped = case.find("skipped")
        if case.get("status") == "notrun":
            continue
        if skipped is not None or case.get("result") == "skipped":
            tally.skipped.append((full, first_line(skipped)))
            continue
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        tally.add(full, None if failure is None else first_line(failure))


def count_target(tally, target, reports, status, prefix):
    """Counts the cases of a target. Where none of them failed and the target did, that is a failure: sanitizers look
    for leaks, and threads may still run into each other, when the report is written already."""
    before = len(tally.failures)
    for report in reports:
        count_report(tally, target, report, prefix)
    if status is not None and len(tally.failures) == before:
        tally.add(prefix + target, f"{status} after its last case: see its test.log")


def first_line(element):
    """The first line of a report's failure that says something."""
    if element is None:
        return ""
    lines = (element.get("message") or element.text or "failed").strip().splitlines()
    return " ".join(line.strip() for line in lines[:3]) or "failed"


def choose_tests(checkout, pattern):
    """Returns (targets, Google Test filter or None) for --filter."""
    everything = ["//tests/..."]
    if pattern is None:
        return everything, None
    chosen = [t for t in checkout.query("tests(//tests/...)") if matches(pattern, t.lstrip("/").replace(":", "/"))]
    return (chosen, None) if chosen else (everything, f"*{pattern}*")


def run_tests(checkout, tally, arguments, configs=(), prefix="", excluded_tags=()):
    """Runs the tests below tests/ and counts their cases."""
    targets, case_filter = choose_tests(checkout, arguments.filter)
    tags = list(excluded_tags) + (["stress"] if arguments.fast else [])
    with tempfile.TemporaryDirectory() as scratch:
        events = os.path.join(scratch, "events.json")
        flags = ["--keep_going", f"--build_event_json_file={events}", "--test_output=errors", *configs]
        if tags:
            flags.append("--test_tag_filters=" + ",".join("-" + tag for tag in tags))
            flags.append("--build_tests_only")
        if case_filter:
            flags.append(f"--test_filter={case_filter}")
        status = checkout.bazel_with_progress(prefix + "testing", "test", *flags, "--", *targets)
        if not os.path.exists(events):
            tally.add(prefix + "bazel test", f"did not start (status {status})")
            return
        reports, failed, broken = read_events(events)
        for target in sorted(reports):
            count_target(tally, target, reports[target], failed.get(target), prefix)
    for target in broken:
        tally.add(prefix + target, "does not build")
    # 3: tests failed; 4: there were none. Anything else that was not seen above must not go unnoticed.
    if status not in (0, 3, 4) and not broken:
        tally.add(prefix + "bazel test", f"status {status}")


# Examples --------------------------------------------------------------------------------------------------------


def run_examples(checkout, tally, arguments):
    """Builds and runs every program and every script of tools/examples; each must end with status 0."""
    folder = os.path.join(checkout.root, "tools", "examples")
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".sh")) if os.path.isdir(folder) else []
    for script in scripts:
        if matches(arguments.filter, f"tools/examples/{script}"):
            run_example(tally, f"tools/examples/{script}", ["bash", os.path.join(folder, script)], checkout)
    for target in checkout.query('kind("cc_binary", //tools/examples/...)') if os.path.isdir(folder) else []:
        name = target.lstrip("/").replace(":", "/")
        if name.endswith(".so") or not matches(arguments.filter, name):
            continue  # A plug-in is no program; a script loads it.
        if checkout.bazel_with_progress(f"building {name}", "build", target) != 0:
            tally.add(name, "does not build")
            continue
        info = checkout.bazel("info", "bazel-bin", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        run_example(tally, name, [os.path.join(info.stdout.strip(), name)], checkout)


def run_example(tally, name, command, checkout):
    """Runs one example with `sluice` (the wrapper) in its PATH, in a folder of its own."""
    environment = dict(os.environ)
    environment["PATH"] = os.path.join(checkout.root, "tools") + os.pathsep + environment["PATH"]
    environment["SLUICE_ROOT"] = checkout.root
    with tempfile.TemporaryDirectory() as scratch:
        try:
            result = subprocess.run(command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
            failure = None if result.returncode == 0 else f"status {result.returncode}"
            output = result.stdout
        except subprocess.TimeoutExpired as error:
            failure, output = "still running after 300 s", str(error.stdout or "")
    if failure:
        print(f"--- {name}\n{output}")
    tally.add(name, failure)


# Conformance -----------------------------------------------------------------------------------------------------


def cases_below(folder):
    """The cases of a conformance folder, as {"suite/case": folder}."""
    found = {}
    for suite in sorted(os.listdir(folder)):
        suite_folder = os.path.join(folder, suite)
        if not os.path.isdir(suite_folder):
            continue
        for case in sorted(os.listdir(suite_folder)):
            if os.path.exists(os.path.join(suite_folder, case, "case.json")):
                found[f"{suite}/{case}"] = os.path.join(suite_folder, case)
    return found


def conform(checkout, folders, options=()):
    """Runs the conformance runner. Returns ({case that failed: why}, None), or (None, why there is no answer)."""
    with tempfile.TemporaryDirectory() as scratch:
        answer = os.path.join(scratch, "conform.json")
        command = [os.path.join(checkout.root, "tools", "sluice"), "conform", *folders, *options, "--json", answer]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, errors="replace")
        try:
            with open(answer, encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError):
            last = (result.stderr.strip().splitlines() or ["no message"])[-1]
            return None, f"sluice conform ended with status {result.returncode} and no report: {last}"
    failed = {}
    for failure in report["failures"]:
        failed.setdefault(failure["case"], f"step {failure.get('step')}: {failure.get('why', '')}")
    if len(failed) != report["failed"]:
        return None, f"sluice conform reports {report['failed']} failed cases and names {len(failed)}"
    return failed, None


def read_patterns(path):
    """The patterns of tests/conformance.txt, one a line, "#" begins a comment."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        texts = (line.split("#", 1)[0].strip() for line in lines)
        return [text for text in texts if text]


def run_goldens(checkout, tally, arguments):
    """Runs our own cases: every one must pass, but for those that wait for work still to be done; they are counted
    and printed, never called passed, and must leave the list when they pass."""
    folder = os.path.join(checkout.root, "tests", "goldens")
    cases = cases_below(folder) if os.path.isdir(folder) else {}
    chosen = [case for case in cases if matches(arguments.filter, f"goldens/{case}")]
    if not chosen:
        return
    failed, trouble = conform(checkout, [folder])
    if trouble:
        tally.add("goldens", trouble)
        return
    waiting = set(read_patterns(os.path.join(checkout.root, "tests", "goldens", "waiting.txt")))
    for how in ("inline", "call"):  # Calling changes no answer.
        failed_so, trouble = conform(checkout, [folder], ["--functions", how])
        if trouble:
            tally.add(f"goldens --functions {how}", trouble)
            continue
        for case in chosen:
            if (case in failed_so) != (case in failed):
                tally.add(f"goldens/{case} --functions {how}", failed_so.get(case, "passes, but not by default"))
    for case in chosen:
        if case not in waiting:
            tally.add(f"goldens/{case}", failed.get(case))
        elif case not in failed:
            tally.add(f"goldens/{case}", "passes: take it off tests/goldens/waiting.txt")
    for case in sorted(waiting - set(cases)):
        tally.add(f"tests/goldens/waiting.txt: {case}", "no case has this name")
    print(f"goldens: {len(cases) - len(failed)} of {len(cases)} cases pass, {len(waiting)} wait", flush=True)


def run_shared_cases(checkout, tally, arguments):
    """Runs the cases beside the checkout: the listed ones must pass, the others are only counted."""
    folder = os.path.join(os.path.dirname(checkout.root), "shared", "conformance")
    if not os.path.isdir(folder):
        return
    patterns = read_patterns(os.path.join(checkout.root, "tests", "conformance.txt"))
    cases = cases_below(folder)
    listed = {case for pattern in patterns for case in fnmatch.filter(cases, pattern)}
    if arguments.filter and not any(matches(arguments.filter, f"conformance/{case}") for case in listed):
        return
    failed, trouble = conform(checkout, [folder])
    if trouble:
        tally.add("conformance", trouble)
        return
    for case in sorted(listed):
        if matches(arguments.filter, f"conformance/{case}"):
            tally.add(f"conformance/{case}", failed.get(case))
    for pattern in patterns:
        if not fnmatch.filter(cases, pattern):
            tally.add(f"tests/conformance.txt: {pattern}", "no case has this name")
    print(f"conformance: {len(cases) - len(failed)} of {len(cases)} cases pass, {len(listed)} listed", flush=True)


# -----------------------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/test", add_help=False, allow_abbrev=False)
    parser.add_argument("--root", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--sanitize", nargs="?", const="asan,tsan")
    parser.add_argument("--filter")
    arguments = parser.parse_args()
    for name in (arguments.sanitize or "asan").split(","):
        if name not in SANITIZERS:
            parser.error(f"--sanitize knows {', '.join(SANITIZERS)}, not '{name}'")
    return arguments


def main():
    arguments = parse_arguments()
    checkout = Checkout(arguments.root, arguments.state)
    tally = Tally()
    parts = []
    if arguments.sanitize:
        for name in arguments.sanitize.split(","):
            tags = ("lint", f"no-{name}")
            parts.append((f"tests under {name}", lambda name=name, tags=tags: run_tests(
                checkout, tally, arguments, SANITIZERS[name], f"[{name}] ", tags)))
    else:
        parts.append(("tests", lambda: run_tests(checkout, tally, arguments)))
        if not arguments.fast:
            parts.append(("examples", lambda: run_examples(checkout, tally, arguments)))
        parts.append(("goldens", lambda: run_goldens(checkout, tally, arguments)))
        parts.append(("conformance", lambda: run_shared_cases(checkout, tally, arguments)))
    for name, run in parts:
        start, before = time.monotonic(), tally.passed + len(tally.failures)
        run()
        cases = tally.passed + len(tally.failures) - before
        if cases:
            print(f"{name}: {cases} cases in {time.monotonic() - start:.1f} s", flush=True)
    if tally.passed == 0 and not tally.failures:
        tally.add("tools/test", "nothing was run: no name matches")
    tally.print_summary()
    return 1 if tally.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("tools/test: interrupted")

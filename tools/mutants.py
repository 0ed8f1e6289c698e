"""Mutation testing: the share of small faults in the code that the tests find.

``python tools/mutants.py --state mutants.jsonl`` makes a random sample of mutants, each
with one small fault in a module of ``TESTED_BY``, in a copy of the checkout. A test of
the module must fail: a test of the fast tier, or else of the exhaustive tier. The tool
runs the tests of the fast tier that execute the line of the fault, the quickest first.
To find these tests, it first runs the whole fast tier with coverage.py. The options
``--fast`` and ``--seconds`` omit tests, so that a sample takes an hour; ``--again``
runs all tests for the mutants that survived.

The state file has a line for each mutant, and an interrupted run continues.
``--report`` prints the survivors and the scores. ``equivalent_mutants.txt`` lists
mutants that change no result, each with its reason; the report prints a second score
without these mutants. Several processes can share a sample: ``--part 0/2`` and
``--part 1/2``, with different state files.
"""

import argparse
import ast
import copy
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from functools import cache
from importlib import import_module
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).parent / "equivalent_mutants.txt"
# The modules to mutate, and the tests that must detect the faults.
TESTED_BY = {
    "skgeom/geometry": ["tests/geometry", "tests/properties/test_geometry.py"],
    "skgeom/objectives": [
        "tests/objectives",
        "tests/properties/test_objectives.py",
        "tests/test_structured_covariances.py",
    ],
    "skgeom/_prototypes/_metrics.py": ["tests/prototypes"],
    "skgeom/_prototypes/_losses.py": ["tests/prototypes"],
    "skgeom/_prototypes/plrsq.py": ["tests/prototypes", "tests/test_stubs.py"],
    "skgeom/_prototypes/_cost.py": ["tests/prototypes"],
    "skgeom/_prototypes/_minimization.py": [
        "tests/prototypes",
        "tests/test_progress.py",
    ],
    "skgeom/_prototypes/_sgd.py": ["tests/prototypes", "tests/test_progress.py"],
}
FAST, EXHAUSTIVE = "not exhaustive", "exhaustive"
MEMORY = 4 * 2**30  # bytes that a mutant may allocate
TOO_LONG = 1800  # seconds, for a mutant that does not end
NO_RUN = 99  # exit code if pytest was not started
NO_TESTS = 5  # exit code if no test belongs to the tier
OPTIONS = ["-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly"]

OTHER = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def changes(node):
    """Changes of a node: (attribute, or None for the node, new value)."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        if type(node.op) in OTHER:
            yield "op", OTHER[type(node.op)]()
    elif isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if type(op) in OTHER:
                yield "ops", [*node.ops[:i], OTHER[type(op)](), *node.ops[i + 1 :]]
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub | ast.Not):
            yield None, node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "value", not node.value
        elif isinstance(node.value, int):
            yield "value", node.value + 1
        elif isinstance(node.value, float):
            yield "value", node.value * 2 if node.value else 1.0
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "test", ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield None, ast.Pass()
    elif isinstance(node, ast.Call):
        if node.args and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp):
            yield None, node.args[0]


def parts(node):
    """The nodes to mutate: no messages, annotations or parameter constraints."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.Assign) and "constraints" in ast.unparse(child):
                continue
            yield node, field, index if isinstance(value, list) else None, child
            yield from parts(child)


def replaced(parent, field, index, new):
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def mutants_of(source):
    """Yield (line, what was, what is, source) for each mutant of a module."""
    tree = ast.parse(source)
    for parent, field, index, node in parts(tree):
        for name, value in changes(node):
            before, old = ast.unparse(node), copy.copy(node)
            if name is None:
                replaced(parent, field, index, value)
                after = ast.unparse(value)
            else:
                setattr(node, name, value)
                after = ast.unparse(node)
            yield node.lineno, before, after, ast.unparse(tree) + "\n"
            if name is None:
                replaced(parent, field, index, node)
            else:
                setattr(node, name, getattr(old, name))


@cache
def modules():
    """The tests of each module to mutate."""
    found = {}
    for place, tests in TESTED_BY.items():
        path = ROOT / place
        files = [path] if path.is_file() else sorted(path.glob("_*.py"))
        files += [] if path.is_file() else sorted(path.glob("[a-z]*.py"))
        for file in files:
            if file.name != "__init__.py":
                found[file.relative_to(ROOT).as_posix()] = tests
    return found


def sample(size, seed):
    """A random sample of (module, (line, what was, what is, source))."""
    found = [
        (module, mutant)
        for module in modules()
        for mutant in mutants_of((ROOT / module).read_text(encoding="utf-8"))
    ]
    print(f"{len(found)} mutants can be made.")
    return random.Random(seed).sample(found, size)


class Recorder:
    """A plugin of pytest: the lines that each test executes, and the time it takes."""

    def __init__(self, tree, file):
        self.coverage = coverage.Coverage(data_file=None, source_pkgs=["skgeom"])
        self.tree, self.file = tree, file
        self.seconds = {}

    def pytest_sessionstart(self):
        self.coverage.start()

    def pytest_collection_finish(self):
        for module in modules():  # no test is the one that imports a module
            import_module(module.removesuffix(".py").replace("/", "."))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_sessionfinish(self):
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            module: data.contexts_by_lineno(str(self.tree / module))
            for module in modules()
        }
        record = {"seconds": self.seconds, "lines": lines}
        self.file.write_text(json.dumps(record), encoding="utf-8")


class Chosen:
    """A plugin of pytest that runs some tests only, in the order they are named."""

    def __init__(self, names):
        self.order = {name: number for number, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])


def run_tests(tree, arguments, limit, plugins=()):
    """Result for a mutant: "survived", "killed", or "killed (time)"."""
    child = os.fork()
    if child == 0:
        try:
            os.setpgrp()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            os.chdir(tree)
            sys.path.insert(0, str(tree))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os._exit(pytest.main([*OPTIONS, *arguments], plugins))
        finally:  # never go on as a second process
            os._exit(NO_RUN)
    end = time.monotonic() + TOO_LONG
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == NO_RUN:
                raise SystemExit(f"No tests were run: {arguments}")
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                return "killed (time)"
            return "survived" if code in (0, NO_TESTS) else "killed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed (time)"


def unmutated(tree, arguments, plugins=()):
    """Run tests without a mutant, and return the seconds of processor time."""
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run_tests(tree, arguments, TOO_LONG, plugins) != "survived":
        raise SystemExit(f"The tests fail without a mutant: {arguments}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime - start.ru_utime - start.ru_stime


def import_plugins(tree):
    """Import the plugins of pytest and tests/conftest.py once, before the forks."""
    no_test = [
        "--collect-only",
        "--quiet",
        f"--ignore-glob={tree}/*test_*",
        f"{tree}/tests",
    ]
    pytest.main([*OPTIONS, *no_test])
    assert "skgeom" not in sys.modules  # mutants would not be imported


def record(tree, file):
    """Tests of the fast tier: their seconds, and the tests of each line of a module."""
    if not file.exists():
        paths = dict.fromkeys(path for paths in TESTED_BY.values() for path in paths)
        unmutated(tree, ["-m", FAST, *paths], [Recorder(tree, file)])
    return json.loads(file.read_text(encoding="utf-8"))


@cache
def exhaustive_seconds(tree, *paths):
    return unmutated(tree, ["-m", EXHAUSTIVE, *paths])


def tests_of_line(recorded, module, line, most):
    """The quickest tests that execute a line, and their seconds, ``most`` in all."""
    seconds, lines = recorded["seconds"], recorded["lines"][module]
    # A statement of several lines may be recorded by its first line.
    known = max((int(one) for one in lines if int(one) <= line), default=None)
    names = set(lines.get(str(known), []))
    if "" in names:  # executed by the import
        names = {name for tests in lines.values() for name in tests}
    chosen, total = {}, 0
    for name in sorted(names & seconds.keys(), key=seconds.get):
        total += seconds[name]
        if chosen and total > most:
            break
        chosen[name] = seconds[name]
    return chosen


def try_mutant(tree, module, source, chosen, fast):
    """The fate of a mutant, and the tier of the tests that killed it."""
    sys.dont_write_bytecode = True  # that of the mutants
    runs = []
    if chosen:
        files = dict.fromkeys(name.split("::")[0] for name in chosen)
        runs.append((FAST, sum(chosen.values()), files, [Chosen(chosen)]))
    if not fast:
        paths = modules()[module]
        runs.append((EXHAUSTIVE, exhaustive_seconds(tree, *paths), paths, []))
    fate = "survived"
    path = tree / module
    good = path.read_text(encoding="utf-8")
    for tier, seconds, files, plugins in runs:
        path.write_text(source, encoding="utf-8")
        try:
            limit = int(10 + 2 * seconds)
            fate = run_tests(tree, ["-m", tier, *files], limit, plugins)
        finally:
            path.write_text(good, encoding="utf-8")
        if fate != "survived":
            return fate, tier
    return fate, None


def described(line):
    """The mutant of a line of the state, as three lines of ``EQUIVALENT``."""
    before, after = (" ".join(line[name].split()) for name in ("before", "after"))
    return f"{line['module']}: {line.get('source', '')}\n- {before}\n+ {after}"


def equivalent_mutants():
    """The mutants that ``EQUIVALENT`` lists, without their reasons."""
    blocks = EQUIVALENT.read_text(encoding="utf-8").split("\n\n")
    return {"\n".join(block.strip().split("\n")[:3]) for block in blocks}


def report(lines):
    survived = [line for line in lines if line["fate"] == "survived"]
    known = equivalent_mutants()
    for line in sorted(survived, key=lambda line: (line["module"], line["line"])):
        if described(line) not in known:
            print(described(line), end="\n\n")
    n_equivalent = sum(described(line) in known for line in survived)
    for tiers in ([FAST], [FAST, EXHAUSTIVE]):
        killed = sum(line["tier"] in tiers for line in lines)
        for number in (len(lines), len(lines) - n_equivalent):
            share = killed / number
            print(f"Killed, {' or '.join(tiers)}: {killed} of {number}, {share:.1%}.")
    print(f"The lower numbers omit {n_equivalent} equivalent mutants.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--state", type=Path, nargs="+", required=True)
    parser.add_argument("--size", type=int, default=300, help="of the sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", help="of the sample, such as 0/2")
    parser.add_argument("--minutes", type=float, default=1e9, help="for this run")
    parser.add_argument("--again", action="store_true", help="what survived, once more")
    parser.add_argument("--fast", action="store_true", help="the fast tier only")
    parser.add_argument(
        "--seconds", type=float, default=1e9, help="of the fast tier, for each mutant"
    )
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    lines = [
        json.loads(line)
        for path in options.state
        if path.exists()
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    lines = list({line["number"]: line for line in lines}.values())  # the last of each
    if options.report:
        report(lines)
        return
    done = {line["number"] for line in lines}
    if options.again:
        done -= {line["number"] for line in lines if line["fate"] == "survived"}
    part, n_parts = map(int, options.part.split("/"))
    mutants = sample(options.size, options.seed)
    lines_of = {
        module: (ROOT / module).read_text(encoding="utf-8").splitlines()
        for module in modules()
    }
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        import_plugins(tree)
        recorded = record(tree, options.state[0].resolve().with_suffix(".record"))
        for number in range(part, options.size, n_parts):
            if number in done or time.monotonic() > end:
                continue
            module, (line, before, after, source) = mutants[number]
            start = time.monotonic()
            chosen = tests_of_line(recorded, module, line, options.seconds)
            fate, tier = try_mutant(tree, module, source, chosen, options.fast)
            result = {
                "number": number,
                "module": module,
                "line": line,
                "source": lines_of[module][line - 1].strip(),
                "before": before[:300],
                "after": after[:300],
                "fate": fate,
                "tier": tier,
                "seconds": round(time.monotonic() - start, 1),
            }
            with open(options.state[0], "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    # Imported once, before the forks; each fork imports skgeom.
    sys.path = [place for place in sys.path if Path(place).name != "tools"]
    os.environ["SCIPY_ARRAY_API"] = "1"  # as in tests/conftest.py
    for name in ("pymanopt", "pyriemann", "sklearn.utils.estimator_checks", "pandas"):
        import_module(name)
    main()

#!/usr/bin/env python3
"""Check which part of dts uses which: no import upward, none in a circle.

Reads the text of the sources and runs none of it: ``import`` and ``cimport`` lines, ``cdef extern
from "dts/..."``, and ``#include "dts/..."`` in C. The rules are those of docs/architecture.md.

Usage: ``python tools/check_layers.py [ROOT]`` (ROOT holds the folder ``dts``). Prints one line
per violation, ``file:line: reason``; exit code 1 if there is any.
"""

import argparse
import ast
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

# A room is a folder of dts/ or a module directly in it.
BASE = frozenset({"errors", "status", "sample", "threads"})
BELOW = {
    "errors": frozenset(),
    "status": frozenset(),
    "sample": frozenset({"status"}),
    "threads": frozenset({"status"}),
    "version": frozenset(),
    "config": frozenset({"errors"}),  # plain data: what crosses from Python to Cython
    "kernels": frozenset(),
    "rng": frozenset(),
    "format": BASE,
    "datasets": BASE,
    "decode": BASE,
    "storage": BASE | {"format"},
    "transforms": BASE | {"kernels", "rng"},
    # decode: export judges damage by the rules that loading will apply, and by no others
    "export": BASE | {"format", "datasets", "decode"},
    "loaders": BASE | {"storage", "format", "datasets", "rng", "config"},
    "pipeline": BASE | {"loaders", "decode", "transforms", "kernels", "config"},
}
# What stands on top of them, in layers: each may use all of BELOW, its own layer and those before.
# A module directly in dts/ that is named nowhere here is of the first layer.
TOP = (
    {"builder", "preprocessor"},
    {"dts"},  # the package itself: public names
    {"interop"},
    {"measure", "demo", "extract", "sheet", "cli", "__main__"},
)

SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".c", ".h"}


@dataclass(frozen=True)
class Use:
    """One line that names another part of dts."""

    path: Path
    line: int
    source: str  # dotted module the line stands in
    target: str  # dotted module it names
    text: str
    deferred: bool  # not done on import: a header, or inside a function


def rules(modules=()):
    """Return which rooms each room may use, as a dict of sets.

    Parameters
    ----------
    modules : iterable of str
        Names of the modules that stand directly in dts/.
    """
    allowed = {room: set(others) for room, others in BELOW.items()}
    reachable = set(BELOW)
    first, *others = TOP
    named = reachable.union(*others)
    for layer in (first | (set(modules) - named), *others):
        reachable |= layer
        allowed.update((room, set(reachable)) for room in layer)
    return allowed


def room_of(module):
    """Return the room of a dotted module name; the package itself is the room ``dts``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "dts"


class Tree:
    """The modules under ROOT/dts, and what their lines name."""

    def __init__(self, root):
        self.root = Path(os.path.abspath(root))
        self.files = sorted(
            p
            for p in (self.root / "dts").rglob("*")
            if p.suffix in SOURCES and p.relative_to(self.root).as_posix() != "dts/_cyutility.c"
        )
        self.known = set(self.files)
        self.modules = {"dts", *map(self.module_of, self.files)}
        for module in list(self.modules):  # folders are modules too
            parts = module.split(".")
            self.modules.update(".".join(parts[:k]) for k in range(1, len(parts)))

    def module_of(self, path):
        relative = path.relative_to(self.root)
        if path.suffix in {".c", ".h"}:
            # C belongs to the room of its folder; a header directly in dts/ is its own room.
            in_room = len(relative.parts) > 2
            return ".".join(relative.parts[:2] if in_room else ("dts", path.stem))
        parts = relative.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def uses(self):
        """Yield a `Use` for every line that names dts."""
        for path in self.files:
            text = path.read_text(encoding="utf-8")
            if path.suffix in {".c", ".h"}:
                found = includes(text)
            elif path.suffix in {".py", ".pyi"}:
                found = python_imports(text)
            else:
                found = cython_imports(text)
            source = self.module_of(path)
            for line, kind, name, members, deferred in found:
                for target in self.resolve(path, source, kind, name, members):
                    relative = path.relative_to(self.root)
                    yield Use(relative, line, source, target, name, deferred)

    def resolve(self, path, source, kind, name, members):
        if kind == "header":
            if name.startswith("dts/"):
                return [self.module_of(self.root / name)]
            beside = Path(os.path.normpath(path.parent / name))
            return [self.module_of(beside)] if beside in self.known else []
        level = len(name) - len(name.lstrip("."))
        if level:
            parts = source.split(".")
            keep = len(parts) - level + (path.stem == "__init__")
            name = ".".join(parts[: max(keep, 0)] + [p for p in [name.lstrip(".")] if p])
        if name != "dts" and not name.startswith("dts."):
            return []
        if not members:
            return [name]
        targets = [f"{name}.{m}" if f"{name}.{m}" in self.modules else name for m in members]
        return list(dict.fromkeys(targets))


def python_imports(text):
    """Yield (line, kind, module, members, deferred) of the import statements of Python text."""
    waiting = [(ast.parse(text), False)]
    while waiting:
        node, deferred = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, "module", alias.name, [], deferred
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            yield node.lineno, "module", name, [alias.name for alias in node.names], deferred
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            deferred = True  # never done at all
        deferred = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting.extend((child, deferred) for child in ast.iter_child_nodes(node))


def logical_lines(text):
    """Split Cython text into statements.

    Comments are dropped, brackets and backslashes join lines, and a string is replaced by a
    number in braces so that nothing inside it is read as code.

    Yields
    ------
    tuple of (int, bool, str, list of str)
        Line of the statement's first character, whether it is indented, the statement, the
        strings in it.
    """
    position, line, depth = 0, 1, 0
    start, indented, out, strings = 1, False, [], []
    opening = re.compile(r"[rRbBuUfFcC]{0,2}('''|\"\"\"|'|\")")
    while position < len(text):
        char = text[position]
        if not out:
            start = line
            indented = text[text.rfind("\n", 0, position) + 1 : position].isspace()
        quote = opening.match(text, position)
        if quote and not (out and (out[-1].isalnum() or out[-1] == "_")):
            mark = quote.group(1)
            end = quote.end()
            while end < len(text) and not text.startswith(mark, end):
                if text[end] == "\n" and len(mark) == 1:
                    break  # not a string after all, or a broken file: Cython will say so
                end += 2 if text[end] == "\\" else 1
            strings.append(text[quote.end() : end])
            out.append(f"{{{len(strings) - 1}}}")
            line += text.count("\n", position, end)
            position = end + (len(mark) if text.startswith(mark, end) else 0)
            continue
        if char == "#":
            position = text.find("\n", position)
            if position < 0:
                break
            continue
        if char == "\\" and text.startswith("\n", position + 1):
            out.append(" ")
            position += 2
            line += 1
            continue
        if char == "\n" or (char == ";" and not depth):
            if depth:
                out.append(" ")
            else:
                if "".join(out).strip():
                    yield start, indented, "".join(out).strip(), strings
                out, strings = [], []
            line += char == "\n"
            position += 1
            continue
        depth += char in "([{"
        depth -= char in ")]}" and depth > 0
        if out or not char.isspace():
            out.append(char)
        position += 1
    if "".join(out).strip():
        yield start, indented, "".join(out).strip(), strings


_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+c?import\s+(.+)$")
_IMPORT = re.compile(r"c?import\s+(.+)$")
_EXTERN = re.compile(r"cdef\s+(?:public\s+)?extern\s+from\s+(?:\{(\d+)\}|\*)")


def cython_imports(text):
    """Yield (line, kind, name, members, deferred) of what Cython text imports or includes."""
    verbatim = False  # the C text that may follow `cdef extern from ...:`
    for line, indented, statement, strings in logical_lines(text):
        # `if x: cimport y` and `try: import z` on one line
        statement = re.sub(r"^(?:if|elif|else|try|except|finally)\b[^:]*:\s*", "", statement)
        if verbatim and statement.startswith("{0}"):
            for offset, *rest in includes(strings[0]):
                yield line + offset - 1, *rest
        verbatim = False
        if found := _EXTERN.match(statement):
            verbatim = True
            if found.group(1) is not None:
                yield line, "header", strings[int(found.group(1))].strip("<>"), [], True
        elif found := _FROM.match(statement):
            names = [
                part.split()[0] for part in found.group(2).strip("() ").split(",") if part.strip()
            ]
            yield line, "module", found.group(1).replace(" ", ""), names, indented
        elif found := _IMPORT.match(statement):
            for part in found.group(1).split(","):
                if part.strip():
                    yield line, "module", part.split()[0], [], indented


def includes(text):
    """Yield (line, kind, header, [], True) of the #include lines of C text."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())  # noqa: E731
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line):
            yield number, "header", found.group(1), [], True


def cycles(edges):
    """Return the circles of a graph: its strongly connected parts with more than one member."""
    index, low, on_stack, stack, parts = {}, {}, set(), [], []
    for origin in sorted(edges):
        if origin in index:
            continue
        work = [(origin, iter(sorted(edges[origin])))]
        index[origin] = low[origin] = len(index)
        stack.append(origin)
        on_stack.add(origin)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        part.append(member)
                        if member == node:
                            break
                    if len(part) > 1:
                        parts.append(sorted(part))
    return parts


def check(root):
    """Return the violations under `root`, each ``file:line: reason``, sorted by place.

    A circle is one of imports that are done when a module is imported: one inside a function
    keeps to the directions too, but may close a circle (`Preprocessor.setup` makes a `Setup`,
    whose `commit` makes a `Preprocessor`).
    """
    tree = Tree(root)
    allowed = rules(
        room_of(tree.module_of(path))
        for path in tree.files
        if path.suffix == ".py" and path.parent == tree.root / "dts"
    )
    problems = []
    edges, where = {}, {}
    for path in tree.files:
        relative = path.relative_to(tree.root)
        room = room_of(tree.module_of(path))
        if room not in allowed:
            problems.append((relative, 1, f"no rule for the room {room!r}: add it to BELOW"))
        if path.suffix == ".c" and path.with_suffix(".pyx").exists():
            problems.append((relative, 1, "a C file with the name of a .pyx: Cython's output"))
    for use in tree.uses():
        source, target = room_of(use.source), room_of(use.target)
        if source != target and target not in allowed.get(source, ()):
            problems.append((use.path, use.line, f"{source} may not use {target} ({use.text})"))
        runs = use.path.suffix in {".py", ".pyx"} and not use.deferred
        if runs and use.source != use.target:
            edges.setdefault(use.source, set()).add(use.target)
            where.setdefault((use.source, use.target), (use.path, use.line))
    problems.extend(
        (path.relative_to(tree.root), 1, "no .pxi files: use a .pxd and cimport")
        for path in (tree.root / "dts").rglob("*.pxi")
    )
    for part in cycles(edges):
        for (source, target), (path, line) in sorted(where.items()):
            if source in part and target in part:
                problems.append((path, line, f"circle: {source} uses {target}"))
    return [f"{path}:{line}: {reason}" for path, line, reason in sorted(problems)]


def main(argv=None):
    """Print the violations; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent)
    problems = check(parser.parse_args(argv).root)
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} violation(s)" if problems else "layers: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

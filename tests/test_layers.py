"""The dependency rules of docs/architecture.md hold, and the check that says so can fail."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / "tools" / "check_layers.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_layers", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def tree(tmp_path):
    """Return a function: write {path: text} into a small valid tree, return its root."""

    def write(files):
        small = {
            "dts/__init__.py": "",
            "dts/errors.py": "",
            "dts/status.h": "",
            "dts/status.pxd": 'cdef extern from "dts/status.h" nogil:\n    pass\n',
        }
        rooms = ("kernels", "rng", "format", "datasets", "decode", "storage", "export")
        for room in (*rooms, "transforms", "loaders", "pipeline"):
            small[f"dts/{room}/__init__.py"] = ""
        for name, text in {**small, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_this_repository_keeps_the_rules(tool):
    assert tool.check(ROOT) == []


def test_the_check_reads_the_files_it_should(tool):
    uses = list(tool.Tree(ROOT).uses())
    assert {"dts.status", "dts.sample"} <= {use.target for use in uses}
    assert {".h", ".pxd"} <= {use.path.suffix for use in uses}


def test_a_small_valid_tree_is_clean(tool, tree):
    root = tree(
        {
            "dts/loaders/core.pyx": "from dts.format cimport block\nfrom dts.rng import philox\n",
            "dts/format/block.pxd": "from dts.status cimport dts_error\n",
            "dts/format/block.pyx": "import numpy as np\nfrom dts import errors\n",
            "dts/decode/engine.c": '#include "engine.h"\n#include <stdio.h>\n',
            "dts/decode/engine.h": "",
            "dts/decode/__init__.py": "from dts.decode.jpeg import decode\n",
            "dts/decode/jpeg.pyx": 'cdef extern from "dts/decode/engine.h":\n    pass\n',
            "dts/rng/philox.py": "",
        }
    )
    assert tool.check(root) == []


@pytest.mark.parametrize(
    ("path", "text", "line", "reason"),
    [
        (
            "dts/kernels/a.py",
            "x = 1\nfrom dts.errors import DtsError\n",
            2,
            "kernels may not use errors",
        ),
        ("dts/rng/a.py", "def f():\n    import dts.errors\n", 2, "rng may not use errors"),
        ("dts/format/a.py", "from ..loaders import x\n", 1, "format may not use loaders"),
        ("dts/format/a.py", "from .. import loaders\n", 1, "format may not use loaders"),
        ("dts/export/a.py", "from dts import loaders as l\n", 1, "export may not use loaders"),
        ("dts/export/a.py", "from dts import Preprocessor\n", 1, "export may not use dts"),
        ("dts/format/a.pyi", "import dts.storage\n", 1, "format may not use storage"),
        (
            "dts/decode/a.pyx",
            "cimport numpy, dts.format.block as b\n",
            1,
            "decode may not use format",
        ),
        (
            "dts/decode/a.pxd",
            "\nfrom dts.kernels cimport (\n    x,\n    y)\n",
            2,
            "may not use kernels",
        ),
        (
            "dts/storage/a.pyx",
            "from dts.loaders \\\n  cimport x\n",
            1,
            "storage may not use loaders",
        ),
        (
            "dts/decode/a.pyx",
            "def f(): pass\nif 1: from dts.rng cimport p\n",
            2,
            "may not use rng",
        ),
        (
            "dts/kernels/a.pyx",
            'cdef extern from "dts/status.h":\n    pass\n',
            1,
            "may not use status",
        ),
        (
            "dts/kernels/a.pxd",
            'cdef extern from *:\n    """\n    #include "dts/status.h"\n    """\n',
            3,
            "kernels may not use status",
        ),
        ("dts/kernels/a.c", '/* x\n */\n #  include "../rng/p.h"\n', 3, "kernels may not use rng"),
        ("dts/kernels/a.h", '#include "dts/sample.h"\n', 1, "kernels may not use sample"),
        ("dts/newroom/a.py", "", 1, "no rule for the room 'newroom'"),
        ("dts/format/a.pxi", "", 1, "no .pxi"),
    ],
)
def test_a_violation_is_found_with_file_and_line(tool, tree, path, text, line, reason):
    found = tool.check(tree({"dts/rng/p.h": "", path: text}))
    assert len(found) == 1
    assert found[0].startswith(f"{path}:{line}: ")
    assert reason in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "# from dts.loaders import x\n",
        '"""Text.\n\nfrom dts.loaders import x\n"""\n',
        "x = 'from dts.loaders import x'\n",
        'cdef char c = b"\\""[0]  # "\ny = """\\"""\nimport dts.loaders\n"""\n',
        "important = 1\nfrom_dts = 2\n",
        "cimport numpy\nfrom libc.stdint cimport int32_t\n",
    ],
)
def test_what_only_looks_like_an_import_is_left_alone(tool, tree, text):
    assert tool.check(tree({"dts/format/a.pyx": text})) == []


def test_a_new_module_beside_the_rooms_stands_on_top_of_them(tool, tree):
    root = tree(
        {
            "dts/fresh.py": "import dts.pipeline\nfrom dts import errors\nimport dts.cli\n",
            "dts/builder.py": "from dts import fresh\n",
            "dts/cli.py": "",
            "dts/format/a.py": "from dts import fresh\n",
        }
    )
    assert tool.check(root) == [
        "dts/format/a.py:1: format may not use fresh (dts)",
        "dts/fresh.py:3: fresh may not use cli (dts.cli)",
    ]


def test_a_circle_is_found_on_all_its_lines(tool, tree):
    root = tree(
        {
            "dts/format/a.py": "from dts.format import b\n",
            "dts/format/b.py": "\nfrom dts.format.c import x\n",
            "dts/format/c.pyx": "from . cimport a\n",
        }
    )
    assert tool.check(root) == [
        "dts/format/a.py:1: circle: dts.format.a uses dts.format.b",
        "dts/format/b.py:2: circle: dts.format.b uses dts.format.c",
        "dts/format/c.pyx:1: circle: dts.format.c uses dts.format.a",
    ]


def test_an_import_inside_a_function_closes_no_circle_but_keeps_the_direction(tool, tree):
    root = tree(
        {
            "dts/format/a.py": "from dts.format import b\n",
            "dts/format/b.py": "def f():\n    from dts.format import a\n    import dts.rng\n",
            "dts/format/c.pyx": "from dts.format import d\n",
            "dts/format/d.pyx": "def f():\n    from dts.format import c\n",
        }
    )
    assert tool.check(root) == ["dts/format/b.py:3: format may not use rng (dts.rng)"]


def test_a_c_file_beside_a_pyx_of_its_name_is_found(tool, tree):
    found = tool.check(tree({"dts/format/a.pyx": "", "dts/format/a.c": ""}))
    assert found == ["dts/format/a.c:1: a C file with the name of a .pyx: Cython's output"]


def test_the_rules_themselves_have_no_circle_below_the_top(tool):
    assert tool.cycles(tool.BELOW) == []
    assert sorted(tool.cycles(tool.rules())) == sorted(
        sorted(layer) for layer in tool.TOP if len(layer) > 1
    )


def test_as_a_command_it_prints_and_fails(tree):
    root = tree({"dts/rng/a.py": "import dts.errors\n"})
    done = subprocess.run(
        [sys.executable, str(TOOL), str(root)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "dts/rng/a.py:1: rng may not use errors" in done.stdout

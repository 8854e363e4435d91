"""Extension modules and compiler flags; every static fact lives in pyproject.toml."""

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG = os.environ.get("DTS_DEBUG") == "1"  # bounds checks and line tracing
ABI3 = os.environ.get("DTS_LIMITED_API") == "1"  # one cp311-abi3 wheel
SANITIZE = os.environ.get("DTS_SANITIZE", "")  # "address,undefined" or "thread"

UNIX_CFLAGS = [
    "-std=gnu11",
    "-O3",
    "-pthread",
    "-fvisibility=hidden",
    "-ffp-contract=off",  # same bits on every instruction set
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
]
MSVC_CFLAGS = ["/std:c11", "/experimental:c11atomics", "/O2", "/fp:precise"]

MACROS: list[tuple[str, str | None]] = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_1_25_API_VERSION"),
]
if ABI3:
    MACROS.append(("Py_LIMITED_API", "0x030B0000"))
if DEBUG:
    MACROS += [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")]

DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "embedsignature": True,
    "cdivision": True,
    "wraparound": False,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "linetrace": DEBUG,
}

SHARED = "dts._cyutility"  # one copy of Cython's memoryview code, not one per module

# Modules that also compile C. Every other .pyx is found by itself. No JPEG library is linked:
# it is opened at import (docs/architecture.md).
C_SOURCES = {
    "dts.kernels.kernels": "dts/kernels/*.c",
    "dts.decode.jpeg": "dts/decode/*.c",
    "dts.format.crc": "dts/format/*.c",
}
# Let loops be made vectors of; change no bits.
UNIX_EXTRA = {"dts.kernels.kernels": ["-fno-math-errno", "-fno-trapping-math"]}
LIBRARIES = {"dts.decode.jpeg": [] if os.name == "nt" else ["dl"]}


def extension(pyx):
    name = ".".join(pyx.with_suffix("").parts)
    c_sources = sorted(Path().glob(C_SOURCES[name])) if name in C_SOURCES else []
    headers = [*Path("dts").glob("*.h"), *pyx.parent.glob("*.h"), *pyx.parent.glob("*.pxd")]
    return Extension(
        name,
        sources=[str(pyx), *map(str, c_sources)],
        depends=[str(pyx), *map(str, headers)],  # rebuild rule, and what puts them in the sdist
        include_dirs=[np.get_include(), "."],
        libraries=LIBRARIES.get(name, []),
        define_macros=MACROS,
        py_limited_api=ABI3,
    )


class BuildExt(build_ext):
    """Add the flags of whichever compiler was found; use every core."""

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count()

    def build_extensions(self):
        msvc = self.compiler.compiler_type == "msvc"
        cflags = list(MSVC_CFLAGS if msvc else UNIX_CFLAGS)
        ldflags = [] if msvc else ["-pthread"]
        if SANITIZE:
            cflags += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g", "-O1"]
            ldflags += [f"-fsanitize={SANITIZE}"]
        for ext in self.extensions:
            ext.extra_compile_args = cflags + ([] if msvc else UNIX_EXTRA.get(ext.name, []))
            ext.extra_link_args = ldflags
        super().build_extensions()


setup(
    ext_modules=cythonize(
        [
            Extension(SHARED, ["dts/_cyutility.c"], define_macros=MACROS, py_limited_api=ABI3),
            *map(extension, sorted(Path("dts").rglob("*.pyx"))),
        ],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        build_dir="build/cython-debug" if DEBUG else "build/cython",
        nthreads=os.cpu_count() or 1,
        annotate=DEBUG,
    ),
    cmdclass={"build_ext": BuildExt},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)

# Sourced by the other scripts: finds or installs what building dts needs, and keeps a virtual
# environment with dts in it (editable: the package is the working tree, modules built in place).
#
#   PYTHON    interpreter to use                       (default: the first python3 that is 3.11+)
#   DTS_VENV  where the virtual environment lies        (default: .venv in the repository)

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=${DTS_VENV:-$ROOT/.venv}
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '== %s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Install Debian packages; says what to type where it may not.
apt_install() {
    local as_root=()
    command -v apt-get >/dev/null || die "please install: $* (or what your system calls them)"
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || die "please run: sudo apt-get install $*"
        as_root=(sudo)
    fi
    say "installing $*"
    "${as_root[@]}" apt-get update -qq >/dev/null
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null >/dev/null
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# Ask the interpreter whether it can make environments and compile extensions, by compiling one.
python_lacks() {
    "$1" - <<'EOF'
import os, shlex, subprocess, sys, sysconfig, tempfile

try:
    import ensurepip, venv
except ImportError:
    print("venv")
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    print("dev")
compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "try.c")
    with open(source, "w") as f:
        f.write("#include <pthread.h>\n#include <stdio.h>\nint main(void) { return 0; }\n")
    command = [*compiler, source, "-o", os.path.join(folder, "try")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("compiler")
EOF
}

need_system() {
    local python lacks version packages=()
    python=$(find_python) || {
        apt_install python3
        python=$(find_python) || die "no Python 3.11 or newer; name one: PYTHON=/path/to/python3"
    }
    lacks=$(python_lacks "$python")
    if [ -n "$lacks" ]; then
        version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        case $lacks in *venv*) packages+=("$version-venv") ;; esac
        case $lacks in *dev*) packages+=("$version-dev") ;; esac
        case $lacks in *compiler*) packages+=(gcc libc6-dev) ;; esac
        apt_install "${packages[@]}"
        lacks=$(python_lacks "$python")
        [ -z "$lacks" ] || die "$python still lacks: $(tr '\n' ' ' <<<"$lacks")"
    fi
    BASE_PYTHON=$python
}

# need_dts EXTRA...: the virtual environment, dts in it with these extras, all modules up to date.
need_dts() {
    local stamp="$VENV/dts-installed" wanted extra
    if ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
        need_system
        say "making $VENV"
        "$BASE_PYTHON" -m venv --clear "$VENV"
    fi
    # Installed once per set of dependencies; after that only what changed is compiled.
    wanted="$ROOT $(cksum <"$ROOT/pyproject.toml")"
    if [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$wanted" ]; then
        need_system
        say "installing what dts is built with"
        "$VENV/bin/python" - "$ROOT/pyproject.toml" <<'EOF' >"$VENV/build-requires.txt"
import sys, tomllib

with open(sys.argv[1], "rb") as f:
    print("\n".join(tomllib.load(f)["build-system"]["requires"]))
EOF
        "$VENV/bin/python" -m pip install -q -r "$VENV/build-requires.txt"
        say "building and installing dts"
        "$VENV/bin/python" -m pip install -q --no-build-isolation -e "$ROOT"
        printf '%s\n' "$wanted" >"$stamp"
    else
        (cd "$ROOT" && "$VENV/bin/python" setup.py -q build_ext --inplace)
    fi
    for extra in "$@"; do
        grep -qx "$extra" "$stamp" && continue
        say "installing the extra [$extra]"
        "$VENV/bin/python" - "$ROOT/pyproject.toml" "$extra" <<'EOF' >"$VENV/extra.txt"
import sys, tomllib

with open(sys.argv[1], "rb") as f:
    print("\n".join(tomllib.load(f)["project"]["optional-dependencies"][sys.argv[2]]))
EOF
        "$VENV/bin/python" -m pip install -q -r "$VENV/extra.txt"
        printf '%s\n' "$extra" >>"$stamp"
    done
}

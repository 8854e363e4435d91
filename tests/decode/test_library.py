"""Which library is taken, and whether our structures are the library's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dts import decode
from dts.errors import DecodeError

ROOT = Path(__file__).parents[2]


def python(code, **environment):
    """Run code in a new interpreter; returns its output, or its error's last line."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


KIND = "from dts import decode; print(decode.library_info()['kind'])"


def test_none_forces_the_fallback():
    assert python(KIND, DTS_JPEG_LIB="none") == "simplejpeg"


def test_default_is_pillows_library_and_pillow_is_not_imported():
    code = (
        "import sys; from dts import decode; i = decode.library_info();"
        "print('PIL' in sys.modules, 'simplejpeg' in sys.modules, i['path'], i['rejected'])"
    )
    out = python(code, DTS_JPEG_LIB="")
    if "pillow.libs" not in out:
        pytest.skip("this Pillow is not a wheel with a library inside")
    assert out.startswith("False False ")
    assert out.endswith(" []")


def test_a_named_library_is_taken_or_refused_with_the_reason(tmp_path, libjpeg):
    path = decode.library_info()["path"]
    code = "from dts import decode; print(decode.library_info()['path'])"
    assert python(code, DTS_JPEG_LIB=path) == path
    missing = python(KIND, DTS_JPEG_LIB=str(tmp_path / "missing.so"))
    assert missing.startswith("ImportError: DTS_JPEG_LIB=")
    assert "missing.so" in missing
    assert "No such file" in missing


COMPILER = shutil.which("cc") or shutil.which("gcc")


def compile_c(tmp_path, source, *flags):
    """Compile a C file; returns (done, what the compiler said)."""
    path = tmp_path / "test.c"
    path.write_text(source)
    command = [COMPILER, f"-I{ROOT}", *flags, str(path), "-o", str(tmp_path / "out.so")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stderr


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("int nothing;", "has no jpeg_std_error"),
        (
            # Every function is there, but the messages are not libjpeg's.
            "static const char *table[1]; struct err { void *f[5]; int code; int param[20];"
            " int level; long warnings; const char **table; int last; };"
            "void *jpeg_std_error(struct err *e) { e->table = table; e->last = 0; return e; }"
            + "".join(
                f"void jpeg_{name}(void) {{}}"
                for name in (
                    "CreateDecompress",
                    "destroy_decompress",
                    "read_header",
                    "start_decompress",
                    "crop_scanline",
                    "skip_scanlines",
                    "read_scanlines",
                    "abort_decompress",
                    "resync_to_restart",
                )
            ),
            "its messages are not those of libjpeg",
        ),
    ],
)
def test_libraries_that_are_no_libjpeg(source, reason, tmp_path):
    assert compile_c(tmp_path, source, "-shared", "-fPIC")[0]
    before = decode.library_info()
    with pytest.raises(OSError, match=reason):
        decode.use_backend(str(tmp_path / "out.so"))
    assert decode.library_info()["path"] == before["path"]


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_a_library_that_decodes_wrongly_is_refused(tmp_path, libjpeg):
    """A shim over the real library that asks for its rough colour upsampling."""
    info = decode.library_info()
    names = (
        "std_error",
        "CreateDecompress",
        "destroy_decompress",
        "read_header",
        "crop_scanline",
        "skip_scanlines",
        "read_scanlines",
        "abort_decompress",
        "resync_to_restart",
    )
    source = f"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #define DTS_JPEG_ABI {info["abi"]}
        #include "dts/decode/libjpeg.h"
        static void *real(const char *name) {{
            return dlsym(dlopen("{info["path"]}", RTLD_NOW), name);
        }}
        long jpeg_start_decompress(ljpeg_decompress *c) {{
            c->do_fancy_upsampling = 0;
            return ((long (*)(void *))real("jpeg_start_decompress"))(c);
        }}
    """ + "".join(
        f"""long jpeg_{name}(long a, long b, long c) {{
            return ((long (*)(long, long, long))real("jpeg_{name}"))(a, b, c);
        }}"""
        for name in names
    )
    assert compile_c(tmp_path, source, "-shared", "-fPIC", "-ldl")[0]
    with pytest.raises(OSError, match="decodes a known picture to other pixels"):
        decode.use_backend(str(tmp_path / "out.so"))


OFFSETS = """
#ifdef OTHER_ABI
#define JCONFIG_INCLUDED
#define JPEG_LIB_VERSION OTHER_ABI
#define BITS_IN_JSAMPLE 8
#endif
#include <stdio.h>
#include <jpeglib.h>
#define DTS_JPEG_ABI JPEG_LIB_VERSION
#include "dts/decode/libjpeg.h"
#define SAME(ours, theirs, field) \\
    _Static_assert(offsetof(ours, field) == offsetof(struct theirs, field), #field); \\
    _Static_assert(sizeof(((ours *)0)->field) == sizeof(((struct theirs *)0)->field), #field)
#define C(field) SAME(ljpeg_decompress, jpeg_decompress_struct, field)
#define E(field) SAME(ljpeg_error, jpeg_error_mgr, field)
#define S(field) SAME(ljpeg_source, jpeg_source_mgr, field)
C(err); C(progress); C(src); C(image_width); C(image_height); C(num_components);
C(out_color_space); C(dct_method); C(do_fancy_upsampling); C(input_scan_number);
C(input_iMCU_row); C(coef_bits); C(comp_info); C(progressive_mode); C(max_v_samp_factor);
C(unread_marker); C(marker);
E(error_exit); E(emit_message); E(output_message); E(format_message); E(reset_error_mgr);
E(msg_code); E(msg_parm); E(trace_level); E(num_warnings); E(jpeg_message_table);
E(last_jpeg_message);
S(next_input_byte); S(bytes_in_buffer); S(init_source); S(fill_input_buffer);
S(skip_input_data); S(resync_to_restart); S(term_source);
_Static_assert(sizeof(ljpeg_source) == sizeof(struct jpeg_source_mgr), "source");
_Static_assert(sizeof(ljpeg_progress) == sizeof(struct jpeg_progress_mgr), "progress");
_Static_assert(sizeof(ljpeg_error) >= sizeof(struct jpeg_error_mgr) + 64, "error manager");
_Static_assert(sizeof(ljpeg_decompress) == sizeof(struct jpeg_decompress_struct), "decompressor");
_Static_assert(sizeof(ljpeg_component) == sizeof(jpeg_component_info), "component");
_Static_assert(offsetof(ljpeg_component, quant_table) ==
               offsetof(jpeg_component_info, quant_table), "quant_table");
C(scale_num); C(scale_denom); C(arith_code); C(restart_interval); C(max_h_samp_factor);
C(comps_in_scan); C(entropy);
#define NAMED(ours, our, theirs, their) \\
    _Static_assert(offsetof(ours, our) == offsetof(theirs, their), #our); \\
    _Static_assert(sizeof(((ours *)0)->our) == sizeof(((theirs *)0)->their), #our)
#define D(our, their) NAMED(ljpeg_decompress, our, struct jpeg_decompress_struct, their)
D(dc_tables, dc_huff_tbl_ptrs); D(ac_tables, ac_huff_tbl_ptrs); D(mcus_per_row, MCUs_per_row);
D(scan_components, cur_comp_info); D(mcu_rows, MCU_rows_in_scan);
D(blocks_in_mcu, blocks_in_MCU); D(mcu_membership, MCU_membership);
NAMED(ljpeg_component, dc_table_number, jpeg_component_info, dc_tbl_no);
NAMED(ljpeg_component, ac_table_number, jpeg_component_info, ac_tbl_no);
NAMED(ljpeg_component, component_needed, jpeg_component_info, component_needed);
NAMED(ljpeg_huffman, counts, JHUFF_TBL, bits); NAMED(ljpeg_huffman, symbols, JHUFF_TBL, huffval);
_Static_assert((int)LJPEG_GRAYSCALE == JCS_GRAYSCALE && (int)LJPEG_RGB == JCS_RGB &&
               (int)LJPEG_CMYK == JCS_CMYK && (int)LJPEG_ISLOW == JDCT_ISLOW, "constants");
_Static_assert(LJPEG_MESSAGE == JMSG_LENGTH_MAX, "message buffer");
"""


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("abi", [None, 62, 80])
def test_structures_are_those_of_the_real_header(abi, tmp_path):
    header = "#include <stdio.h>\n#include <jpeglib.h>\n"
    if not compile_c(tmp_path, header, "-fsyntax-only")[0]:
        pytest.skip("no jpeglib.h")
    flags = [] if abi is None else [f"-DOTHER_ABI={abi}"]
    done, said = compile_c(tmp_path, OFFSETS, "-fsyntax-only", "-std=gnu11", *flags)
    assert done, said


def test_info(backend):
    info = decode.library_info()
    assert Path(info["path"]).exists()
    if backend == "simplejpeg":
        assert (info["kind"], info["abi"], info["simd"]) == ("simplejpeg", None, None)
    else:
        assert info["kind"] in ("libjpeg-turbo", "libjpeg")
        assert info["abi"] in (62, 80)
    assert info["version"][0].isdigit()


def test_a_decoder_keeps_its_library(photo, libjpeg):
    file = photo(subsampling="4:2:0")
    first = decode.Decoder()
    decode.use_backend("simplejpeg")
    second = decode.Decoder()
    missing_end = file[:-2]
    assert first.decode(missing_end).shape == (48, 64, 3)
    with pytest.raises(DecodeError, match="simplejpeg: "):
        second.decode(missing_end)
    assert (first.decode(file) == second.decode(file)).all()

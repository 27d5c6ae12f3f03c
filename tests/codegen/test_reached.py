"""What of the text above kernels they get."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fusecuda.codegen.reached import CutText
from fusecuda.cpu_fallback import texts
from tests import marks, vecmath_harness

TEXT = """\
// About the file.

#include <stdint.h>
#include <math.h>
#define TWICE(x) ((x) + (x))
#define OF(t, T) \\
    typedef struct { T a; } pair_##t; \\
    static T made_##t(T x) { return TWICE(x) + base(x); } \\
    static T other_##t(T x) { return x; }

/* What all
   call. */
static double base(double x) { return x; }

OF(f64, double)
OF(f32, float)
#if defined(__AVX__)
enum { WIDE = 4, NARROW = 2 };
static const double table[] = { 1, 2 }, more[] = { 3 };
#else
enum { WIDE = 2 };
#endif
#if defined(FC_WANTS_quick)
#define base quick
double _ZGVdN4vv_quick(double x, double y) { return table[0]; }
__attribute__((simd)) double quick(double x, double y);
#endif
static double rounded(double x) { return rint(x); }
int64_t seen(void) { return 7; }
"""
ALWAYS = "#include <stdint.h>\nint64_t seen(void) { return 7; }"


def reached(asking: str, *wanted: str) -> list[str]:
    lines = CutText(TEXT).reached([asking], wanted).split("\n")
    return [line for line in lines if line not in ALWAYS.split("\n")]


def test_what_nobody_names_is_left_out() -> None:
    assert CutText(TEXT).reached(["x = y;"]) == ALWAYS
    assert CutText("").reached(["x = y;"]) == ""


def test_names_that_macros_make_are_found() -> None:
    lines = reached("y = other_f32(x);")
    assert "OF(f32, float)" in lines
    assert "OF(f64, double)" not in lines
    assert "#define TWICE(x) ((x) + (x))" in lines
    assert reached("pair_f64 p;") == reached("y = made_f64(x);")


def test_comments_right_above_come_along() -> None:
    assert reached("base") == ["/* What all", "   call. */", TEXT.split("\n")[12]]


def test_all_sides_of_a_choice_are_there() -> None:
    lines = reached("for (i = 0; i < WIDE;)")
    assert lines[0] == "#if defined(__AVX__)"
    assert lines[-3:] == ["#else", "enum { WIDE = 2 };", "#endif"]
    assert reached("more")[-2:] == ["#else", "#endif"]
    assert any("table" in line for line in reached("more[0]"))


def test_what_is_wanted_is_there_and_nothing_else() -> None:
    assert not any("quick" in line for line in reached("base(1)"))
    lines = reached("base(1)", "quick")
    assert "#define base quick" in lines
    assert any("_ZGVdN4vv_quick" in line for line in lines), "vector functions are called by name"
    assert any("table[]" in line for line in lines)


def test_a_header_is_there_for_what_it_declares() -> None:
    assert reached("rounded(x)")[0] == "#include <math.h>"
    assert reached("table[0]")[0] != "#include <math.h>"


_CUT = CutText(texts.prelude())
_NAMES = sorted(
    {
        name
        for place in range(len(_CUT.items))
        for name in _CUT._names_declared(place)
        if re.match("(?i)fc_", name)
    }
)


def test_the_text_of_a_small_kernel_is_short() -> None:
    text = texts.unit(texts.prelude(), ["int64_t k(int64_t a) { return fc_min(a, 1); }"], "")
    assert len(text) < 2_500
    assert "fc_max" not in text


_USUAL = ("fc_sin_f64", *_NAMES[::40])


@pytest.mark.parametrize(
    "name", marks.chosen(dict.fromkeys((*_USUAL, *marks.in_turn(_NAMES))), _USUAL)
)
def test_all_that_is_reached_is_whole(name: str, tmp_path: Path) -> None:
    """No text names what only the whole has: a compiler takes it for each of the processors."""
    targets = [[]]
    if "__x86_64__" in vecmath_harness.said_by("cc", "-dM", "-E", "-"):
        targets = [[f"-march=x86-64{v}"] for v in ("", "-v3", "-v4")]
    wanted = name.removeprefix("fc_").replace("power", "pow")
    text = _CUT.reached([name], [wanted])
    (tmp_path / "part.c").write_text(f"#define FC_WANTS_{wanted}\n{text}")
    for flags in targets:
        command = ["cc", "-std=c11", "-fsyntax-only", "-Werror=implicit-function-declaration"]
        vecmath_harness.run([*command, *flags, str(tmp_path / "part.c")])

"""Planted bugs in what meets the machine: the cache, the compiler, threads, the driver."""

from __future__ import annotations

from .mutation import Mutation
from .mutation import ids as _ids

_CACHE, _COMPILER = "codegen/cache.py", "cpu_fallback/compiler.py"
_INVOKE, _SCRATCH = "cpu_fallback/invoke.py", "cpu_fallback/scratch.py"

MACHINE = (
    Mutation(
        "no-pack-goes-far",
        "cpu_fallback/vecmath_packs.h",
        "if (__builtin_expect(far != 0, 0))",
        "if (__builtin_expect(far == 1, 0))",
        "an angle next to a multiple of pi/2 is reduced the short way where loops are vectorised",
        _ids("vecmath", "a_far_angle_leaves_its_pack_alone[float64]"),
    ),
    Mutation(
        "far-angles-are-near",
        "cpu_fallback/vecmath_trig_f64.h",
        "(fc_abs(r) < 0x1p-26)",
        "(fc_abs(r) < 0x1p-70)",
        "an angle next to a multiple of pi/2 loses digits",
        _ids("vecmath", "reduction_next_to_multiples_of_half_pi[cos]"),
    ),
    Mutation(
        "rare-powers-are-near",
        "cpu_fallback/vecmath_packs.h",
        "(fc_abs(p.hi + p.lo) < 708.0)",
        "(fc_abs(p.hi + p.lo) < 7080.0)",
        "a power that overflows wraps around where loops are vectorised",
        _ids("vecmath", "a_seldom_power_leaves_its_pack_alone[float64]"),
    ),
    Mutation(
        "logarithm-loses-its-tail",
        "cpu_fallback/vecmath_f64.h",
        "fc_fma(slope, tail, tail)",
        "tail",
        "powers of bases near 1 with large exponents are wrong by a unit and a half",
        _ids("vecmath", "large_powers_near_1_are_within_bounds"),
    ),
    Mutation(
        "ties-round-twice",
        "cpu_fallback/quick_fma.py",
        "(rest != result) | (result == 0)",
        "result == 0",
        "without a compiler a sum next to a tie is rounded twice",
        _ids("vecmath_digests", "quick_multiply_add_has_the_bits_of_the_text[f64]"),
    ),
    Mutation(
        "owner-unchecked",
        _CACHE,
        "stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()",
        "stat.S_ISREG(status.st_mode)",
        "an entry of another user's is loaded",
        _ids("kernel_cache", "what_is_judged_is_the_file_that_was_opened"),
    ),
    Mutation(
        "mode-unchecked",
        _CACHE,
        "if not ours or status.st_mode & _OTHERS_WRITE:",
        "if not ours:",
        "an entry that others may write is loaded",
        _ids("kernel_cache", "an_entry_that_others_could_have_written_is_a_miss_and_goes"),
    ),
    Mutation(
        "said-each-time",
        _CACHE,
        "            self._told = True\n",
        "",
        "a cache that does not work says so at each use",
        _ids("kernel_cache", "a_folder_that_cannot_be_is_no_cache_and_says_so_once"),
    ),
    Mutation(
        "our-arguments-win",
        "cpu_fallback/commands.py",
        "return (*argv[:end], *flags, *argv[end:])",
        "return (*argv, *flags)",
        "the arguments of FUSECUDA_CC lose against ours",
        _ids("compiler", "arguments_of_the_environment_win_over_ours"),
    ),
    Mutation(
        "doubt-forgotten",
        _COMPILER,
        "            _doubt(self)\n",
        "",
        "a compiler that hangs is waited for at each kernel",
        _ids("compiler_trouble", "a_kernel_that_takes_too_long_puts_its_compiler_in_doubt"),
    ),
    Mutation(
        "memory-of-another-machine",
        _COMPILER,
        'return digest_of(_FORMAT, "last", chosen, target_features())',
        'return digest_of(_FORMAT, "last", chosen)',
        "what was compiled for another CPU is loaded where there is no compiler",
        _ids("compiler_trouble", "nothing_serves_on_an_unlike_machine"),
    ),
    Mutation(
        "never-complains",
        _INVOKE,
        "            patience.complain()\n",
        "",
        "a slow probe is waited for in silence",
        _ids("compiler_trouble", "a_slow_probe_is_waited_for_and_said_once"),
    ),
    Mutation(
        "one-place",
        _SCRATCH,
        "        except OSError as error:\n            problem = problem or error\n",
        "        except OSError:\n            raise\n",
        "a full temporary folder is the end, though there are others",
        _ids("compiler_trouble", "where_one_place_is_full_the_next_is_tried"),
    ),
    Mutation(
        "pointers-of-any-size",
        "cpu_fallback/program.py",
        "if _POINTER_BYTES != 8:",
        "if _POINTER_BYTES > 8:",
        "frames with words of 64 bits are given to kernels with pointers of 32",
        _ids(
            "without_compiler",
            "pointers_of_32_bits_are_refused_before_anything_native_is_made",
        ),
    ),
    Mutation(
        "one-spelling",
        "cpu_fallback/shared_library.py",
        'format(next(_numbers), "b")',
        'format(1, "b")',
        "the loader takes a new library for an earlier one",
        _ids("compiler_cache", "libraries_keep_no_descriptor_open"),
    ),
    Mutation(
        "threads-unbounded",
        "cpu_fallback/threads.py",
        "return min(_MOST, counts[0])",
        "return counts[0]",
        "memory is laid out for more threads than the driver can start",
        _ids("threads", "a_whole_number_is_taken"),
    ),
)

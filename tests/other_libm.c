/* A C library as another machine might have it: to be loaded before the system's, whose
 * elementary functions it changes by one in the last place, up or down.
 * Results of few digits stay, as exact cases do everywhere.  A test that fails under it
 * takes the bits of one machine for the truth.
 *
 *   cc -O1 -fPIC -shared -fno-builtin other_libm.c -o other_libm.so -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

static double other(double x, double r) {
    uint64_t u, v;
    memcpy(&u, &r, 8), memcpy(&v, &x, 8);
    uint64_t exponent = u >> 52 & 0x7ff, hash = (v ^ (v >> 29) ^ (u << 7)) * 0x9e3779b97f4a7c15u;
    if (exponent == 0 || exponent == 0x7ff || (u & 0xfffff) == 0) return r;
    u += hash >> 63 ? 1 : (uint64_t)-1;
    memcpy(&r, &u, 8);
    return r;
}

static float otherf(float x, float r) {
    uint32_t u, v;
    memcpy(&u, &r, 4), memcpy(&v, &x, 4);
    uint32_t exponent = u >> 23 & 0xff, hash = (v ^ (v >> 13) ^ (u << 7)) * 0x9e3779b9u;
    if (exponent == 0 || exponent == 0xff || (u & 0x7ff) == 0) return r;
    u += hash >> 31 ? 1 : (uint32_t)-1;
    memcpy(&r, &u, 4);
    return r;
}

#define ONE(name, T, change) \
    T name(T x) { \
        static T (*real)(T); \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return change(x, real(x)); \
    }
#define TWO(name, T, change) \
    T name(T x, T y) { \
        static T (*real)(T, T); \
        if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
        return change(x, real(x, y)); \
    }
#define BOTH(how, name) how(name, double, other) how(name##f, float, otherf)

BOTH(ONE, exp) BOTH(ONE, exp2) BOTH(ONE, expm1) BOTH(ONE, log) BOTH(ONE, log2)
BOTH(ONE, log10) BOTH(ONE, log1p) BOTH(ONE, sin) BOTH(ONE, cos) BOTH(ONE, tan)
BOTH(ONE, asin) BOTH(ONE, acos) BOTH(ONE, atan) BOTH(ONE, sinh) BOTH(ONE, cosh)
BOTH(ONE, tanh) BOTH(ONE, asinh) BOTH(ONE, acosh) BOTH(ONE, atanh) BOTH(ONE, cbrt)
BOTH(ONE, erf) BOTH(ONE, erfc) BOTH(TWO, pow) BOTH(TWO, atan2) BOTH(TWO, hypot)

// The ABI between a plan and its kernels, the same for every back end: pointers, extents, strides,
// scalars, status word, workspace, work range.
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FC_INLINE static inline
// What runs once for hundreds of elements: inlined at each of its calls it would only be compiled
// again and again.
#define FC_OUTLINE static __attribute__((noinline))

#ifdef __TINYC__  // has few builtins, but functions of the same names
#define __builtin_copysign copysign
#define __builtin_copysignf copysignf
#define __builtin_fabs fabs
#define __builtin_fabsf fabsf
#define __builtin_inf() INFINITY
#define __builtin_inff() INFINITY
#define __builtin_nan(text) NAN
#define __builtin_nanf(text) NAN
#define __builtin_rint rint
#define __builtin_sqrt sqrt
#define __builtin_sqrtf sqrtf
#endif

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FC_ROUNDED(x) __builtin_assoc_barrier(x)
#define FC_OF_WHOLE(T, v) ((T)__builtin_assoc_barrier(v))  // else a float's would be cut, to -0.0
#else
#define FC_ROUNDED(x) (x)
#define FC_OF_WHOLE(T, v) ((v) ? (T)(v) : 0)
#endif

typedef struct { float re, im; } fc_c64;
typedef struct { double re, im; } fc_c128;

typedef union {
    uint8_t pred;
    int8_t s8; int16_t s16; int32_t s32; int64_t s64;
    uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
    uint16_t f16, bf16; float f32; double f64;
    fc_c64 c64; fc_c128 c128;
} fc_scalar;

typedef struct {
    char *const *ptr;         // one for each address form, its offset applied
    const int64_t *dim;       // parts, part length, extents, strides, limits
    const fc_scalar *scalar;  // constants and scalar arguments
    int64_t *status;          // 0, or 1 + the site of an element that may not be computed; behind it
                              // how many elements a compaction has
    char *workspace;          // partial results and row values, shared by the threads
    int64_t phase;            // of rows that are cut into parts: the pass over them that is due
    int64_t streams;          // whether results go to memory past the caches
    int64_t again;            // whether elements may be computed twice: none is written where it is read
} fc_args;

typedef void fc_kernel(const fc_args *a, int64_t begin, int64_t end, char *scratch);
typedef void fc_finish(const fc_args *a);

// One kernel with its numbers. Those that share a launch stand side by side, the first of them with
// their number: kernels that need nothing of each other.
typedef struct {
    fc_kernel *kernel;
    fc_finish *finish;
    const int64_t *dim;
    const int64_t *place;     // for each address form: buffer, byte offset
    int64_t forms;
    int64_t work, grain;      // items, and items below which a thread is not worth its start
    int64_t scalar, status;   // index of the first scalar, and of the status word
    int64_t workspace;        // byte offset in the block
    int64_t scratch, scratch_size;  // byte offset in the block, bytes for each thread
    int64_t phases;           // passes, each begun when all threads are through with the one before
    int64_t streams, again;   // see fc_args
    const int64_t *series;    // what is done by it and those behind it, band by band, or nothing
    int64_t company;          // kernels that share the launch
} fc_launch;

enum { FC_MOST_KERNELS = 32 };  // of one launch

// A series: where its strips are in the block, their bytes for each thread, whether results go to
// memory past the caches, how many parts it has, where the score of each begins, and the scores. A
// score says which items of a kernel are due, where the pointer of a form goes in the thread's
// strips, and which bytes of these move.
enum { FC_RUN, FC_SET, FC_MOVE, FC_END };
enum { FC_MOST_LOOPS = 16, FC_MOST_FORMS = 96 };

// A frame holds what differs from call to call, and what is to be run now. The bases arrive as array
// objects and become addresses; the last of them is the block of temporaries.
typedef struct {
    const fc_scalar *scalar;
    int64_t *status;
    char **ptr;               // room for the pointers of one launch, and for two of each argument
    char **base;
    int64_t bases, threads;
    const fc_launch *launches;
    int64_t count;            // kernels, in companies
    int64_t rests;            // whether a library with threads of its own comes next
    int64_t unresolved;       // so many bases are still array objects
    int64_t data;             // where an array object holds its data pointer
    const int64_t *layouts;   // what arguments have to be, or nothing; see fc_fits
} fc_frame;

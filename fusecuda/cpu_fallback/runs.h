// Runs of elements for which the test of an index has one answer: what lies outside an operand of a
// concatenation or a pad is read from a block of zeros instead of behind a mask.

static const double fc_zeros[512];

enum { FC_ROOM = 1024 };  // elements that wait on the stack
enum { FC_TALLIES = 4, FC_TALLIED = 512 };  // tallies of a place, and places that have them

// Whether so many places have tallies for so many elements: `pays` of fusion/tallies.py.
static inline bool fc_tallied(int64_t places, int64_t elements)
{
    return places <= FC_TALLIED && elements >= 16 * places;
}
enum { FC_BLOCK = 16 };   // elements at most that are computed at a time
enum { FC_NEAR = 256 };  // elements of a run that is walked again along short axes: they stay near

// What has been computed on the stack goes to memory past the caches, line by line. That is not in
// the order of other writes: who has written so settles it before saying that it is done.
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__AVX512F__)
typedef long long fc_line __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef long long fc_line __attribute__((vector_size(32)));
#else
typedef long long fc_line __attribute__((vector_size(16)));
#endif
FC_INLINE void fc_put_line(fc_line *out, fc_line line) {
#if defined(__clang__)
    __builtin_nontemporal_store(line, out);
#elif defined(__AVX512F__)
    __builtin_ia32_movntdq512(out, line);
#elif defined(__AVX__)
    __builtin_ia32_movntdq256(out, line);
#else
    __builtin_ia32_movntdq(out, line);
#endif
}
FC_INLINE void fc_stream(void *to, const void *from, size_t size) {
    char *out = (char *)to;
    const char *in = (const char *)from;
    const size_t ahead = -(uintptr_t)out & 63;
    if (size >= ahead + 64) {
        memcpy(out, in, ahead);
        out += ahead, in += ahead, size -= ahead;
        for (; size >= 64; out += 64, in += 64, size -= 64)
            for (size_t k = 0; k < 64; k += sizeof(fc_line)) {
                fc_line line;
                memcpy(&line, in + k, sizeof line);
                fc_put_line((fc_line *)(out + k), line);
            }
    }
    memcpy(out, in, size);
}
FC_INLINE void fc_settle(void) { __builtin_ia32_sfence(); }
#else
FC_INLINE void fc_stream(void *to, const void *from, size_t size) { memcpy(to, from, size); }
FC_INLINE void fc_settle(void) {}
#endif

// Truths for a loop of wide numbers, and what it found for memory.
FC_INLINE void fc_widen(int64_t *to, const uint8_t *from, int64_t count) {
    for (int64_t k = 0; k < count; ++k) to[k] = from[k];
}
FC_INLINE void fc_narrow(uint8_t *to, const int64_t *from, int64_t count) {
    for (int64_t k = 0; k < count; ++k) to[k] = (uint8_t)from[k];
}

// Where a block of `size` elements begins whose turn comes at `block`: the last one ends where the run
// does, if elements may be computed again.
FC_INLINE int64_t fc_block(int64_t block, int64_t run, int64_t size, int64_t again) {
    return again && run >= size ? fc_min(block, run - size) : block;
}

// How many of the `left` elements of a run are computed behind each other from a block on: all of its
// whole blocks, of which a compiler sees that nothing is left, or one that is not.
FC_INLINE int64_t fc_blocks(int64_t left, int64_t size) { return (left < size ? size : left) & -size; }

// `to`, with the `left` elements of a run at steps from `from` on and, behind them, copies of the last.
FC_OUTLINE const void *fc_copied(void *to, const void *from, int64_t step, int64_t left, int64_t size,
                                 size_t width) {
    char *const at = (char *)to;
    const char *const in = (const char *)from;
    for (int64_t k = 0; k < size; ++k)
        memcpy(at + k * width, in + (k < left ? k : left - 1) * step * width, width);
    return to;
}

// Every second element of 4 bytes of a block from `from` on, to where they lie side by side. Behind the
// last one nothing is read: the second of two vectors begins with the last element of the first.
FC_INLINE void fc_second_4(void *to, const void *from, int64_t size) {
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX__)
#if defined(__AVX512F__)
    typedef uint32_t fc_words __attribute__((vector_size(64)));
    const fc_words places = {0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31};
#else
    typedef uint32_t fc_words __attribute__((vector_size(32)));
    const fc_words places = {0, 2, 4, 6, 9, 11, 13, 15};
#endif
    const int64_t lanes = sizeof places / sizeof(uint32_t);
    for (int64_t k = 0; k < size; k += lanes) {
        fc_words a, b;
        memcpy(&a, (const uint32_t *)from + 2 * k, sizeof a);
        memcpy(&b, (const uint32_t *)from + 2 * k + lanes - 1, sizeof b);
        a = __builtin_shuffle(a, b, places);
        memcpy((uint32_t *)to + k, &a, sizeof a);
    }
#else
    fc_copied(to, from, 2, size, size, sizeof(uint32_t));
#endif
}

// Narrow elements at any step, to and from a place where they lie side by side: of a loop over such
// steps gcc makes no vectors. A step it knows, as between the colours of pixels, is one of shuffles.
#define FC_PICK(T, W)                                                                              \
    FC_INLINE void fc_pick_by_##W(T *restrict to, const char *from, int64_t step, int64_t run) {   \
        for (int64_t k = 0; k < run; ++k) to[k] = *(const T *)(from + k * step);                   \
    }                                                                                              \
    FC_OUTLINE void fc_pick_##W(void *to, const void *from, int64_t step, int64_t run) {           \
        switch (step) {                                                                            \
        case 0: fc_pick_by_##W(to, from, 0, run); break;                                           \
        case W: memcpy(to, from, (size_t)run * W); break;                                          \
        case 2 * W: fc_pick_by_##W(to, from, 2 * W, run); break;                                   \
        case 3 * W: fc_pick_by_##W(to, from, 3 * W, run); break;                                   \
        case 4 * W: fc_pick_by_##W(to, from, 4 * W, run); break;                                   \
        default: fc_pick_by_##W(to, from, step, run);                                              \
        }                                                                                          \
    }                                                                                              \
    FC_OUTLINE void fc_put_##W(void *to, const T *restrict from, int64_t step, int64_t run) {      \
        char *const out = (char *)to;                                                              \
        if (step == W) memcpy(out, from, (size_t)run * W);                                         \
        else for (int64_t k = 0; k < run; ++k) *(T *)(out + k * step) = from[k];                   \
    }
FC_PICK(uint8_t, 1)
FC_PICK(uint16_t, 2)

// The elements of a run that lie across it, and those behind each of them, put along the run: so few
// that the lines they are read from, and the places they are put to, stay near. No processor foresees
// where lines of rows far apart are read next.
enum { FC_TURN = 16 };
FC_INLINE void fc_ahead(const void *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)from + at);
}
#if defined(__AVX512F__)
#define FC_LINE 64  // bytes of a register
#elif defined(__AVX__)
#define FC_LINE 32
#else
#define FC_LINE 16
#endif
#if defined(__GNUC__) && !defined(__clang__)
// A square of as many lines is turned in registers: of halves, quarters and so on the corners change.
#define FC_CHANGED(W, N, apart)                                                                    \
    for (int k = 0; apart < N && k < N; ++k)                                                       \
        if (!(k & apart)) fc_change_##W(&line[k], &line[(k + apart) % N], apart);
#define FC_SQUARE(T, W, N)                                                                         \
    typedef T fc_line_##W __attribute__((vector_size(FC_LINE)));                                   \
    FC_INLINE void fc_change_##W(fc_line_##W *a, fc_line_##W *b, int apart) {                      \
        fc_line_##W upper, lower, x = *a, y = *b;                                                  \
        for (int j = 0; j < N; ++j) {                                                              \
            upper[j] = (T)(j & apart ? N + j - apart : j);                                         \
            lower[j] = (T)(j & apart ? N + j : j + apart);                                         \
        }                                                                                          \
        *a = __builtin_shuffle(x, y, upper);                                                       \
        *b = __builtin_shuffle(x, y, lower);                                                       \
    }                                                                                              \
    FC_INLINE void fc_square_##W(T (*restrict rows)[FC_NEAR], const char *from, int64_t step) {    \
        fc_line_##W line[N];                                                                       \
        for (int k = 0; k < N; ++k) memcpy(&line[k], from + k * step, sizeof *line);               \
        FC_CHANGED(W, N, 1) FC_CHANGED(W, N, 2) FC_CHANGED(W, N, 4) FC_CHANGED(W, N, 8)            \
        for (int i = 0; i < N; ++i) memcpy(rows[i], &line[i], sizeof *line);                       \
    }
#else
#define FC_SQUARE(T, W, N)                                                                         \
    FC_INLINE void fc_square_##W(T (*restrict rows)[FC_NEAR], const char *from, int64_t step) {    \
        for (int i = 0; i < N; ++i)                                                                \
            for (int k = 0; k < N; ++k) rows[i][k] = ((const T *)(from + k * step))[i];            \
    }
#endif
#define FC_TURNED(T, W)                                                                            \
    FC_SQUARE(T, W, (FC_LINE / W))                                                                 \
    FC_OUTLINE void fc_turn_##W(void *to, const void *from, int64_t step, int64_t run,             \
                                int64_t count) {                                                   \
        T(*restrict rows)[FC_NEAR] = (T(*)[FC_NEAR])to;                                            \
        const char *const start = (const char *)from;                                              \
        const int side = FC_LINE / W;                                                              \
        int64_t k = 0;                                                                             \
        for (int64_t i = 0; i < run; ++i)                                                          \
            fc_ahead(start + i * step + FC_TURN * W, FC_TURN * W);                                 \
        for (; count == FC_TURN && k + side <= run; k += side)                                     \
            for (int i = 0; i < FC_TURN; i += side)                                                \
                fc_square_##W((T(*)[FC_NEAR])&rows[i][k], start + k * step + i * W, step);         \
        for (; k < run; ++k)                                                                       \
            for (int64_t i = 0; i < count; ++i)                                                    \
                rows[i][k] = ((const T *)(start + k * step))[i];                                   \
    }
FC_TURNED(uint32_t, 4)
FC_TURNED(uint64_t, 8)

// Few narrow elements that lie together, as the colours of pixels: the runs of each are put side by side
// first, and then written together, for of a store at steps gcc makes no vectors.
enum { FC_GROUP = 4 };  // elements at most
FC_INLINE bool fc_is_group(int64_t count, int64_t step, int64_t inner, int64_t width) {
    return count > 1 && count <= FC_GROUP && inner == width && step == count * width;
}
#define FC_PUT_GROUP(T, W)                                                                         \
    FC_OUTLINE void fc_put_group_##W(void *to, const T (*restrict near)[FC_NEAR], int64_t count,   \
                                     int64_t run) {                                                \
        T *restrict out = (T *)to;                                                                 \
        if (count == 2)                                                                            \
            for (int64_t k = 0; k < run; ++k, out += 2) out[0] = near[0][k], out[1] = near[1][k];  \
        else if (count == 3)                                                                       \
            for (int64_t k = 0; k < run; ++k, out += 3)                                            \
                out[0] = near[0][k], out[1] = near[1][k], out[2] = near[2][k];                     \
        else                                                                                       \
            for (int64_t k = 0; k < run; ++k, out += 4)                                            \
                out[0] = near[0][k], out[1] = near[1][k], out[2] = near[2][k], out[3] = near[3][k]; \
    }
FC_PUT_GROUP(uint8_t, 1)
FC_PUT_GROUP(uint16_t, 2)

// The steps, at most run, for which at, at + step, … stays on its side of 0 and of limit.
FC_INLINE int64_t fc_stretch(int64_t run, int64_t at, int64_t step, int64_t limit) {
    int64_t room;  // distance to the side that the walk heads for, less one
    if (step > 0 && at < limit) room = (at < 0 ? -1 : limit - 1) - at;
    else if (step < 0 && at >= 0) room = at - (at < limit ? 0 : limit);
    else return run;
    if (step != 1) room /= step < 0 ? -step : step;
    return fc_min(run, room + 1);
}

// A choice by what is the same for all of a run. That the mask has all bits or none is hidden from
// the compiler, which would choose by a bool again and then not vectorise.
static const uint64_t fc_masks[2] = {0, ~(uint64_t)0};

#define FC_CHOICE(t, T, U)                                                                         \
    FC_INLINE T fc_choose_##t(uint64_t mask, T a, T b) {                                           \
        U u, v;                                                                                    \
        memcpy(&u, &a, sizeof u);                                                                  \
        memcpy(&v, &b, sizeof v);                                                                  \
        u = (U)((u & (U)mask) | (v & ~(U)mask));                                                   \
        memcpy(&a, &u, sizeof a);                                                                  \
        return a;                                                                                  \
    }

FC_CHOICE(pred, bool, uint8_t)
FC_CHOICE(s8, int8_t, uint8_t)
FC_CHOICE(s16, int16_t, uint16_t)
FC_CHOICE(s32, int32_t, uint32_t)
FC_CHOICE(s64, int64_t, uint64_t)
FC_CHOICE(u8, uint8_t, uint8_t)
FC_CHOICE(u16, uint16_t, uint16_t)
FC_CHOICE(u32, uint32_t, uint32_t)
FC_CHOICE(u64, uint64_t, uint64_t)
FC_CHOICE(f32, float, uint32_t)
FC_CHOICE(f64, double, uint64_t)

// The reduction tree (see graph/tree.py): lanes within a chunk, pairwise over chunks. FC_TREE makes
// it for one kind and element type; V is a value, P what is combined (a value, or one with its
// position), IDENTITY the P that leaves every other unchanged.

enum { FC_LANES = 32, FC_CHUNK = 512, FC_LEVELS = 48 };

#define FC_FOLDED(name) /* the lanes that are valid, in halves */                                  \
    for (int64_t w = FC_LANES / 2; w; w /= 2) {                                                    \
        for (int64_t l = 0; l + w < valid; ++l) lane[l] = fc_combine_##name(lane[l], lane[l + w]); \
        valid = valid < w ? valid : w;                                                             \
    }

#define FC_TREE(name, V, P, IDENTITY, LEAF, COMBINE)                                               \
    FC_NODES(name, V, P, IDENTITY, LEAF, COMBINE)                                                  \
    FC_INLINE P fc_fold_##name(const V *v, int64_t n, int64_t first) {                             \
        P lane[FC_LANES];                                                                          \
        int64_t valid = n < FC_LANES ? n : FC_LANES, k = valid;                                    \
        for (int64_t l = 0; l < valid; ++l) lane[l] = fc_leaf_##name(v[l], first + l);             \
        for (; k + FC_LANES <= n; k += FC_LANES)                                                   \
            for (int64_t l = 0; l < FC_LANES; ++l)                                                 \
                lane[l] = fc_combine_##name(lane[l], fc_leaf_##name(v[k + l], first + k + l));     \
        for (int64_t l = 0; k + l < n; ++l)                                                        \
            lane[l] = fc_combine_##name(lane[l], fc_leaf_##name(v[k + l], first + k + l));         \
        FC_FOLDED(name)                                                                            \
        return lane[0];                                                                            \
    }

// The same of floats, with all lanes at once: those that no element meets keep the identity, and what
// is behind the last whole number of lanes is looked at lane by lane. Loops that compute elements may
// take them as they come. (Of narrow integers GCC 12 fails to compile that.)
#define FC_LANED(name, V)                                                                          \
    FC_INLINE V fc_fold_##name(const V *v, int64_t n, int64_t first) {                             \
        fc_lanes_##name lanes;                                                                     \
        int64_t k = 0;                                                                             \
        fc_begin_##name(&lanes);                                                                   \
        for (; k + FC_LANES <= n; k += FC_LANES)                                                   \
            for (int l = 0; l < FC_LANES; ++l) fc_take_##name(&lanes, l, v[k + l]);                \
        for (int l = 0; k < n && l < FC_LANES; ++l)                                                \
            fc_take_##name(&lanes, l, l < n - k ? v[k + l] : fc_identity_##name());                \
        return fc_folded_##name(&lanes);                                                           \
    }
#define FC_FLOAT_TREE(name, V, IDENTITY, COMBINE)                                                  \
    FC_NODES(name, V, V, IDENTITY, v, COMBINE)                                                     \
    typedef struct { V value[FC_LANES]; } fc_lanes_##name;                                         \
    FC_INLINE void fc_begin_##name(fc_lanes_##name *t) {                                           \
        for (int l = 0; l < FC_LANES; ++l) t->value[l] = IDENTITY;                                 \
    }                                                                                              \
    FC_INLINE void fc_take_##name(fc_lanes_##name *t, int l, V v) {                                \
        t->value[l] = fc_combine_##name(t->value[l], v);                                           \
    }                                                                                              \
    FC_INLINE V fc_folded_##name(fc_lanes_##name *t) {                                             \
        V *const lane = t->value;                                                                  \
        FC_HALVED(name, 16) FC_HALVED(name, 8) FC_HALVED(name, 4) FC_HALVED(name, 2)               \
        return fc_combine_##name(lane[0], lane[1]);                                                \
    }                                                                                              \
    FC_LANED(name, V)
#define FC_HALVED(name, w)                                                                         \
    _Pragma("GCC unroll 1")                                                                        \
    for (int l = 0; l < w; ++l) lane[l] = fc_combine_##name(lane[l], lane[l + w]);

// The same of complex numbers, whose two parts F are added each for itself, as twice as many numbers.
#define FC_PAIRED_TREE(name, V, F, IDENTITY, MAKE, COMBINE)                                        \
    FC_NODES(name, V, V, IDENTITY, v, COMBINE)                                                     \
    FC_INLINE V fc_fold_##name(const V *v, int64_t n, int64_t first) {                             \
        const F *const part = (const F *)v;                                                        \
        F lane[2 * FC_LANES];                                                                      \
        int64_t k = 0;                                                                             \
        for (int l = 0; l < 2 * FC_LANES; ++l) lane[l] = -(F)0;                                    \
        for (; k + FC_LANES <= n; k += FC_LANES)                                                   \
            for (int l = 0; l < 2 * FC_LANES; ++l) lane[l] = lane[l] + part[2 * k + l];            \
        for (int l = 0; k < n && l < 2 * FC_LANES; ++l)                                            \
            lane[l] = lane[l] + (l < 2 * (n - k) ? part[2 * k + l] : -(F)0);                       \
        FC_PAIRED_HALF(32) FC_PAIRED_HALF(16) FC_PAIRED_HALF(8) FC_PAIRED_HALF(4)                  \
        FC_PAIRED_HALF(2)                                                                          \
        return MAKE(lane[0], lane[1]);                                                             \
    }
#define FC_PAIRED_HALF(w)                                                                          \
    _Pragma("GCC unroll 1")                                                                        \
    for (int l = 0; l < w; ++l) lane[l] = lane[l] + lane[l + w];

// The largest or smallest of floats: lanes are compared, and whether any element is NaN is noted in
// integers P as wide. Of two equal ones, zeros of either sign, the second one stays, as in COMBINE.
#define FC_EXTREME_TREE(name, V, P, IDENTITY, BETTER, COMBINE)                                     \
    FC_NODES(name, V, V, IDENTITY, v, COMBINE)                                                     \
    typedef struct { V value[FC_LANES]; P odd[FC_LANES]; } fc_lanes_##name;                        \
    FC_INLINE void fc_begin_##name(fc_lanes_##name *t) {                                           \
        for (int l = 0; l < FC_LANES; ++l) {                                                       \
            t->value[l] = IDENTITY;                                                                \
            t->odd[l] = 0;                                                                         \
        }                                                                                          \
    }                                                                                              \
    FC_INLINE void fc_take_##name(fc_lanes_##name *t, int l, V v) {                                \
        t->value[l] = t->value[l] BETTER v ? t->value[l] : v;                                      \
        t->odd[l] |= -(P)(v != v);                                                                 \
    }                                                                                              \
    FC_INLINE V fc_folded_##name(fc_lanes_##name *t) {                                             \
        V *const lane = t->value;                                                                  \
        P *const odd = t->odd;                                                                     \
        FC_EXTREME_HALF(BETTER, 16) FC_EXTREME_HALF(BETTER, 8) FC_EXTREME_HALF(BETTER, 4)          \
        FC_EXTREME_HALF(BETTER, 2) FC_EXTREME_HALF(BETTER, 1)                                      \
        return odd[0] ? (V)NAN : lane[0];                                                          \
    }                                                                                              \
    FC_LANED(name, V)
#define FC_EXTREME_HALF(BETTER, w)                                                                 \
    _Pragma("GCC unroll 1")                                                                        \
    for (int l = 0; l < w; ++l) {                                                                  \
        lane[l] = lane[l] BETTER lane[l + w] ? lane[l] : lane[l + w];                              \
        odd[l] |= odd[l + w];                                                                      \
    }

// What a tree is besides the fold of a chunk.
#define FC_NODES(name, V, P, IDENTITY, LEAF, COMBINE)                                              \
    typedef struct { P slot[FC_LEVELS]; int64_t count, top; } fc_tree_##name;                      \
    FC_INLINE P fc_leaf_##name(V v, int64_t i) { (void)i; return LEAF; }                           \
    FC_INLINE P fc_combine_##name(P a, P b) { return COMBINE; }                                    \
    FC_INLINE P fc_identity_##name(void) { return IDENTITY; }                                      \
    FC_INLINE void fc_start_##name(fc_tree_##name *t) { t->count = t->top = 0; }                   \
    FC_OUTLINE void fc_carry_##name(fc_tree_##name *t, P p) {                                      \
        for (int64_t c = t->count++; c & 1; c >>= 1)                                               \
            p = fc_combine_##name(t->slot[--t->top], p);                                           \
        t->slot[t->top++] = p;                                                                     \
    }                                                                                              \
    FC_OUTLINE P fc_total_##name(fc_tree_##name *t) {                                              \
        if (t->top == 0) return IDENTITY;                                                          \
        P p = t->slot[--t->top];                                                                   \
        while (t->top) p = fc_combine_##name(t->slot[--t->top], p);                                \
        return p;                                                                                  \
    }                                                                                              \
    FC_INLINE void fc_push_##name(fc_tree_##name *t, P p) {                                        \
        if (t->count) return fc_carry_##name(t, p);                                                \
        t->slot[0] = p; /* of most rows all there is */                                            \
        t->count = t->top = 1;                                                                     \
    }                                                                                              \
    FC_INLINE P fc_finish_##name(fc_tree_##name *t) {                                              \
        return t->top == 1 ? t->slot[0] : fc_total_##name(t);                                      \
    }

// The same across rows: rows of n values meet in a lane's, element by element. In the order of
// fc_turned, lanes that are through can be joined as they come: the last two that wait, and so on. What
// parts of chunks have left stands side by side; the first of them becomes what all have left.
enum { FC_PITCH = FC_CHUNK + 8 };  // between chunks of values: no power of two, for the caches' sake
static const int8_t fc_turned[FC_LANES] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                                           1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
#define FC_CROSS(name, V)                                                                          \
    FC_INLINE void fc_blank_##name(V *restrict to, int64_t n) {                                    \
        for (int64_t k = 0; k < n; ++k) to[k] = fc_identity_##name();                              \
    }                                                                                              \
    FC_INLINE void fc_meet_##name(V *restrict to, const V *restrict v, int64_t n) {                \
        for (int64_t k = 0; k < n; ++k) to[k] = fc_combine_##name(to[k], fc_leaf_##name(v[k], 0)); \
    }                                                                                              \
    FC_OUTLINE void fc_join_##name(V *restrict to, const V *restrict with, int64_t n) {            \
        for (int64_t k = 0; k < n; ++k) to[k] = fc_combine_##name(to[k], with[k]);                 \
    }                                                                                              \
    FC_OUTLINE void fc_foot_##name(V *left, int64_t chunks, int64_t parts, int64_t n) {            \
        for (int64_t w = parts / 2; w; w /= 2)                                                     \
            for (int64_t c = 0; c < chunks * parts; c += parts)                                    \
                for (int64_t l = c; l < c + w; ++l)                                                \
                    fc_join_##name(left + l * n, left + (l + w) * n, n);                           \
        for (int64_t apart = 1; apart < chunks; apart *= 2)                                        \
            for (int64_t c = 0; c + apart < chunks; c += 2 * apart)                                \
                fc_join_##name(left + c * parts * n, left + (c + apart) * parts * n, n);           \
    }

// argmax and argmin: the first of the largest; NaN is larger (smaller) than any number. Of a chunk
// the largest is found, and whether any is NaN, noted in integers P as wide as V, or nearly; then
// the first such element is looked for. What is behind a whole number of lanes is looked at twice.
// Where chunks end makes no difference; of what lies in memory they are longer.
enum { FC_SEARCHED = 4096 };
#define FC_IS_BETTER(a, BETTER, b) (!((b) BETTER##= (a)) & ((b) == (b)))
#define FC_ARG_TREE(name, V, P, BETTER)                                                            \
    typedef struct { V value; int64_t index; } fc_at_##name;                                       \
    FC_INLINE fc_at_##name fc_pair_##name(V v, int64_t i) {                                        \
        fc_at_##name p;                                                                            \
        p.value = v;                                                                               \
        p.index = i;                                                                               \
        return p;                                                                                  \
    }                                                                                              \
    FC_INLINE fc_at_##name fc_first_##name(fc_at_##name a, fc_at_##name b) {                       \
        if (a.index < 0) return b;                                                                 \
        if (b.index < 0) return a;                                                                 \
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;                         \
        if (a_nan | b_nan) return !b_nan || (a_nan && a.index < b.index) ? a : b;                  \
        if (a.value == b.value) return a.index < b.index ? a : b;                                  \
        return a.value BETTER b.value ? a : b;                                                     \
    }                                                                                              \
    FC_NODES(name, V, fc_at_##name, fc_pair_##name(0, -1), fc_pair_##name(v, i),                   \
             fc_first_##name(a, b))                                                                \
    FC_INLINE fc_at_##name fc_fold_##name(const V *v, int64_t n, int64_t first) {                  \
        V best[FC_LANES];                                                                          \
        P odd[FC_LANES];                                                                           \
        int64_t at = 0;                                                                            \
        if (n < FC_LANES) {                                                                        \
            for (int64_t i = 1; i < n; ++i) at = FC_IS_BETTER(v[i], BETTER, v[at]) ? i : at;       \
            return fc_pair_##name(v[at], first + at);                                              \
        }                                                                                          \
        for (int l = 0; l < FC_LANES; ++l) {                                                       \
            best[l] = v[l];                                                                        \
            odd[l] = (P)-(P)(v[l] != v[l]);                                                        \
        }                                                                                          \
        for (int64_t k = FC_LANES; k < n; k += FC_LANES) {                                         \
            const V *const from = v + fc_min(k, n - FC_LANES);                                     \
            for (int l = 0; l < FC_LANES; ++l) {                                                   \
                best[l] = from[l] BETTER best[l] ? from[l] : best[l];                              \
                odd[l] = (P)(odd[l] | -(P)(from[l] != from[l]));                                   \
            }                                                                                      \
        }                                                                                          \
        FC_BETTER_HALF(BETTER, P, 16) FC_BETTER_HALF(BETTER, P, 8) FC_BETTER_HALF(BETTER, P, 4)    \
        FC_BETTER_HALF(BETTER, P, 2) FC_BETTER_HALF(BETTER, P, 1)                                  \
        const V most = best[0];                                                                    \
        const bool any = odd[0];                                                                   \
        for (P found = 0; !any && at + FC_LANES <= n; at += FC_LANES) {                            \
            for (int l = 0; l < FC_LANES; ++l) found = (P)(found | -(P)(v[at + l] == most));       \
            if (found) break;                                                                      \
        }                                                                                          \
        while (any ? v[at] == v[at] : v[at] != most) ++at;                                         \
        return fc_pair_##name(v[at], first + at);                                                  \
    }
#define FC_BETTER_HALF(BETTER, P, w)                                                               \
    _Pragma("GCC unroll 1")                                                                        \
    for (int l = 0; l < w; ++l) {                                                                  \
        best[l] = best[l + w] BETTER best[l] ? best[l + w] : best[l];                              \
        odd[l] = (P)(odd[l] | odd[l + w]);                                                         \
    }

// Entry points: what the instrumented kernel calls, and what Python calls.
#include "schedule.h"

#include <link.h>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HERE {__builtin_return_address(0), 0}

#define EMU_ACCESS(N)                                                                           \
    extern "C" void __tsan_read##N(void *p) { access(p, N, READ, true, HERE); }                 \
    extern "C" void __tsan_write##N(void *p) { access(p, N, WRITE, true, HERE); }               \
    extern "C" void __tsan_unaligned_read##N(void *p) { access(p, N, READ, false, HERE); }      \
    extern "C" void __tsan_unaligned_write##N(void *p) { access(p, N, WRITE, false, HERE); }    \
    extern "C" void __tsan_volatile_read##N(void *p) { flag(p, N, false, HERE); }               \
    extern "C" void __tsan_volatile_write##N(void *p) { flag(p, N, true, HERE); }               \
    extern "C" void __tsan_unaligned_volatile_read##N(void *p) { flag(p, N, false, HERE); }     \
    extern "C" void __tsan_unaligned_volatile_write##N(void *p) { flag(p, N, true, HERE); }

static bool is_global(void *p) {
    u64 a = (u64)p;
    return a - R.stack_low >= R.stack_bytes && a - R.shared_low >= R.shared_bytes &&
           a - R.fixed_shared.low >= R.fixed_shared.high - R.fixed_shared.low;
}

// Other threads of the block go on once in a while, in case this one waits for them.
static void maybe_spin(Place at) {
    if (++R.spins & 4095) return;
    if (R.spins >> 12 > 2000)
        fail(at.pc, at.line, "deadlock: a thread waits for a word that nobody will change (blocks run "
                             "one after the other)");
    pause_as(SPINNING);
}

// A volatile access: of global memory it orders like an atomic, of shared memory it is plain.
static void flag(void *p, u32 size, bool write, Place at) {
    bool global = is_global(p);
    if (!global) return access(p, size, write ? WRITE : READ, true, at);
    u32 when = ++R.now;
    access(p, size, write ? STRONG_WRITE : STRONG_READ, true, at);
    ++R.now;
    if (write) return release((u64)p, when);
    acquire((u64)p);
    maybe_spin(at);
}

EMU_ACCESS(1)
EMU_ACCESS(2)
EMU_ACCESS(4)
EMU_ACCESS(8)
EMU_ACCESS(16)

static void range(void *p, unsigned long size, Kind k, Place at) {
    char *c = (char *)p;
    for (; size > 16; size -= 16, c += 16) access(c, 16, k, false, at);
    if (size) access(c, (u32)size, k, false, at);
}
extern "C" void __tsan_read_range(void *p, unsigned long n) { range(p, n, READ, HERE); }
extern "C" void __tsan_write_range(void *p, unsigned long n) { range(p, n, WRITE, HERE); }
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void *__tsan_memcpy(void *to, const void *from, unsigned long n) {
    bool vector = n == 1 || n == 2 || n == 4 || n == 8 || n == 16;
    if (vector) {
        access((void *)from, (u32)n, READ, false, HERE);
        access(to, (u32)n, WRITE, false, HERE);
    } else {
        range((void *)from, n, READ, HERE);
        range(to, n, WRITE, HERE);
    }
    return memmove(to, from, n);
}
extern "C" void *__tsan_memset(void *to, int value, unsigned long n) {
    range(to, n, WRITE, HERE);
    return memset(to, value, n);
}

extern "C" void emu_atomic(void *p, u32 size, u32 line) {
    Place at = {0, line};
    R.launch->atomics++;
    u32 when = ++R.now;
    access(p, size, UPDATE, true, at);
    ++R.now;
    if (is_global(p)) {
        acquire((u64)p);
        release((u64)p, when);
    }
    maybe_spin(at);
}
extern "C" void emu_fence() { fence(); }
extern "C" u64 emu_block(u32 kind, u64 value, u32 line) { return wait_for_block(kind, value, line); }
extern "C" u64 emu_warp(u32 kind, u32 mask, u64 value, u32 source, u32 width, u32 size, u32 line) {
    Thread *t = &R.threads[R.thread];
    if (width < 1 || width > 32 || width & (width - 1))
        fail(0, line, "%s: width %u is not a power of two up to 32", NAMES[kind], width);
    t->value = value;
    t->source = source;
    t->width = width;
    t->size = size;
    return wait_for_warp(kind, mask, line);
}
extern "C" void emu_cluster_arrive(u32 line) { arrive_at_cluster(line); }
extern "C" void emu_cluster_wait(u32 line) { wait_for_cluster(line); }
// Where another block of the cluster has what this one has at `own`.
extern "C" void *emu_of_rank(const void *own, u32 rank, u32 line) {
    u64 fixed = (u64)own - (u64)__start_emu_shared, dynamic = (u64)own - (u64)R.dynamic;
    if (rank >= R.launch->cluster) fail(0, line, "block %u of a cluster of %u", rank, R.launch->cluster);
    if (rank == R.rank) return (void *)own;
    if (fixed < saved_bytes()) return R.members[rank].saved + fixed;
    if (dynamic >= MAX_DYNAMIC) fail(0, line, "only shared memory is seen by a cluster");
    return R.members[rank].dynamic + dynamic;
}
extern "C" void emu_trap(u32 line) { fail(0, line, "the kernel called __trap"); }

extern "C" Index emu_thread_index() { return R.thread_index[R.thread]; }
extern "C" Index emu_block_index() { return R.block_index; }
extern "C" Index emu_block_shape() { return R.block_shape; }
extern "C" Index emu_grid_shape() { return R.grid_shape; }
extern "C" void *emu_dynamic() { return R.dynamic; }

static void on_signal(int number, siginfo_t *info, void *) {
    if (!R.inside) _exit(128 + number);
    const char *what = number == SIGFPE   ? "integer division by zero, or of the least by -1"
                       : number == SIGILL ? "index outside a local or shared array (or __builtin_trap)"
                                          : "access to unmapped memory";
    void *pc = number == SIGSEGV ? 0 : (char *)info->si_addr + 1;
    fail(pc, 0, "%s", what);
}

static int find_object(struct dl_phdr_info *info, size_t, void *) {
    u64 self = (u64)&R, low = ~0ull, high = 0, data_low = 0, data_high = 0;
    bool here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &h = info->dlpi_phdr[i];
        if (h.p_type != PT_LOAD) continue;
        u64 a = info->dlpi_addr + h.p_vaddr, b = a + h.p_memsz;
        if (a < low) low = a;
        if (b > high) high = b;
        if (self >= a && self < b) here = true, data_low = a, data_high = b;
    }
    if (!here) return 0;
    R.object_base = info->dlpi_addr;
    R.code_low = low, R.code_high = high;
    R.fixed_shared = {data_low & ~7ull, data_high, 2, 1, 0, 0};
    return 1;
}

static void make_regions(Launch *l) {
    R.regions = (Region *)calloc(l->arrays + 1, sizeof(Region));
    R.touched_read = (unsigned char **)calloc(2 * l->arrays + 2, sizeof(void *));
    R.touched_written = R.touched_read + l->arrays;
    for (u32 i = 0; i < l->arrays; i++) {
        Array *a = &l->array[i];
        size_t bytes = ((a->high - a->low) / 8 + 16) & ~7ull;
        R.touched_read[i] = (unsigned char *)calloc(1, bytes);
        R.touched_written[i] = (unsigned char *)calloc(1, bytes);
        Region now = {a->low, a->high, a->granule, 0, 0, a};
        for (u32 j = 0; j < R.region_count;) {
            Region *r = &R.regions[j];
            if (now.low >= r->high || r->low >= now.high) { j++; continue; }
            bool even = !((now.low ^ r->low) & 7);
            now.shift = !even ? 0 : now.shift < r->shift ? now.shift : r->shift;
            if (r->low < now.low) now.low = r->low;
            if (r->high > now.high) now.high = r->high;
            now.only = 0;
            *r = R.regions[--R.region_count];
            j = 0;
        }
        if (a->high > a->low) R.regions[R.region_count++] = now;
    }
    for (u32 i = 0; i < R.region_count; i++) make_cells(&R.regions[i]);
}

static u64 bits_in(const unsigned char *bits, size_t bytes) {
    u64 count = 0, word;
    for (size_t b = 0; b < bytes; b += 8) {
        memcpy(&word, bits + b, 8);
        word -= word >> 1 & 0x5555555555555555ull;
        word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
        count += ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
    }
    return count;
}

// What is read by a pointer that the compiler takes for read-only, and written by another one: the
// read may come from a cache that knows nothing of writes.
static void check_read_only(const Launch *l, u32 reader, u32 writer) {
    const Array *a = &l->array[reader], *b = &l->array[writer];
    u64 low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
    for (u64 at = low; at < high; at++) {
        u64 i = at - a->low, j = at - b->low;
        if (!(R.touched_read[reader][i >> 3] >> (i & 7) & 1)) continue;
        if (!(R.touched_written[writer][j >> 3] >> (j & 7) & 1)) continue;
        return fail(0, 0, "argument %u (%s) is const and restrict, but the launch writes its byte %llu by "
                          "argument %u (%s)", a->index, a->name, (unsigned long long)i, b->index, b->name);
    }
}

static void end_launch(Launch *l) {
    for (u32 i = 0; i < l->arrays && !R.failed; i++)
        for (u32 j = 0; l->array[i].read_only && j < l->arrays && !R.failed; j++)
            if (i != j) check_read_only(l, i, j);
    for (u32 i = 0; i < l->arrays; i++) {
        Array *a = &l->array[i];
        size_t bytes = ((a->high - a->low) / 8 + 16) & ~7ull;
        a->touched_read = bits_in(R.touched_read[i], bytes);
        a->touched_written = bits_in(R.touched_written[i], bytes);
        free(R.touched_read[i]);
        free(R.touched_written[i]);
    }
    for (u32 i = 0; i < R.region_count; i++) drop_cells(&R.regions[i]);
    for (u32 rank = 0; rank < l->cluster; rank++) {
        enter(rank);
        drop_cells(&R.fixed_shared);
        drop_cells(&R.dynamic_shared);
    }
    free(R.regions);
    free(R.touched_read);
    forget_order();
}

static void run_blocks(Launch *l) {
    u32 clusters = R.blocks / l->cluster, state = l->seed * 2654435761u + 1;
    u32 *order = (u32 *)malloc(clusters * sizeof(u32));
    for (u32 i = 0; i < clusters; i++) order[i] = l->order == 1 ? clusters - 1 - i : i;
    for (u32 i = clusters; l->order == 2 && i > 1; i--) {
        state = state * 1664525u + 1013904223u;
        u32 j = (u32)((u64)state * i >> 32), swap = order[j];
        order[j] = order[i - 1];
        order[i - 1] = swap;
    }
    for (u32 i = 0; i < clusters && !R.failed; i++)
        run_cluster(order[i] * l->cluster, l->order == 1 || (l->order == 2 && order[i] & 1));
    free(order);
}

// What a block needs for its threads; returns the memory behind it.
static char *make_member(Block *b, char *p) {
    u32 threads = (R.count + WARP - 1) / WARP * WARP;
    b->known = (u32(*)[WARP])p, p += MAX_THREADS * sizeof b->known[0];
    b->known_at_fence = (u32(*)[WARP])p, p += MAX_THREADS * sizeof b->known[0];
    b->threads = (Thread *)p, p += MAX_THREADS * sizeof(Thread);
    memset((void *)b->known, 0, threads * sizeof b->known[0]);
    memset((void *)b->threads, 0, threads * sizeof(Thread));
    return p;
}

EXPORT int emu_launch(Launch *l) {
    static const int SIGNALS[] = {SIGFPE, SIGILL, SIGSEGV};
    struct sigaction mine, old[3];
    stack_t alternate, old_stack;
    memset(&R, 0, sizeof R);
    dl_iterate_phdr(find_object, 0);
    char *p = l->arena;
    R.launch = l;
    R.stack_low = (u64)p, R.stack_bytes = (u64)STACK_BYTES * MAX_STACKS, p += R.stack_bytes;
    R.thread_index = (Index *)p, p += MAX_THREADS * sizeof(Index);
    alternate.ss_sp = p, alternate.ss_size = STACK_BYTES, alternate.ss_flags = 0;
    R.count = l->block[0] * l->block[1] * l->block[2];
    p += STACK_BYTES;
    R.shared_low = (u64)p;
    for (u32 rank = 0; rank < l->cluster; rank++) {
        R.members[rank].dynamic = p, p += (MAX_DYNAMIC + 4095) & ~4095;
        R.members[rank].saved = p, p += (MAX_FIXED + 4095) & ~4095;
    }
    R.shared_bytes = (u64)p - R.shared_low;
    for (u32 rank = 0; rank < l->cluster; rank++) p = make_member(&R.members[rank], p);
    const Block *own = &R.members[0];
    R.threads = own->threads, R.known = own->known, R.known_at_fence = own->known_at_fence;
    R.dynamic = own->dynamic;
    R.blocks = l->grid[0] * l->grid[1] * l->grid[2];
    const u32 *b = l->block, *g = l->grid;
    R.block_shape = index_of(b[0], b[1], b[2]);
    R.grid_shape = index_of(g[0], g[1], g[2]);
    for (u32 t = 0; t < R.count; t++)
        R.thread_index[t] = index_of(t % b[0], t / b[0] % b[1], t / b[0] / b[1]);
    for (u32 rank = l->cluster; rank--;) {  // the first one last, which runs first
        u64 low = (u64)R.members[rank].dynamic;
        R.fixed_shared.cells = 0;
        make_cells(&R.fixed_shared);
        R.dynamic_shared = {low, low + l->shared, 2, 1, 0, 0};
        make_cells(&R.dynamic_shared);
        R.members[rank].fixed_shared = R.fixed_shared, R.members[rank].dynamic_shared = R.dynamic_shared;
    }
    if (saved_bytes() > MAX_FIXED) fail(0, 0, "more than %d bytes of __shared__ variables", MAX_FIXED);
    make_regions(l);
    R.last = &R.fixed_shared;
    memset(&mine, 0, sizeof mine);
    mine.sa_sigaction = on_signal;
    mine.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaltstack(&alternate, &old_stack);
    for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], &mine, &old[i]);
    run_blocks(l);
    for (int i = 0; i < 3; i++) sigaction(SIGNALS[i], &old[i], 0);
    sigaltstack(&old_stack, 0);
    end_launch(l);
    return (int)R.failed;
}
EXPORT unsigned long emu_arena_bytes() {
    return (u64)STACK_BYTES * (MAX_STACKS + 1) + MAX_THREADS * sizeof(Index) +
           MAX_CLUSTER * (MAX_DYNAMIC + MAX_FIXED + 8192 +
                          MAX_THREADS * (2 * WARP * sizeof(u32) + sizeof(Thread)));
}

// Every byte of global and shared memory has a shadow: who wrote it last and who read it.
#pragma once
#include "order.h"

#define INLINE static inline __attribute__((always_inline))

enum Kind { READ, WRITE, UPDATE, STRONG_READ, STRONG_WRITE };
static inline bool writes(Kind k) { return k == WRITE || k == UPDATE || k == STRONG_WRITE; }
static inline bool reads(Kind k) { return !(k == WRITE || k == STRONG_WRITE); }
static inline bool strong(Kind k) { return k >= UPDATE; }

struct Place {
    void *pc;
    u32 line;
};

// The `__shared__` variables, of the block that runs.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_emu_shared[], __stop_emu_shared[];
static u64 saved_bytes() { return (u64)__stop_emu_shared - (u64)__start_emu_shared; }

static size_t cells_of(const Region *r) { return ((r->high - r->low) >> r->shift) + 1; }

// Cells come from the system untouched: those of gigabytes of which a kernel touches little cost
// little.
static void make_cells(Region *r) {
    if (r->high <= r->low) return;
    void *made = mmap(0, cells_of(r) * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) fail(0, 0, "no memory for the shadow of the arguments");
    r->cells = (Cell *)made;
}

static void drop_cells(Region *r) {
    if (r->cells) munmap(r->cells, cells_of(r) * sizeof(Cell));
    r->cells = 0;
}

// From cells of several bytes to smaller ones, once something smaller is accessed.
[[gnu::noinline]] static void refine(Region *r, u64 odd) {
    Region coarse = *r;
    u32 by = r->shift - (u32)__builtin_ctzll(odd);
    u64 old = cells_of(r);
    r->shift -= by;
    make_cells(r);
    for (u64 i = 0, n = cells_of(r); i < n; i++)
        if (i >> by < old) r->cells[i] = coarse.cells[i >> by];
    drop_cells(&coarse);
}

static void describe(char *text, size_t size, u64 address) {
    Launch *l = R.launch;
    const Array *best = 0;
    u64 gap = ~0ull;
    for (u32 i = 0; i < l->arrays; i++) {
        const Array *a = &l->array[i];
        u64 d = address < a->low ? a->low - address : address >= a->high ? address - a->high + 1 : 0;
        if (d < gap) gap = d, best = a;
    }
    if (R.dynamic_shared.low <= address && address < R.dynamic_shared.high)
        snprintf(text, size, "dynamic shared memory, byte offset %llu",
                 (unsigned long long)(address - R.dynamic_shared.low));
    else if (R.fixed_shared.low <= address && address < R.fixed_shared.high)
        snprintf(text, size, "shared memory");
    else if (best && gap < 1 << 20)
        snprintf(text, size, "argument %u (%s), byte offset %lld of %llu bytes", best->index,
                 best->name, (long long)(address - best->pointer),
                 (unsigned long long)(best->high - best->low));
    else
        snprintf(text, size, "address 0x%llx", (unsigned long long)address);
}

[[gnu::noinline]] static void outside(u64 address, u32 size, Kind k, Place at) {
    char where[256];
    const char *verb = writes(k) ? "write" : "read";
    describe(where, sizeof where, address);
    u64 dynamic = address - (u64)R.dynamic;
    if (dynamic < MAX_DYNAMIC)
        fail(at.pc, at.line, "out of bounds: %s of %u bytes at byte %llu of %u of dynamic shared memory",
             verb, size, (unsigned long long)dynamic, R.launch->shared);
    fail(at.pc, at.line, "out of bounds: %s of %u bytes outside all arguments, near %s", verb, size,
         where);
}

[[gnu::noinline]] static void race(const Region *, u64 address, Slot s, const char *did, Kind k,
                                   Place at) {
    char where[256], who[128];
    describe(where, sizeof where, address);
    u32 block = s.who >> BLOCK_SHIFT;
    thread_text(who, sizeof who, block, s.who & (MAX_THREADS - 1));
    fail(at.pc, at.line, "race on %s: %s what %s %s, with no %s in between", where,
         writes(k) ? (reads(k) ? "atomic update of" : "write of") : "read of", who, did,
         block == R.block_serial ? "barrier" : "__threadfence and atomic");
}

[[gnu::noinline]] static void unwritten(u64 address, Place at) {
    char where[256];
    describe(where, sizeof where, address);
    fail(at.pc, at.line, "read of %s that no thread of the block has written", where);
}

[[gnu::noinline]] static void misaligned(u64 address, u32 size, Kind k, Place at) {
    char where[256];
    describe(where, sizeof where, address);
    fail(at.pc, at.line, "misaligned %u-byte %s of %s", size, writes(k) ? "write" : "read", where);
}

// A reader of another block or warp than the one kept is worth keeping too: whatever orders a
// later write after all threads of one warp may not order it after that reader.
INLINE void note_reader(Cell *c, Slot mine, bool shared) {
    if (ordered(c->reader, shared)) {
        c->reader = mine;
    } else if (ordered(c->other, shared) ||
               ((c->reader.who ^ c->other.who) & ~31u & ~(u32)ATOMIC_BIT) == 0) {
        c->other = mine;
    }
}

INLINE void check_cell(Region *r, Cell *c, u64 address, Kind k, Place at) {
    bool shared = r->shared, mild = strong(k);
    Slot mine = {R.me | (mild ? (u32)ATOMIC_BIT : 0), R.now};
    if (reads(k) && shared && c->write.when < R.block_start) unwritten(address, at);
    if (!(mild && c->write.who & ATOMIC_BIT) && !ordered(c->write, shared))
        race(r, address, c->write, "wrote", k, at);
    if (!writes(k)) return note_reader(c, mine, shared);
    if (!(mild && c->reader.who & ATOMIC_BIT) && !ordered(c->reader, shared))
        race(r, address, c->reader, "read", k, at);
    if (!(mild && c->other.who & ATOMIC_BIT) && !ordered(c->other, shared))
        race(r, address, c->other, "read", k, at);
    // An own plain write stays on record until a barrier: atomics do not order it.
    bool keep = mild && !(c->write.who & ATOMIC_BIT) && c->write.when >= R.barrier_time;
    if (!keep) c->write = mine;
    c->reader.when = c->other.when = 0;
}

INLINE void check_cells(Region *r, u64 address, u32 size, Kind k, Place at) {
    u64 offset = address - r->low;
    if ((offset | size) & ((1u << r->shift) - 1)) refine(r, offset | size);
    Cell *c = r->cells + (offset >> r->shift);
    for (u32 i = 0, n = size >> r->shift; i < n; i++)
        check_cell(r, c + i, address + ((u64)i << r->shift), k, at);
}

INLINE void touch(unsigned char *bits, u64 offset, u32 size) {
    u32 word, mask = ((1u << size) - 1) << (offset & 7);
    memcpy(&word, bits + (offset >> 3), 4);
    word |= mask;
    memcpy(bits + (offset >> 3), &word, 4);
}

INLINE void count_bytes(Array *a, u64 address, u32 size, Kind k) {
    u32 i = (u32)(a - R.launch->array);
    if (reads(k)) a->read += size, touch(R.touched_read[i], address - a->low, size);
    if (writes(k)) a->written += size, touch(R.touched_written[i], address - a->low, size);
}

// Which of several arguments with common bytes an access is meant for: a read prefers a
// pointer to const, a write needs a writable array. Memory of many arrays comes last: what is there
// of this one is not known.
[[gnu::noinline]] static Array *pick(u64 address, u32 size, Kind k, Place at) {
    Array *found = 0, *sealed = 0;
    for (u32 i = 0; i < R.launch->arrays; i++) {
        Array *a = &R.launch->array[i];
        if (address < a->low || address + size > a->high) continue;
        if (writes(k) && !a->writable) sealed = a;
        else if (!found || (a->of_many != found->of_many ? found->of_many
                                                         : a->constant != found->constant &&
                                                               a->constant == !writes(k)))
            found = a;
    }
    if (!found && sealed)
        fail(at.pc, at.line, "write to read-only argument %u (%s), byte offset %lld", sealed->index,
             sealed->name, (long long)(address - sealed->pointer));
    if (!found) outside(address, size, k, at);
    return found;
}

[[gnu::noinline]] static Region *find_region(u64 address, u32 size, Kind k, Place at) {
    if (address - R.fixed_shared.low < R.fixed_shared.high - R.fixed_shared.low)
        return &R.fixed_shared;
    if (address >= R.dynamic_shared.low && address + size <= R.dynamic_shared.high)
        return &R.dynamic_shared;
    for (u32 i = 0; i < R.region_count; i++) {
        Region *r = &R.regions[i];
        if (address >= r->low && address + size <= r->high) return R.last = r;
    }
    if (k == READ && address >= R.code_low && address + size <= R.code_high) return 0;
    outside(address, size, k, at);
    return 0;
}

static bool has_ended(const Block *b) {
    for (u32 i = 0; i < R.count; i++)
        if (b->threads[i].state != FINISHED) return false;
    return true;
}

// Whether the address is shared memory of another block of the cluster, which is looked at then.
[[gnu::noinline]] static bool of_another(u64 address, u32 size, Kind k, Place at) {
    if (address - R.shared_low >= R.shared_bytes) return false;
    for (u32 i = 0; i < R.launch->cluster; i++) {
        Block *b = &R.members[i];
        u64 inside = address - (u64)b->saved;
        bool saved = inside < saved_bytes();
        if (i == R.rank || (!saved && (address < b->dynamic_shared.low ||
                                       address + size > b->dynamic_shared.high)))
            continue;
        if (has_ended(b)) fail(at.pc, at.line, "access to shared memory of a block that has ended");
        if (saved) check_cells(&b->fixed_shared, (u64)__start_emu_shared + inside, size, k, at);
        else check_cells(&b->dynamic_shared, address, size, k, at);
        return true;
    }
    return false;
}

// One access of a thread to memory, before it is done. `natural`: its size must divide the address.
INLINE void access(void *pointer, u32 size, Kind k, bool natural, Place at) {
    u64 address = (u64)pointer;
    if (address - R.stack_low < R.stack_bytes) return;
    R.launch->accesses++;
    if (!--R.patience) fail(at.pc, at.line, "a thread does not come to an end");
    if (natural && address & (size - 1)) misaligned(address, size, k, at);
    Region *r = R.last;
    if (address < r->low || address + size > r->high) {
        if (of_another(address, size, k, at)) return;
        r = find_region(address, size, k, at);
        if (!r) return;
    }
    if (!r->shared) {
        Array *a = r->only;
        if (!a || (writes(k) && !a->writable)) a = pick(address, size, k, at);
        count_bytes(a, address, size, k);
        R.launch->vector_accesses += size == 16;
    }
    check_cells(r, address, size, k, at);
}

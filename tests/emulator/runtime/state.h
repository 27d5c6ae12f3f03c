// What the runtime knows: the launch, its threads, and the one error it may end with.
#pragma once
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint32_t u32;
typedef uint64_t u64;

enum { MAX_THREADS = 1024, MAX_CLUSTER = 8, MAX_STACKS = MAX_CLUSTER * MAX_THREADS, WARP = 32,
       STACK_BYTES = 1 << 16, COLOURS = 8192, MAX_DYNAMIC = 227 << 10,
       MAX_FIXED = 1 << 20, TEXT_BYTES = 2048 };

// One array of the launch. Python fills the first part and reads the second.
struct Array {
    u64 low, high, pointer;
    u32 writable, constant, granule, index, read_only, of_many;
    const char *name;
    u64 read, written, touched_read, touched_written;
};

struct Entry {
    void (*kernel)();
    void (*call)(void (*)(), void **);
};

// One launch, as Python gives it and reads it back.
struct Launch {
    u32 grid[3], block[3];
    u32 shared, order, seed, arrays, cluster;
    Array *array;
    void **values;
    const Entry *entry;
    const char *kernel;
    char *arena;
    u64 accesses, vector_accesses, barriers, atomics;
    u64 pc;
    u32 line;
    char text[TEXT_BYTES];
};

// An index as the kernel's `uint3`, in the two registers that return one.
struct Index {
    u64 x_y;
    u32 z;
};

enum State { FRESH, RUNNABLE, SPINNING, AT_BARRIER, AT_WARP_OP, AT_CLUSTER, FINISHED };

struct Thread {
    void *context;
    State state;
    u32 stack, line, kind, mask;
    u64 value, result;
    u32 source, width, size;
    u32 fence, fence_barrier;
    u32 arrivals, waits, arrived_at;  // at the cluster's barrier: how often, and when last
    u32 met_at, met_before;  // when it had arrived, of the last meeting and of the one before
};

// A sharing of memory: who did it (block, atomic or not, thread) and at which event.
struct Slot {
    u32 who, when;
};

enum { THREAD_BITS = 10, ATOMIC_BIT = 1 << THREAD_BITS, BLOCK_SHIFT = THREAD_BITS + 1 };

struct Cell {
    Slot write, reader, other;
};

struct Region {
    u64 low, high;
    u32 shift, shared;
    Cell *cells;
    Array *only;
};

// What a block of a cluster has to itself, while another one runs.
struct Block {
    u32 serial, barrier_time, finished[MAX_THREADS / WARP];
    Index index;
    Thread *threads;
    u32 (*known)[WARP];
    u32 (*known_at_fence)[WARP];
    char *dynamic, *saved;  // `saved` is its `__shared__` variables
    Region fixed_shared, dynamic_shared;
};

struct Runtime {
    u64 stack_low, stack_bytes;
    u32 me, thread, now, barrier_time, block_start, fenced;
    Region *last;
    u64 patience;
    Launch *launch;
    Thread *threads;
    u32 (*known)[WARP];
    u32 (*known_at_fence)[WARP];
    char *dynamic;
    u32 count, block_serial, blocks, spins, failed, inside;
    Index block_index, block_shape, grid_shape;
    Index *thread_index;
    u32 finished[MAX_THREADS / WARP];
    void *scheduler;
    u32 free_stacks[MAX_STACKS], free_count;
    Block members[MAX_CLUSTER];
    u32 rank, meetings;
    u64 shared_low, shared_bytes;  // memory of dynamic and saved shared variables
    u64 object_base, code_low, code_high;
    Region *regions;
    u32 region_count;
    Region fixed_shared, dynamic_shared;
    unsigned char **touched_read, **touched_written;
};

static Runtime R;

static void leave_for_good();

static void thread_text(char *text, size_t size, u32 block, u32 thread) {
    const u32 *g = R.launch->grid, *b = R.launch->block;
    snprintf(text, size, "block (%u, %u, %u), thread (%u, %u, %u)", block % g[0],
             block / g[0] % g[1], block / g[0] / g[1], thread % b[0], thread / b[0] % b[1],
             thread / b[0] / b[1]);
}

// Ends the launch with a message; the first one counts. Does not return inside a fiber.
[[gnu::format(printf, 3, 4)]] static void fail(void *pc, u32 line, const char *format, ...) {
    if (!R.failed) {
        Launch *l = R.launch;
        char who[128], what[TEXT_BYTES - 512];
        va_list list;
        va_start(list, format);
        vsnprintf(what, sizeof what, format, list);
        va_end(list);
        thread_text(who, sizeof who, R.block_serial, R.thread);
        snprintf(l->text, TEXT_BYTES, "%s\n  in kernel %s, %s", what, l->kernel, who);
        l->pc = pc ? (u64)pc - R.object_base : 0;
        l->line = line;
        R.failed = 1;
    }
    leave_for_good();
}

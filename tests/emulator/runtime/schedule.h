// Runs the threads of a block until all have ended, and answers barriers, shuffles and votes.
#pragma once
#include "shadow.h"

enum Operation {
    SYNC, SYNC_OR, SYNC_AND, SYNC_COUNT,  // of the block
    SHUFFLE, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, BALLOT, SYNC_WARP, ACTIVE_MASK
};
static const char *const NAMES[] = {
    "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count",
    "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
    "a vote", "__syncwarp", "__activemask"};

static u32 lanes_of(u32 warp) {
    u32 left = R.count - warp * WARP;
    return left < WARP ? left : (u32)WARP;
}

static void state_text(char *text, size_t size, u32 index) {
    const Thread *t = &R.threads[index];
    if (index >= R.count) snprintf(text, size, "does not exist");
    else if (t->state == FINISHED) snprintf(text, size, "has returned");
    else if (t->state == AT_CLUSTER) snprintf(text, size, "waits for its cluster");
    else if (t->state == AT_BARRIER || t->state == AT_WARP_OP)
        snprintf(text, size, "waits at %s (mask 0x%08x) in line %u", NAMES[t->kind], t->mask, t->line);
    else snprintf(text, size, "is running");
}

// A thread whose warp operation cannot be answered: says which lane is missing.
static void stuck(u32 index) {
    const Thread *t = &R.threads[index];
    u32 first = index / WARP * WARP;
    char what[128] = "";
    R.thread = index;
    for (u32 lane = 0; lane < WARP; lane++) {
        const Thread *of = &R.threads[first + lane];
        bool there = first + lane < R.count && of->state == AT_WARP_OP && of->kind == t->kind &&
                     of->mask == t->mask;
        if (!(t->mask >> lane & 1) || there) continue;
        state_text(what, sizeof what, first + lane);
        fail(0, t->line, "deadlock: %s with mask 0x%08x names lane %u, which %s", NAMES[t->kind],
             t->mask, lane, what);
        return;
    }
}

static bool complete(u32 first, u32 lanes, const Thread *t) {
    u32 present = 0;
    for (u32 lane = 0; lane < lanes; lane++) {
        const Thread *of = &R.threads[first + lane];
        if (of->state == AT_WARP_OP && of->kind == t->kind && of->mask == t->mask)
            present |= 1u << lane;
    }
    return (present & t->mask) == t->mask;
}

// The lane that a shuffle reads; the lane itself where CUDA says so.
static u32 source_lane(const Thread *t, u32 lane) {
    u32 segment = WARP - t->width, low = lane & segment, high = low | (~segment & 31u);
    u32 by = t->source & 31u;
    switch (t->kind) {
    case SHUFFLE: return low | (by & ~segment);
    case SHUFFLE_UP: return lane >= low + by ? lane - by : lane;
    case SHUFFLE_DOWN: return lane + by <= high ? lane + by : lane;
    default: return (lane ^ by) <= high ? lane ^ by : lane;
    }
}

static void answer_lane(u32 first, u32 lane, u32 mask, u32 ballot) {
    Thread *t = &R.threads[first + lane];
    if (t->kind == BALLOT) t->result = ballot;
    if (t->kind < SHUFFLE || t->kind > SHUFFLE_XOR) return;
    u32 from = source_lane(t, lane);
    R.thread = first + lane;
    if (!(mask >> from & 1))
        return fail(0, t->line, "%s reads lane %u, which its mask 0x%08x does not name",
                    NAMES[t->kind], from, mask);
    if (R.threads[first + from].size != t->size)
        return fail(0, t->line, "%s of %u bytes reads a lane that gives %u", NAMES[t->kind], t->size,
                    R.threads[first + from].size);
    t->result = R.threads[first + from].value;
}

static void answer_group(u32 warp, const Thread *t) {
    u32 first = warp * WARP, mask = t->mask, ballot = 0;
    for (u32 lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1 && R.threads[first + lane].value) ballot |= 1u << lane;
    if (t->kind == SYNC_WARP) sync_warp(warp, mask);
    for (u32 lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1) answer_lane(first, lane, mask, ballot);
    for (u32 lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1) R.threads[first + lane].state = RUNNABLE;
}

static bool answer_active(u32 first, u32 lanes) {
    u32 mask = 0;
    for (u32 lane = 0; lane < lanes; lane++) {
        const Thread *t = &R.threads[first + lane];
        if (t->state == AT_WARP_OP && t->kind == ACTIVE_MASK) mask |= 1u << lane;
    }
    for (u32 lane = 0; lane < lanes; lane++)
        if (mask >> lane & 1) {
            R.threads[first + lane].result = mask;
            R.threads[first + lane].state = RUNNABLE;
        }
    return mask;
}

// Answers the warp operations that all their lanes have reached.
static bool answer_warp(u32 warp) {
    u32 first = warp * WARP, lanes = lanes_of(warp);
    bool any = false;
    for (u32 lane = 0; lane < lanes && !R.failed; lane++) {
        Thread *t = &R.threads[first + lane];
        if (t->state != AT_WARP_OP || t->kind == ACTIVE_MASK || !complete(first, lanes, t)) continue;
        answer_group(warp, t);
        any = true;
    }
    return any || answer_active(first, lanes);
}

// Runs the threads of a warp until each has ended or waits for another warp.
static void run_warp(u32 warp, bool backwards) {
    u32 first = warp * WARP, lanes = lanes_of(warp);
    do {
        for (u32 i = 0; i < lanes && !R.failed; i++) {
            u32 index = first + (backwards ? lanes - 1 - i : i);
            State s = R.threads[index].state;
            if (s == FRESH || s == RUNNABLE) resume(index);
        }
    } while (!R.failed && answer_warp(warp) && !R.failed);
}

static void divergent(u32 one, u32 other) {
    char first[128], second[128];
    state_text(first, sizeof first, one);
    state_text(second, sizeof second, other);
    R.thread = one;
    fail(0, R.threads[one].line, "divergent barrier: thread %u %s, but thread %u %s", one, first,
         other, second);
}

// All threads wait or have ended: lets a complete barrier go, reports anything else.
static void answer_block() {
    Thread *leader = 0;
    u32 sum = 0, waiting = 0;
    for (u32 i = 0; i < R.count; i++) {
        Thread *t = &R.threads[i];
        if (t->state != AT_BARRIER) continue;
        if (!leader) leader = t;
        if (t->line != leader->line || t->kind != leader->kind)
            return divergent((u32)(leader - R.threads), i);
        sum += t->value != 0;
        waiting++;
    }
    for (u32 i = 0; i < R.count; i++)
        if (R.threads[i].state == AT_WARP_OP) {
            stuck(i);
            if (R.failed) return;
        }
    if (!leader) return;
    sync_block();
    u64 result = leader->kind == SYNC_OR    ? sum != 0
                 : leader->kind == SYNC_AND ? sum == waiting
                                            : sum;
    for (u32 i = 0; i < R.count; i++)
        if (R.threads[i].state == AT_BARRIER) {
            R.threads[i].result = result;
            R.threads[i].state = RUNNABLE;
        }
}

static bool wake_spinners() {
    bool any = false;
    for (u32 i = 0; i < R.count; i++)
        if (R.threads[i].state == SPINNING) R.threads[i].state = RUNNABLE, any = true;
    return any;
}

static Index index_of(u32 x, u32 y, u32 z) { return {(u64)y << 32 | x, z}; }

// Another block of the cluster runs from now on.
static void enter(u32 rank) {
    if (rank == R.rank) return;
    Block *from = &R.members[R.rank], *to = &R.members[rank];
    from->barrier_time = R.barrier_time;
    memcpy(from->finished, R.finished, sizeof R.finished);
    from->fixed_shared = R.fixed_shared, from->dynamic_shared = R.dynamic_shared;
    memcpy(from->saved, __start_emu_shared, saved_bytes());
    memcpy(__start_emu_shared, to->saved, saved_bytes());
    R.fixed_shared = to->fixed_shared, R.dynamic_shared = to->dynamic_shared;
    memcpy(R.finished, to->finished, sizeof R.finished);
    R.barrier_time = to->barrier_time;
    R.block_serial = to->serial, R.block_index = to->index;
    R.threads = to->threads, R.known = to->known, R.known_at_fence = to->known_at_fence;
    R.dynamic = to->dynamic;
    R.rank = rank;
    R.last = &R.fixed_shared;
}

static void start_cluster(u32 first) {
    const u32 *g = R.launch->grid;
    R.block_start = ++R.now;
    R.spins = R.meetings = R.free_count = 0;
    for (u32 i = R.launch->cluster * MAX_THREADS; i--;) R.free_stacks[R.free_count++] = i;
    for (u32 rank = 0; rank < R.launch->cluster; rank++) {
        u32 serial = first + rank;
        Block *b = &R.members[rank];
        b->serial = serial;
        b->index = index_of(serial % g[0], serial / g[0] % g[1], serial / g[0] / g[1]);
        b->barrier_time = R.block_start;
        for (u32 i = 0; i < R.count; i++) {
            Thread *t = &b->threads[i];
            t->state = FRESH;
            t->arrivals = t->waits = t->met_at = t->met_before = 0;
        }
        memset(b->finished, 0, sizeof b->finished);
        if (R.count % WARP) b->finished[R.count / WARP] = ~0u << R.count % WARP;
    }
    const Block *own = &R.members[R.rank];
    R.block_serial = own->serial, R.block_index = own->index, R.barrier_time = own->barrier_time;
    memcpy(R.finished, own->finished, sizeof R.finished);
}

// Runs the block until all its threads have ended, or some wait for the cluster.
static bool run_block(bool backwards) {
    u32 warps = (R.count + WARP - 1) / WARP;
    for (;;) {
        u32 left = 0, meeting = 0;
        for (u32 w = 0; w < warps && !R.failed; w++) run_warp(backwards ? warps - 1 - w : w, backwards);
        if (R.failed) return false;
        if (wake_spinners()) continue;
        for (u32 i = 0; i < R.count; i++) {
            left += R.threads[i].state != FINISHED;
            meeting += R.threads[i].state == AT_CLUSTER;
        }
        if (!left || meeting) return !left;
        answer_block();
        if (R.failed) return false;
    }
}

// All threads of the cluster wait or have ended: lets its barrier go if all have arrived.
static void answer_cluster() {
    char what[128];
    for (u32 rank = 0; rank < R.launch->cluster; rank++)
        for (u32 i = 0; i < R.count; i++) {
            Thread *t = &R.members[rank].threads[i];
            if (t->state == FINISHED || t->arrivals > R.meetings) continue;
            enter(rank);
            R.thread = i;
            state_text(what, sizeof what, i);
            return fail(0, t->line, "deadlock: a thread has not arrived at the cluster's barrier: it %s",
                        what);
        }
    R.meetings++;
    for (u32 rank = 0; rank < R.launch->cluster; rank++)
        for (u32 i = 0; i < R.count; i++) {
            Thread *t = &R.members[rank].threads[i];
            t->met_before = t->met_at, t->met_at = t->arrived_at;
            if (t->state != AT_CLUSTER) continue;
            t->waits = R.meetings;
            t->state = RUNNABLE;
        }
}

static void run_cluster(u32 first, bool backwards) {
    u32 size = R.launch->cluster;
    for (start_cluster(first);;) {
        bool ended = true;
        for (u32 i = 0; i < size && !R.failed; i++) {
            enter(backwards ? size - 1 - i : i);
            ended &= run_block(backwards);
        }
        if (R.failed || ended) return;
        answer_cluster();
        if (R.failed) return;
    }
}

static void arrive_at_cluster(u32 line) {
    Thread *t = &R.threads[R.thread];
    t->line = line;
    if (t->arrivals != t->waits) fail(0, line, "a thread arrives twice at one barrier of its cluster");
    t->arrivals++;
    t->arrived_at = ++R.now;
}

static void wait_for_cluster(u32 line) {
    Thread *t = &R.threads[R.thread];
    t->line = line;
    if (t->arrivals == t->waits) fail(0, line, "a thread waits for its cluster and has not arrived");
    pause_as(AT_CLUSTER);
}

static u64 wait_for_block(u32 kind, u64 value, u32 line) {
    Thread *t = &R.threads[R.thread];
    t->kind = kind;
    t->mask = 0;
    t->value = value;
    t->line = line;
    pause_as(AT_BARRIER);
    return t->result;
}

static u64 wait_for_warp(u32 kind, u32 mask, u32 line) {
    Thread *t = &R.threads[R.thread];
    u32 lane = R.thread % WARP, first = R.thread - lane;
    t->kind = kind;
    t->mask = mask;
    t->line = line;
    if (kind != ACTIVE_MASK) {
        if (!(mask >> lane & 1))
            fail(0, line, "%s: mask 0x%08x does not name its caller, lane %u", NAMES[kind], mask, lane);
        u32 missing = mask & R.finished[R.thread / WARP], of = (u32)__builtin_ctz(missing | 1u << 31);
        if (missing)
            fail(0, line, "%s: mask 0x%08x names lane %u, which %s", NAMES[kind], mask, of,
                 first + of >= R.count ? "does not exist" : "has returned");
    }
    pause_as(AT_WARP_OP);
    return t->result;
}

// Which event comes before which: barriers, __syncwarp, and __threadfence with an atomic.
//
// `now` counts the events that order memory, so that "before the thread's last barrier" is a
// comparison of two numbers. Blocks run one after the other: what happened at block_start or
// later was done by this block, or by another one of its cluster.
#pragma once
#include "fiber.h"

// What a block made visible at an atomic: the atomic itself, and all that thread t did before
// fenced[t], to whoever has seen the word's first `position` releases.
struct Publication {
    u32 word, position, thread, when;
    Publication *next;
    u32 fenced[1];
};

struct Seen {
    u32 word, position;
};

// A global word on which atomics were done after fences, and what its value brings with it.
struct Word {
    u64 address;
    u32 releases, seen_count, seen_room;
    Seen *seen;
};

// What a thread of this block has seen, and when.
struct Acquired {
    Seen what;
    u32 block, thread, when;
};

static struct {
    Word *words;
    u32 word_count, word_room;
    Acquired *acquired;
    u32 acquired_count, acquired_room, acquired_block;
    Publication **of_block;
} O;

template <class T> static void grow(T *&items, u32 count, u32 &room) {
    if (count < room) return;
    room = room ? 2 * room : 16;
    items = (T *)realloc(items, room * sizeof(T));
}

// Whether what `thread` of this block did at `when` comes before what the running thread does.
static inline bool before_in_block(u32 thread, u32 when) {
    if (thread == R.thread || when < R.barrier_time) return true;
    return thread / WARP == R.thread / WARP && when < R.known[R.thread][thread % WARP];
}

static u32 acquired_count() { return O.acquired_block == R.block_start ? O.acquired_count : 0; }

static bool has_seen(u32 word, u32 position) {
    for (u32 i = 0, n = acquired_count(); i < n; i++) {
        const Acquired &a = O.acquired[i];
        if (a.what.word == word && a.what.position >= position && a.block == R.block_serial &&
            before_in_block(a.thread, a.when))
            return true;
    }
    return false;
}

// Whether a fence and two atomics bring the event before what the running thread does.
static bool published(Slot s) {
    u32 block = s.who >> BLOCK_SHIFT, thread = s.who & (MAX_THREADS - 1);
    if (!O.of_block) return false;
    for (Publication *p = O.of_block[block]; p; p = p->next)
        if ((s.when < p->fenced[thread] || (s.when == p->when && thread == p->thread)) &&
            has_seen(p->word, p->position))
            return true;
    return false;
}

// Whether a meeting of the cluster comes between the event and what the running thread does.
static bool met(u32 block, Slot s) {
    const Thread *of = &R.members[block].threads[s.who & (MAX_THREADS - 1)];
    return s.when < (R.threads[R.thread].waits == R.meetings ? of->met_at : of->met_before);
}

[[gnu::noinline]] static bool ordered_slowly(Slot s, bool shared) {
    if (s.when >= R.block_start) {
        u32 block = (s.who >> BLOCK_SHIFT) - R.members[0].serial;
        if (met(block, s)) return true;
        if (block == R.rank && before_in_block(s.who & (MAX_THREADS - 1), s.when)) return true;
    } else if (shared) {
        return true;
    }
    return published(s);
}

static inline bool ordered(Slot s, bool shared) {
    if (!s.when || !((s.who ^ R.me) & ~(u32)ATOMIC_BIT)) return true;
    return ordered_slowly(s, shared);
}

static void sync_block() {
    R.barrier_time = ++R.now;
    R.launch->barriers++;
}

static void sync_warp(u32 warp, u32 mask) {
    u32 joint[WARP], first = warp * WARP, time = ++R.now;
    memset(joint, 0, sizeof joint);
    for (u32 lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1)
            for (u32 of = 0; of < WARP; of++)
                if (joint[of] < R.known[first + lane][of]) joint[of] = R.known[first + lane][of];
    for (u32 of = 0; of < WARP; of++)
        if (mask >> of & 1) joint[of] = time;
    for (u32 lane = 0; lane < WARP; lane++)
        if (mask >> lane & 1) memcpy(R.known[first + lane], joint, sizeof joint);
}

static void fence() {
    Thread *t = &R.threads[R.thread];
    t->fence = ++R.now;
    t->fence_barrier = R.barrier_time;
    memcpy(R.known_at_fence[R.thread], R.known[R.thread], sizeof R.known[0]);
    R.fenced = R.block_start;
}

static Word *word_at(u64 address, bool make) {
    for (u32 i = O.word_count; i--;)
        if (O.words[i].address == address) return &O.words[i];
    if (!make) return 0;
    grow(O.words, O.word_count, O.word_room);
    Word *w = &O.words[O.word_count++];
    memset(w, 0, sizeof *w);
    w->address = address;
    return w;
}

static void note_acquired(Seen what) {
    if (O.acquired_block != R.block_start) O.acquired_count = 0;
    O.acquired_block = R.block_start;
    if (has_seen(what.word, what.position)) return;
    grow(O.acquired, O.acquired_count, O.acquired_room);
    O.acquired[O.acquired_count++] = {what, R.block_serial, R.thread, R.now};
}

// An atomic (or volatile) read of a global word: what was released on it is now visible.
static void acquire(u64 address) {
    if (!O.word_count) return;
    Word *w = word_at(address, false);
    if (!w || !w->releases) return;
    ++R.now;
    note_acquired({(u32)(w - O.words), w->releases});
    for (u32 i = 0; i < w->seen_count; i++) note_acquired(w->seen[i]);
}

static void carry(Word *w, Seen what) {
    for (u32 i = 0; i < w->seen_count; i++)
        if (w->seen[i].word == what.word) {
            if (w->seen[i].position < what.position) w->seen[i].position = what.position;
            return;
        }
    grow(w->seen, w->seen_count, w->seen_room);
    w->seen[w->seen_count++] = what;
}

// An atomic (or volatile) write of a global word: releases what was fenced before it.
static void release(u64 address, u32 when) {
    if (R.fenced != R.block_start) return;
    u32 all = 0, self = R.thread;
    size_t bytes = sizeof(Publication) + R.count * sizeof(u32);
    Publication *p = (Publication *)calloc(1, bytes);
    for (u32 t = 0; t < R.count; t++) {
        const Thread &of = R.threads[t];
        if (of.fence < R.block_start || !before_in_block(t, of.fence)) continue;
        p->fenced[t] = of.fence;
        if (of.fence_barrier > all) all = of.fence_barrier;
    }
    for (u32 t = 0; t < R.count; t++) {
        u32 warp = t / WARP == self / WARP && R.threads[self].fence >= R.block_start
                       ? R.known_at_fence[self][t % WARP]
                       : 0;
        u32 time = warp > all ? warp : all;
        if (p->fenced[t] < time) p->fenced[t] = time;
    }
    Word *w = word_at(address, true);
    for (u32 i = 0, n = acquired_count(); i < n; i++)
        if (O.acquired[i].block == R.block_serial &&
            before_in_block(O.acquired[i].thread, O.acquired[i].when))
            carry(w, O.acquired[i].what);
    p->word = (u32)(w - O.words);
    p->position = ++w->releases;
    p->thread = self;
    p->when = when;
    if (!O.of_block) O.of_block = (Publication **)calloc(R.blocks, sizeof(Publication *));
    p->next = O.of_block[R.block_serial];
    O.of_block[R.block_serial] = p;
    ++R.now;
}

static void forget_order() {
    for (u32 b = 0; O.of_block && b < R.blocks; b++)
        for (Publication *p = O.of_block[b], *next; p; p = next) {
            next = p->next;
            free(p);
        }
    for (u32 i = 0; i < O.word_count; i++) free(O.words[i].seen);
    free(O.words);
    free(O.acquired);
    free(O.of_block);
    memset(&O, 0, sizeof O);
}

// The threads of a block as fibers: a stack each, and a switch that costs a few nanoseconds.
#pragma once
#include "state.h"

static void run_thread();

#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
extern "C" void emu_switch(void **save, void *target);
asm(".text\n"
    ".hidden emu_switch\n"
    ".globl emu_switch\n"
    ".type emu_switch,@function\n"
    "emu_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size emu_switch,.-emu_switch\n");

static void *new_context(char *stack, u32) {
    u64 *top = (u64 *)(stack + STACK_BYTES - COLOURS);
    *--top = 0;  // keeps the stack aligned at the first call
    *--top = (u64)run_thread;
    for (int i = 0; i < 6; i++) *--top = 0;
    return top;
}
static void switch_to(void **save, void *target) { emu_switch(save, target); }
#else
#include <ucontext.h>
static ucontext_t contexts[MAX_STACKS + 1];  // the last one is the scheduler's

static void *new_context(char *stack, u32 slot) {
    ucontext_t *c = &contexts[slot];
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = STACK_BYTES - COLOURS;
    c->uc_link = 0;
    makecontext(c, run_thread, 0);
    return c;
}
static void switch_to(void **save, void *target) {
    bool scheduler = save == &R.scheduler;
    u32 slot = scheduler ? (u32)MAX_STACKS : R.threads[R.thread].stack;
    *save = &contexts[slot];
    swapcontext(&contexts[slot], (ucontext_t *)target);
}
#endif

static const u64 CANARY = 0x5afe57ac4b0770ffull;

// Where a stack starts: shifted, so that the stacks do not fight for the same lines of the cache.
static char *stack_of(u32 slot) {
    return (char *)R.stack_low + (u64)slot * STACK_BYTES + slot * 320u % COLOURS;
}

// Runs a thread until it waits, spins or ends.
static void resume(u32 index) {
    Thread *t = &R.threads[index];
    R.thread = index;
    R.me = R.block_serial << BLOCK_SHIFT | index;
    R.patience = 1ull << 28;
    if (t->state == FRESH) {
        t->stack = R.free_stacks[--R.free_count];
        *(u64 *)stack_of(t->stack) = CANARY;
        t->context = new_context(stack_of(t->stack), t->stack);
    }
    t->state = RUNNABLE;
    R.inside = 1;
    switch_to(&R.scheduler, t->context);
    R.inside = 0;
    if (R.failed) return;
    if (*(u64 *)stack_of(t->stack) != CANARY)
        fail(0, 0, "a thread needs more than %d bytes of stack", STACK_BYTES - COLOURS);
    if (t->state != FINISHED) return;
    R.free_stacks[R.free_count++] = t->stack;
    R.finished[index / WARP] |= 1u << index % WARP;
}

// Gives the processor back to the scheduler, which resumes the thread once it may go on.
static void pause_as(State state) {
    Thread *t = &R.threads[R.thread];
    t->state = state;
    switch_to(&t->context, R.scheduler);
}

static void run_thread() {
    R.launch->entry->call(R.launch->entry->kernel, R.launch->values);
    pause_as(FINISHED);
}

static void leave_for_good() {
    if (R.inside) {
        void *nowhere;
        switch_to(&nowhere, R.scheduler);
    }
}

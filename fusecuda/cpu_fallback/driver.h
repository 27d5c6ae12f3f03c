// The driver: runs the launches of a plan one after the other, each on as many threads as its work
// is worth. It is a library of its own, compiled once: kernels are called through their addresses.
//
// The threads are our own: the caller works too and waits only for workers that have taken a part.
// An OpenMP region ends in a barrier for all its threads, and on a busy machine that is a wait of
// milliseconds for one that was never needed. Parts are taken in turn, so which thread computes
// what may differ from call to call; an element's value does not depend on it.

// Nothing here is a loop over elements, and the first kernel waits for it: what more than -O1 does
// would take as long again.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

typedef struct {
    fc_kernel *kernel;
    fc_args args;
    char *scratch;
    int64_t scratch_size, work, parts;
} fc_share;

typedef struct {
    const fc_share *shares;
    int64_t count, parts, team;
} fc_job;

static void fc_run_part(const fc_job *job, int64_t part, int64_t thread)
{
    const fc_share *share = job->shares;
    while (part >= share->parts) part -= share++->parts;
    const int64_t begin = share->work * part / share->parts;
    const int64_t end = share->work * (part + 1) / share->parts;
    if (begin < end)
        share->kernel(&share->args, begin, end, share->scratch + thread * share->scratch_size);
    if (share->args.streams) fc_settle();
}

#ifdef _REENTRANT
#include <pthread.h>
#include <unistd.h>
#include <time.h>

enum { FC_MOST_THREADS = 256, FC_PARTS = 4, FC_SPINS = 4000, FC_AWAKE = 50000 };

static struct {
    pthread_mutex_t busy;   // one job at a time; another caller works alone
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int64_t workers;        // started so far
    int64_t job_number;     // of the newest job
    int64_t open;           // whether its parts may be taken
    int64_t inside;         // workers that look at it
    int64_t next;           // the next part
    int processor;          // where the caller runs
    int64_t resting;        // whether who has nothing to do goes to sleep at once
    fc_job job;
} fc_pool = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
             .wake = PTHREAD_COND_INITIALIZER};

#define FC_READ(x) __atomic_load_n(&fc_pool.x, __ATOMIC_SEQ_CST)
#define FC_WRITE(x, v) __atomic_store_n(&fc_pool.x, v, __ATOMIC_SEQ_CST)
#define FC_ADD(x, v) __atomic_fetch_add(&fc_pool.x, v, __ATOMIC_SEQ_CST)

static void fc_take_parts(int64_t thread)
{
    for (int64_t part; (part = FC_ADD(next, 1)) < fc_pool.job.parts;)
        fc_run_part(&fc_pool.job, part, thread);
}

static void fc_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// A worker that slept is woken beside its caller where the scheduler knows no idle processor: there
// it would only take turns with it. So it goes to another one, and stays away from this one.
#ifdef __linux__
enum { FC_CPU_WORDS = 1024 / (8 * sizeof(unsigned long)) };
extern int sched_getcpu(void);
extern int sched_getaffinity(int, size_t, void *);
extern int sched_setaffinity(int, size_t, const void *);

static int fc_processor(void) { return sched_getcpu(); }

static void fc_leave(int processor)
{
    unsigned long allowed[FC_CPU_WORDS] = {0}, others = 0;
    enum { BITS = 8 * sizeof *allowed };
    if (processor < 0 || processor != sched_getcpu()) return;
    if (sched_getaffinity(getpid(), sizeof allowed, allowed) < 0) return;
    allowed[processor / BITS] &= ~(1UL << processor % BITS);
    for (int i = 0; i < FC_CPU_WORDS; ++i) others |= allowed[i];
    if (others) sched_setaffinity(0, sizeof allowed, allowed);
}
#else
static int fc_processor(void) { return -1; }
static void fc_leave(int processor) { (void)processor; }
#endif

static int64_t fc_nanoseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// A worker stays awake for a moment, since the next job may be near; a pause may be four times as
// long on one processor as on another. It is not in the way of a library's own threads.
static int64_t fc_next_job(int64_t seen)
{
    const int64_t since = fc_nanoseconds();
    for (int i = 1; i <= FC_SPINS && !FC_READ(resting); ++i) {
        const int64_t now = FC_READ(job_number);
        if (now != seen) return now;
        fc_pause();
        if (i % 64 == 0 && fc_nanoseconds() - since > FC_AWAKE) break;
    }
    pthread_mutex_lock(&fc_pool.lock);
    while (FC_READ(job_number) == seen)
        pthread_cond_wait(&fc_pool.wake, &fc_pool.lock);
    pthread_mutex_unlock(&fc_pool.lock);
    fc_leave(FC_READ(processor));
    return FC_READ(job_number);
}

static void *fc_worker(void *number)
{
    const int64_t thread = (int64_t)(intptr_t)number;
    for (int64_t seen = 0;;) {
        seen = fc_next_job(seen);
        // From here to the end the caller waits for us, if the job was still open.
        FC_ADD(inside, 1);
        if (FC_READ(open) && FC_READ(job_number) == seen && thread < fc_pool.job.team)
            fc_take_parts(thread);
        FC_ADD(inside, -1);
    }
    return NULL;
}

static int64_t fc_start_workers(int64_t wanted)
{
    while (fc_pool.workers < wanted) {
        pthread_t id;
        pthread_attr_t detached;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        const intptr_t number = fc_pool.workers + 1;
        const int failed = pthread_create(&id, &detached, fc_worker, (void *)number);
        pthread_attr_destroy(&detached);
        if (failed) break;
        ++fc_pool.workers;
    }
    return fc_pool.workers;
}

static int fc_run_together(const fc_job *job)
{
    if (pthread_mutex_trylock(&fc_pool.busy)) return 0;
    if (!fc_start_workers(job->team - 1)) {
        pthread_mutex_unlock(&fc_pool.busy);
        return 0;
    }
    fc_pool.job = *job;
    FC_WRITE(next, 0);
    FC_WRITE(processor, fc_processor());
    FC_WRITE(open, 1);
    pthread_mutex_lock(&fc_pool.lock);
    FC_ADD(job_number, 1);
    pthread_cond_broadcast(&fc_pool.wake);
    pthread_mutex_unlock(&fc_pool.lock);
    fc_take_parts(0);
    FC_WRITE(open, 0);
    while (FC_READ(inside)) fc_pause();
    pthread_mutex_unlock(&fc_pool.busy);
    return 1;
}

static void fc_rest(int64_t resting)
{
    if (FC_READ(resting) != resting) FC_WRITE(resting, resting);
}
#else
enum { FC_MOST_THREADS = 1, FC_PARTS = 1 };
static int fc_run_together(const fc_job *job) { (void)job; return 0; }
static void fc_rest(int64_t resting) { (void)resting; }
#endif

// What differs from call to call of the loops of a series.
typedef struct {
    const fc_launch *launches;
    const fc_frame *frame;
} fc_series;

static void fc_pointers(const fc_launch *l, const fc_frame *f, char **ptr)
{
    for (int64_t i = 0; i < l->forms; ++i)
        ptr[i] = f->base[l->place[2 * i]] + l->place[2 * i + 1];
}

static fc_args fc_given(const fc_launch *l, const fc_frame *f, char *const *ptr)
{
    char *block = f->base[f->bases - 1];
    return (fc_args){ptr, l->dim, f->scalar + l->scalar, f->status + l->status,
                     block + l->workspace, 0, l->streams, l->again};
}

// The parts of a series from `begin` to `end`, as a kernel whose items they are.
static void fc_run_bands(const fc_args *a, int64_t begin, int64_t end, char *strips)
{
    const fc_series *s = (const fc_series *)a->ptr;
    const fc_launch *l = s->launches;
    char *ptr[FC_MOST_FORMS], **first[FC_MOST_LOOPS], **next = ptr;
    fc_args args[FC_MOST_LOOPS];
    for (int64_t k = 0; k < l->company; ++k) {
        first[k] = next;
        fc_pointers(&l[k], s->frame, next);
        args[k] = fc_given(&l[k], s->frame, next);
        next += l[k].forms;
    }
    for (int64_t part = begin; part < end; ++part) {
        for (const int64_t *w = l->series + l->series[4 + part]; w[0] != FC_END; w += 4) {
            if (w[0] == FC_RUN)
                l[w[1]].kernel(&args[w[1]], w[2], w[3], strips);
            else if (w[0] == FC_SET)
                first[w[1]][w[2]] = strips + w[3];
            else
                memmove(strips + w[1], strips + w[2], (size_t)w[3]);
        }
    }
}

static void fc_run_series(const fc_launch *l, const fc_frame *f)
{
    fc_series series = {l, f};
    const int64_t *words = l->series, parts = words[3];
    fc_share share = {fc_run_bands, fc_given(l, f, (char *const *)&series),
                      f->base[f->bases - 1] + words[0], words[1], parts, parts};
    fc_job job = {&share, 1, parts, parts < f->threads ? parts : f->threads};
    share.args.streams = words[2];
    if (job.team > FC_MOST_THREADS) job.team = FC_MOST_THREADS;
    if (job.team == 1 || !fc_run_together(&job))
        for (int64_t part = 0; part < parts; ++part) fc_run_part(&job, part, 0);
}

// The kernels of one launch, cut into parts: as many as threads that their work pays for.
static void fc_run_one(const fc_launch *launches, const fc_frame *f)
{
    fc_share shares[FC_MOST_KERNELS];
    fc_job job = {shares, launches->company, 0, 1};
    char *block = f->base[f->bases - 1], **ptr = f->ptr;
    int64_t all = 0;  // threads that the work pays for, in units of 1 / 1024
    int64_t phases = 1;
    for (int64_t k = 0; k < job.count; ++k) {
        const fc_launch *l = &launches[k];
        fc_pointers(l, f, ptr);
        shares[k] = (fc_share){l->kernel, fc_given(l, f, ptr), block + l->scratch,
                               l->scratch_size, l->work, 1};
        ptr += l->forms;
        all += 1024 * l->work / l->grain;
        if (l->phases > phases) phases = l->phases;
    }
    all /= 1024;
    if (all > 1 && f->threads > 1) {
        job.team = all < f->threads ? all : f->threads;
        if (job.team > FC_MOST_THREADS) job.team = FC_MOST_THREADS;
        const int64_t most = job.team * FC_PARTS;
        for (int64_t k = 0; k < job.count; ++k) {
            const int64_t own = launches[k].work / launches[k].grain;
            const int64_t parts = all > most ? most * own / all : own;
            if (parts > 1) shares[k].parts = parts;
        }
    }
    for (int64_t phase = 0; phase < phases; ++phase) {
        job.parts = 0;
        for (int64_t k = 0; k < job.count; ++k) {
            if (phase >= launches[k].phases) shares[k].parts = 0;
            shares[k].args.phase = phase;
            job.parts += shares[k].parts;
        }
        if (job.team == 1 || !fc_run_together(&job))
            for (int64_t part = 0; part < job.parts; ++part) fc_run_part(&job, part, 0);
    }
    for (int64_t k = 0; k < job.count; ++k)
        if (launches[k].finish) launches[k].finish(&shares[k].args);
}

// The launches of a frame, whose bases are addresses.
static void fc_run_all(fc_frame *frame)
{
    const fc_launch *launches = frame->launches;
    fc_rest(0);
    for (int64_t i = 0; i < frame->count; i += launches[i].company) {
        if (launches[i].series) fc_run_series(&launches[i], frame);
        else fc_run_one(&launches[i], frame);
    }
    fc_rest(frame->rests);
}

// The driver: runs the launches of a plan one after the other, each on as many threads as its work
// is worth. Every compiled library carries it; any of them serves.

int64_t fc_abi(void) { return 1; }

static void fc_run_one(const fc_launch *l, const fc_frame *f, int64_t threads)
{
    for (int64_t i = 0; i < l->forms; ++i)
        f->ptr[i] = f->base[l->place[2 * i]] + l->place[2 * i + 1];
    char *block = f->base[f->bases - 1];
    const fc_args a = {
        f->ptr, l->dim, f->scalar + l->scalar, f->status + l->status, block + l->workspace
    };
    char *scratch = block + l->scratch;
    const int64_t useful = l->work / l->grain;
    const int64_t team = useful < 2 ? 1 : useful < threads ? useful : threads;
#ifdef _OPENMP
    if (team > 1) {
        #pragma omp parallel num_threads((int)team)
        {
            const int64_t t = omp_get_thread_num(), n = omp_get_num_threads();
            const int64_t begin = l->work * t / n, end = l->work * (t + 1) / n;
            if (begin < end) l->kernel(&a, begin, end, scratch + t * l->scratch_size);
        }
    } else
#endif
    if (l->work > 0)
        l->kernel(&a, 0, l->work, scratch);
    if (l->finish)
        l->finish(&a);
}

void fc_run(const fc_launch *launches, int64_t count, fc_frame *frame, int64_t threads)
{
    for (int64_t i = 0; i < frame->unresolved; ++i)
        frame->base[i] = *(char **)(frame->base[i] + frame->data);
    frame->unresolved = 0;
    for (int64_t i = 0; i < count; ++i)
        fc_run_one(&launches[i], frame, threads);
}

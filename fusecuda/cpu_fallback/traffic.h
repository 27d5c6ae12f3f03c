// The instrumented build: every access of an array element is counted for that element, and one
// outside the watched arrays is a stray. Included behind the ABI when traffic is asked for.

typedef struct {
    const char *low, *high;  // the bytes of one array
    int64_t item;
    int64_t *loads, *stores; // one counter for each element
} fc_watch;

static const fc_watch *fc_watched;
static int64_t fc_watches, fc_strays;

void fc_watch_arrays(const fc_watch *arrays, int64_t count)
{
    fc_watched = arrays;
    fc_watches = count;
    fc_strays = 0;
}

int64_t fc_stray_count(void) { return fc_strays; }

static inline void *fc_touch(const void *p, int store)
{
    for (int64_t i = 0; i < fc_watches; ++i) {
        const fc_watch *w = &fc_watched[i];
        if ((const char *)p >= w->low && (const char *)p < w->high) {
            ++(store ? w->stores : w->loads)[((const char *)p - w->low) / w->item];
            return (void *)p;
        }
    }
    ++fc_strays;
    return (void *)p;
}

#define FC_LOADED(lvalue) (*(__typeof__(&(lvalue)))fc_touch(&(lvalue), 0))
#define FC_STORED(lvalue) (*(__typeof__(&(lvalue)))fc_touch(&(lvalue), 1))

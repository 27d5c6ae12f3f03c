// The driver's entry: a frame arrives with NumPy's array objects, which are looked at, and become
// addresses.

// Whether one of the first `count` spans that is overwritten shares memory with another one. All
// pairs are compared, which for some forty arrays takes less than to sort them.
static int fc_share_memory(const int64_t *written, const uint64_t *low, const uint64_t *high,
                           int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        int64_t met = 0;
        if (!written[i] || low[i] == high[i]) continue;
        for (int64_t j = 0; j < count; ++j) met += (low[j] < high[i]) & (low[i] < high[j]);
        if (met > 1) return 1;  // itself, and another
    }
    return 0;
}

// Whether the array objects are as the layouts say: their number and type, how many are written to
// and which, then of each the rank, the scalar type, the offsets of its first byte and of the one
// behind its last, extents and strides. A dtype is told by its scalar type and the order of its
// bytes, for arrays that come from a file or another process bring dtype objects of their own. The
// fields of an array and of a dtype are where NumPy's ABI has them.
static int fc_fits(const fc_frame *f)
{
    const int64_t *w = f->layouts, count = w[0], type = w[1], *written = w + 4, writes = w[2];
    const char foreign = (char)w[3];  // the order of bytes that is not the machine's
    uint64_t *low = (uint64_t *)f->ptr, *high = low + count;
    w += 4 + count;
    for (int64_t i = 0; i < count; ++i) {
        const char *array = f->base[i];
        if (*(const int64_t *)(array + f->data - 8) != type) return 0;
        const int64_t *field = (const int64_t *)(array + f->data), rank = w[0];
        const int64_t *dims = (const int64_t *)field[2], *strides = (const int64_t *)field[3];
        const char *dtype = (const char *)field[5] + f->data;
        if (*(const int *)&field[1] != rank || *(const int64_t *)dtype != w[1]) return 0;
        if (dtype[10] == foreign) return 0;
        if ((*(const int *)&field[6] & 0x500) != 0x500) return 0;  // aligned, writeable
        for (int64_t a = 0; a < rank; ++a)
            if (dims[a] != w[4 + a] || strides[a] != w[4 + rank + a]) return 0;
        low[i] = w[2] == w[3] ? 0 : (uint64_t)(field[0] + w[2]);
        high[i] = w[2] == w[3] ? 0 : (uint64_t)(field[0] + w[3]);
        w += 4 + 2 * rank;
    }
    return !writes || !fc_share_memory(written, low, high, count);
}

// 0, or 1 where nothing was run since the arguments do not fit.
int64_t fc_run(fc_frame *frame)
{
    if (frame->unresolved && frame->layouts && !fc_fits(frame)) return 1;
    for (int64_t i = 0; i < frame->unresolved; ++i)
        frame->base[i] = *(char **)(frame->base[i] + frame->data);
    frame->unresolved = 0;
    fc_run_all(frame);
    return 0;
}

// Runs of elements for which the test of an index has one answer: what lies outside an operand of a
// concatenation or a pad is read from a block of zeros instead of behind a mask.

static const double fc_zeros[512];

// The steps, at most run, for which at, at + step, … stays on its side of 0 and of limit.
FC_INLINE int64_t fc_stretch(int64_t run, int64_t at, int64_t step, int64_t limit) {
    int64_t room;  // distance to the side that the walk heads for, less one
    if (step > 0 && at < limit) room = (at < 0 ? -1 : limit - 1) - at;
    else if (step < 0 && at >= 0) room = at - (at < limit ? 0 : limit);
    else return run;
    if (step != 1) room /= step < 0 ? -step : step;
    return fc_min(run, room + 1);
}

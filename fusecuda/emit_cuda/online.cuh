// Online reductions: two in one pass, where the user frees the order of sums (see online.py).

// The maximum of the elements, and the sum of exp(element - maximum): a larger maximum scales the
// sum so far down.
template <typename V>
struct fc_pair {
    V most, sum;
};
template <typename V>
FC_INLINE fc_pair<V> fc_shuffle(fc_pair<V> p, int m)
{
    return {fc_shuffle(p.most, m), fc_shuffle(p.sum, m)};
}
FC_INLINE float fc_exp(float a) { return expf(a); }
FC_INLINE double fc_exp(double a) { return exp(a); }

template <typename T>
struct fc_online {
    typedef fc_pair<T> P;
    static __device__ __forceinline__ P identity() { return {fc_least(T()), T(0)}; }
    // The sum: NaN below an infinite maximum, where inf - inf would have been added.
    static __device__ __forceinline__ T sum(P a) { return a.sum + (a.most - a.most); }
    // A sum below `a`, as one below `most`.
    static __device__ __forceinline__ T below(P a, T most)
    {
        return a.most == most ? a.sum : a.sum * fc_exp(a.most - most);
    }
    static __device__ __forceinline__ P take(P a, T v)
    {
        const T most = fc_max<T>::combine(a.most, v);
        return {most, below(a, most) + (v == most ? T(1) : fc_exp(v - most))};
    }
    static __device__ __forceinline__ P combine(P a, P b)
    {
        const T most = fc_max<T>::combine(a.most, b.most);
        return {most, below(a, most) + below(b, most)};
    }
};

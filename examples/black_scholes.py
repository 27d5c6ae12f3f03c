"""Prices of European options by Black and Scholes: one function, two results, one kernel.

Both prices share most of their arithmetic. The kernel reads the five inputs once, keeps every
intermediate value in registers, and writes the two results.
"""

import numpy as np
from common import Example
from scipy.special import erf

from fusecuda import fused


def normal_cdf(x):
    return 0.5 * (1 + erf(x / np.sqrt(2.0)))


def black_scholes(spot, strike, maturity, rate, volatility):
    """The prices of a call and of a put on the same strike."""
    deviation = volatility * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * maturity) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * maturity)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = discounted * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put


# The functions that it calls are recorded with it; `rate` may be a number or an array.
fused_black_scholes = fused(black_scholes)


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1_000_000, quick=1003)
    rng = np.random.default_rng(0)
    spot, strike = (run.array(rng.uniform(50, 150, run.size)) for _ in range(2))
    maturity = run.array(rng.uniform(0.1, 2, run.size))
    volatility = run.array(rng.uniform(0.1, 0.5, run.size))
    run.compare(black_scholes, (spot, strike, maturity, 0.03, volatility))

    # Another rate is another argument of the same kernel: nothing is recorded or compiled again.
    for rate in (0.03, 0.05):
        call, put = fused_black_scholes(spot, strike, maturity, rate, volatility)
    assert fused_black_scholes.traces == 1
    parity = call - put - (spot - strike * np.exp(-0.05 * maturity))
    print(f"put-call parity holds to {float(np.max(np.abs(parity))):.1e}")
    run.chart()
    return run


if __name__ == "__main__":
    main()

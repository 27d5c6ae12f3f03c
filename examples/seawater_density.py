"""The density of seawater by the international equation of state (UNESCO 1981): one long formula.

Fifty multiplications and additions on three inputs. Plain NumPy makes a pass over memory for each;
the fused kernel makes one. As there is only + − × ÷ √ in it, every bit is the same.
"""

import numpy as np
from common import Example

from fusecuda import fused


def pure_water(t):
    """The density of pure water in kg/m³ at ``t`` °C and one atmosphere."""
    return 999.842594 + t * (
        6.793952e-2 + t * (-9.095290e-3 + t * (1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9)))
    )


def surface_density(s, t):
    """The density of water of salinity ``s`` (PSS-78) at one atmosphere."""
    linear = 0.824493 + t * (-4.0899e-3 + t * (7.6438e-5 + t * (-8.2467e-7 + t * 5.3875e-9)))
    root = -5.72466e-3 + t * (1.0227e-4 + t * -1.6546e-6)
    return pure_water(t) + s * (linear + root * np.sqrt(s) + 4.8314e-4 * s)


def bulk_modulus(s, t, p):
    """The secant bulk modulus in bar at ``p`` bar above one atmosphere."""
    root = np.sqrt(s)
    water = 19652.21 + t * (148.4206 + t * (-2.327105 + t * (1.360477e-2 + t * -5.155288e-5)))
    salt = 54.6746 + t * (-0.603459 + t * (1.09987e-2 + t * -6.1670e-5))
    salt = s * (salt + root * (7.944e-2 + t * (1.6483e-2 + t * -5.3009e-4)))
    a = 3.239908 + t * (1.43713e-3 + t * (1.16092e-4 + t * -5.77905e-7))
    a = a + s * (2.2838e-3 + t * (-1.0981e-5 + t * -1.6078e-6) + 1.91075e-4 * root)
    b = 8.50935e-5 + t * (-6.12293e-6 + t * 5.2787e-8)
    b = b + s * (-9.9348e-7 + t * (2.0816e-8 + t * 9.1697e-10))
    return water + salt + p * (a + p * b)


def density(s, t, p):
    """The density of seawater in kg/m³."""
    return surface_density(s, t) / (1 - p / bulk_modulus(s, t, p))


fused_density = fused(density)


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=1_000_000, quick=1003)
    published = 1062.53817  # the check value for s = 35, t = 25 °C, p = 1000 bar
    found = fused_density(*(run.array([value]) for value in (35.0, 25.0, 1000.0)))
    assert round(float(found[0]), 5) == published
    rng = np.random.default_rng(0)
    s = run.array(rng.uniform(0, 42, run.size))
    t = run.array(rng.uniform(-2, 40, run.size))
    p = run.array(rng.uniform(0, 1000, run.size))
    run.compare(density, (s, t, p), exact=True)
    run.chart()
    return run


if __name__ == "__main__":
    main()

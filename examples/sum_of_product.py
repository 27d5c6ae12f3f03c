"""sum(x + y * z): three operations, of which no intermediate array has to exist.

The example by which fusion is explained most often. NumPy makes two arrays as large as the inputs
on its way to one number; fused, one kernel reads the inputs once and keeps a sum.
"""

import numpy as np
from common import Example

import fusecuda as fc


def sum_of_product(x, y, z):
    return np.sum(x + y * z)


def main(arguments=None):
    run = Example(__file__, __doc__, arguments, size=4_000_000, quick=5000)
    rng = np.random.default_rng(0)
    x, y, z = (run.array(rng.normal(size=run.size)) for _ in range(3))
    run.compare(sum_of_product, (x, y, z), tolerance=1e-10)
    spec = fc.spec(run.size)
    print(fc.lower(sum_of_product, spec, spec, spec, device=run.device).explain())
    run.chart()
    return run


if __name__ == "__main__":
    main()

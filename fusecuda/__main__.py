"""``python -m fusecuda``."""

import sys

from .tools.cli import main

sys.exit(main())

"""``python -m destage`` is the ``destage`` command."""

import sys

from destage._command import main

sys.exit(main())

"""Before anything imports torch: tests run in one process per core, each with a single thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

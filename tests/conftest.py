"""Before anything imports torch: tests run in one process per core, each with a single thread."""

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# A busy machine is no failure. All else is as Hypothesis has it here, or under CI.
settings.register_profile("delightful", settings.default, deadline=None)
settings.load_profile("delightful")

# A shell without job control starts background commands deaf to Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# SPDX-License-Identifier: Apache-2.0
"""joblib with loky, its pool of workers that are exec'd."""
from joblib import Parallel, delayed

from truth import burn_cpu, note, timed


def square():
    burn_cpu(.1)


def task():
    timed(square)


note(role="root")
Parallel(n_jobs=2)(delayed(task)() for _ in range(8))

# SPDX-License-Identifier: Apache-2.0
"""Ranks of MPI, each busy in a function, and the first twice as long."""
from mpi4py import MPI

from truth import burn_cpu, note, timed

world = MPI.COMM_WORLD


def rank_work():
    burn_cpu(.3 if world.rank else .6)


note(role="rank", rank=world.rank)
timed(rank_work)
world.Barrier()

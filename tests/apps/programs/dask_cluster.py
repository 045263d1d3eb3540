# SPDX-License-Identifier: Apache-2.0
"""A dask cluster of two processes on this machine."""
from dask.distributed import Client, LocalCluster

from truth import burn_cpu, note, timed


def chunk():
    burn_cpu(.1)


def task(number):
    timed(chunk)
    return number


def main():
    note(role="root")
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                      dashboard_address=None) as cluster:
        with Client(cluster) as client:
            client.gather(client.map(task, range(8)))


if __name__ == "__main__":
    main()

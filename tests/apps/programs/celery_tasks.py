# SPDX-License-Identifier: Apache-2.0
"""Tasks for workers of Celery. The address of the broker is in FFAPPS_BROKER."""
import os

from celery import Celery

from truth import burn_cpu, timed

broker = os.environ["FFAPPS_BROKER"]
app = Celery("celery_tasks", broker=broker, backend=broker)


def resize():
    burn_cpu(.1)


@app.task
def job(number):
    timed(resize)
    return os.getpid()

# SPDX-License-Identifier: Apache-2.0
"""PySpark in its local mode: Python workers, forked by a daemon, which a JVM
started, which a Python started."""
from pyspark.sql import SparkSession

from truth import burn_cpu, note, timed


def record():
    burn_cpu(.1)


def task(number):
    timed(record)
    return number


note(role="root")
session = (SparkSession.builder.master("local[2]")
           .config("spark.ui.enabled", "false")
           .config("spark.driver.host", "127.0.0.1")
           .config("spark.driver.bindAddress", "127.0.0.1")
           .getOrCreate())
session.sparkContext.setLogLevel("ERROR")
session.sparkContext.parallelize(range(8), 4).map(task).collect()
session.stop()

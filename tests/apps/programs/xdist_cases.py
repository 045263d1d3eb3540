# SPDX-License-Identifier: Apache-2.0
"""Test cases for pytest-xdist."""
import pytest

from truth import burn_cpu, timed


def case():
    burn_cpu(.1)


@pytest.mark.parametrize("number", range(8))
def test_case(number):
    timed(case)

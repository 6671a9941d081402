# SPDX-License-Identifier: MIT
"""Promises that are not yet kept: the cases that break one are marked, and the mark has to go when they pass."""
import itertools

import pytest


def cases(*axes, broken=lambda *case: True, reason):
    """All combinations, as parameters of a test; `broken` says which of them break the promise."""
    mark = pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)
    return [pytest.param(*case, marks=[mark] if broken(*case) else [], id=", ".join(map(str, case)))
            for case in itertools.product(*axes)]

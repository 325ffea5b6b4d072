"""The database that tests of watches begin with."""

import pytest
from active_alarms import PROGRAM

import headwater as hw


@pytest.fixture
def db():
    with hw.connect() as found:
        found.define(PROGRAM)
        yield found

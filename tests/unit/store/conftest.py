"""What the tests of the probe share."""

import pytest

# Its assertions say what they saw, as those of a test do.
pytest.register_assert_rewrite("tests.unit.store.probing")

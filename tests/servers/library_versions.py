"""The oldest libraries that stores are reached by, in an environment of their own, by night."""

from __future__ import annotations

from tests.servers.installation import PinnedEnvironment

OLDEST_LIBRARIES = PinnedEnvironment(name="oldest-libraries", version="1", command="python")
"""Those that `pyproject.toml` permits. All other tests run by new ones."""

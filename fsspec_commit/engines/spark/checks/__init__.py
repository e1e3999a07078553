"""Which committer a write of a session would use, and what is wrong; nothing is written."""

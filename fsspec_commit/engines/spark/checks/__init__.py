"""What a write of a session would commit by, and what is wrong with it: nothing is written."""

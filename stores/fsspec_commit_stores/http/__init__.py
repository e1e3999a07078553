"""What the stores that are reached over a network have in common; nearly all of them use HTTP."""

"""How a store is changed with certainty: every verb settled, every deletion permitted."""

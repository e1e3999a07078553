"""How a store is changed with certainty: every verb confirmed, every deletion permitted."""

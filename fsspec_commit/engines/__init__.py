"""Engines: other libraries' writers, each made to write one job."""

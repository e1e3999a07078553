"""The faces that people hold: synchronous, for any thread, each bridged to the event loop."""

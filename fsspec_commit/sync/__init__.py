"""The synchronous interface, for any thread: each call is bridged to the event loop."""

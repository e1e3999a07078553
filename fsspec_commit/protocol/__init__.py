"""What happens, in which order; async, without a loop, a thread or a clock of its own."""

"""The driver process of a JVM: drives the jobs of Spark's own writers, and is asked by lines.

The jar starts it at the first write and keeps it. Each line of its standard input is a request as
JSON, each line of its standard output an answer or an event. It ends when its input does, that is
with the JVM, whatever ended that: what is decided it finishes first, and what is not it aborts.
"""

"""The driver process of a JVM: drives the jobs of Spark's own writers, as the JVM asks it to.

The jar starts it at the first write and keeps it. Each line of its standard input is a request as
JSON, each line of its standard output an answer or an event. It ends when its input does, that is
with the JVM, however that ends; but first it finishes what is decided, and aborts what is not.
"""

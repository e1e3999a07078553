"""PySpark: every way in which a Spark job writes through the committers of this library.

Importing it imports no PySpark: the driver process that a JVM starts has no need of it.
"""

__all__: list[str] = []

package io.github.fsspec_commit.spark;

import org.apache.spark.sql.execution.QueryExecutionException;

/** A write was refused, or did not commit; the message says what was left, and what to do. */
class FsspecCommitException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "fsspec-commit: ";

  FsspecCommitException(String message) {
    super(PREFIX + message);
  }

  FsspecCommitException(String message, Throwable cause) {
    super(PREFIX + message, cause);
  }

  /** What an exception says, for the message of another one. */
  static String reason(Exception e) {
    String message = String.valueOf(e.getMessage());
    return message.startsWith(PREFIX) ? message.substring(PREFIX.length()) : message;
  }

  /**
   * Throws this as the exception that Spark has for a query that fails.
   *
   * <p>PySpark shows an exception of that class by its message alone. One that it does not know, it shows
   * with the whole stack of Java, where the message is the second of a hundred lines.
   */
  RuntimeException thrown() {
    QueryExecutionException told = new QueryExecutionException(getMessage(), getCause());
    told.setStackTrace(getStackTrace());
    throw FsspecCommitException.<RuntimeException>unchecked(told);
  }

  /** Throws unchecked, as Scala does with every exception: Spark's methods declare none. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable error) throws E {
    throw (E) error;
  }
}

package io.github.fsspec_commit.spark;

/** A write was refused, or did not commit; the message says what was left, and what to do. */
public class FsspecCommitException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String PREFIX = "fsspec-commit: ";

  FsspecCommitException(String message) {
    super(PREFIX + message);
  }

  FsspecCommitException(String message, Throwable cause) {
    super(PREFIX + message, cause);
  }

  /** What an exception says, to be said as a part of another one. */
  static String reason(Exception e) {
    String message = String.valueOf(e.getMessage());
    return message.startsWith(PREFIX) ? message.substring(PREFIX.length()) : message;
  }
}

package io.github.fsspec_commit.spark;

/** A write was refused, or did not commit; the message says what was left, and what to do. */
public class FsspecCommitException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  FsspecCommitException(String message) {
    super("fsspec-commit: " + message);
  }

  FsspecCommitException(String message, Throwable cause) {
    super("fsspec-commit: " + message, cause);
  }
}

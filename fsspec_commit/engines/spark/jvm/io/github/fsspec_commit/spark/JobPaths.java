package io.github.fsspec_commit.spark;

import java.io.Serializable;
import org.apache.hadoop.fs.Path;

/** Where the attempts of one job write: the driver process says it, and tasks only append names. */
final class JobPaths implements Serializable {
  private static final long serialVersionUID = 1L;

  final String jobId;
  final String destination;
  /** Whether a file is an upload that somebody else completes, instead of a file to be renamed. */
  final boolean isUploaded;

  private final String attempts;

  JobPaths(String jobId, Path destination, boolean isUploaded, String attempts) {
    this.jobId = jobId;
    this.destination = destination.toString();
    this.isUploaded = isUploaded;
    this.attempts = attempts;
  }

  /** The directory that all files of an attempt are below. */
  Path attempt(int taskId, String attemptId) {
    return new Path(destination + "/" + attempts + "/" + taskId + "/" + attemptId);
  }

  /** What Spark's writer opens for the file of this name, relative to the destination. */
  String opened(int taskId, String attemptId, String name) {
    Path attempt = attempt(taskId, attemptId);
    return isUploaded ? attempt + "/__base/" + name : standing(taskId, attemptId, name).toString();
  }

  /** What stands when that file is closed: the file itself, or the record of its upload. */
  Path standing(int taskId, String attemptId, String name) {
    String below = isUploaded ? "/__base/" + name : "/" + name;
    return new Path(attempt(taskId, attemptId) + below + ".pending");
  }
}

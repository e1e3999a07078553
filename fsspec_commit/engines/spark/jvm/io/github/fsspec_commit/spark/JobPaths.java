package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Where the attempts of one job write: the driver process says so, and tasks only append names. */
final class JobPaths implements Serializable {
  private static final long serialVersionUID = 1L;

  final String jobId;
  final String destination;
  /** Whether a file is an upload that somebody else completes, instead of a file to be renamed. */
  final boolean isUploaded;

  /** Whether the destination was not there before the job. */
  private final boolean isNew;
  private final String attempts;
  private final String record;

  /**
   * The paths of a job that has begun.
   *
   * @param job what the driver process has said of it
   */
  JobPaths(JsonNode job, Path destination, boolean isNew) {
    this.jobId = job.get("job_id").asText();
    this.destination = destination.toString();
    this.isUploaded = job.get("is_uploaded").asBoolean();
    this.isNew = isNew;
    this.attempts = job.get("attempts").asText();
    this.record = job.get("record").asText();
  }

  /** The directory below which all files of an attempt are. */
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

  /** The record of the job, which exists as long as the job does. */
  Path record() {
    return new Path(destination + "/" + record);
  }

  /** Removes the directories of a job that is over, until one is not empty. */
  void removeEmpty(FileSystem fs, int taskId) {
    Path tasks = new Path(destination + "/" + attempts);
    Path top = isNew ? new Path(destination) : tasks.getParent();
    EmptyDirectories.remove(fs, new Path(tasks, Integer.toString(taskId)), top);
  }

  /** Removes the destination of an aborted job, if it was not there before the job and is empty. */
  void removeNewDestination(FileSystem fs) {
    if (isNew) {
      Path areas = new Path(destination + "/" + attempts).getParent().getParent();
      EmptyDirectories.remove(fs, areas, new Path(destination));
    }
  }
}

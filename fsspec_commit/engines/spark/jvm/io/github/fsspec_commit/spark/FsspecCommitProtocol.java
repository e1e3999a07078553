package io.github.fsspec_commit.spark;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * Commits what Spark's own writers write: {@code spark.sql.sources.commitProtocolClass}.
 *
 * <p>Spark writes, and this class says where: to places that no reader looks at. It decides nothing,
 * publishes nothing and deletes nothing that is visible. fsspec-commit does all of that, in the
 * driver process of this JVM: see {@link DriverProcess}.
 *
 * <p>Spark makes one instance for each write on the driver, and sends a copy to each task attempt. It
 * also makes instances for writes that it then refuses or skips, so a constructor must begin
 * nothing.
 */
public class FsspecCommitProtocol extends FileCommitProtocol implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(FsspecCommitProtocol.class);

  private final String sparkJobId;
  private final String path;
  private final boolean isDynamicOverwrite;
  // Set by the driver before it serialises the tasks.
  private JobPaths paths;

  // The driver's.
  private transient List<Path> replaced;
  private transient DriverJob job;
  private transient FileSystem fs;
  // One task attempt's: each has a copy of its own.
  private transient TaskAttempt attempt;

  /** The constructor that Spark calls by reflection. */
  public FsspecCommitProtocol(String jobId, String path, boolean dynamicPartitionOverwrite) {
    this.sparkJobId = jobId;
    this.path = path;
    this.isDynamicOverwrite = dynamicPartitionOverwrite;
  }

  /** The constructor that Spark's streaming sink and its RDDs call. */
  public FsspecCommitProtocol(String jobId, String path) {
    this(jobId, path, false);
  }

  // The driver.

  /**
   * Notes what an overwrite replaces; nothing is deleted before the new files are in place.
   *
   * <p>Spark calls it before {@link #setupJob}, for the destination or for static partitions.
   */
  @Override
  public boolean deleteWithJob(FileSystem fs, Path deleted, boolean recursive) {
    if (job != null) {
      throw new FsspecCommitException(
          "cannot delete " + deleted + ": what a job replaces is said before the job begins");
    }
    if (replaced == null) {
      replaced = new ArrayList<>();
    }
    replaced.add(fs.makeQualified(deleted));
    return true;
  }

  @Override
  public void setupJob(JobContext context) {
    try {
      begin(context.getConfiguration());
    } catch (FsspecCommitException e) {
      throw e.thrown();
    }
  }

  private void begin(Configuration conf) {
    if (job != null) {
      throw new FsspecCommitException("job " + job.id() + " began already: one instance, one job");
    }
    try {
      fs = new Path(path).getFileSystem(conf);
      Path destination = fs.makeQualified(new Path(path));
      Refusals.check(sparkJobId, destination, conf);
      List<Path> deleted = replaced == null ? new ArrayList<>() : replaced;
      WriteMode mode = WriteMode.of(destination, isDynamicOverwrite, deleted);
      boolean isNew = EmptyDirectories.isNew(fs, destination);
      job = DriverJob.start(destination, mode, isNew, fs, conf);
      paths = job.paths();
      LOG.info("job {} to {} began: {}", job.id(), destination, mode);
    } catch (IOException e) {
      throw new FsspecCommitException("cannot begin the job to " + path + ": " + e.getMessage(), e);
    }
  }

  /** Lets the driver process prepare the commit of a task while other tasks run. */
  @Override
  public void onTaskCommit(TaskCommitMessage message) {
    job.taskCommitted((String) message.obj());
  }

  /** Called by Spark for Scala 2.13. */
  @Override
  public void commitJob(
      JobContext context, scala.collection.immutable.Seq<TaskCommitMessage> messages) {
    commit(messages.iterator());
  }

  /** Called by Spark for Scala 2.12, whose {@code Seq} is this one. */
  public void commitJob(JobContext context, scala.collection.Seq<TaskCommitMessage> messages) {
    commit(messages.iterator());
  }

  private void commit(scala.collection.Iterator<TaskCommitMessage> messages) {
    List<String> texts = new ArrayList<>();
    while (messages.hasNext()) {
      texts.add((String) messages.next().obj());
    }
    try {
      job.commit(texts);
    } catch (FsspecCommitException e) {
      throw e.thrown();
    }
  }

  /**
   * Aborts the job unless it is decided: Spark calls this also after a commit that failed.
   *
   * <p>It raises nothing, so that Spark shows its own error.
   */
  @Override
  public void abortJob(JobContext context) {
    if (job == null) {
      return;
    }
    try {
      if (job.abort()) {
        paths.removeNewDestination(fs);
      }
    } catch (RuntimeException e) {
      LOG.warn("job {} to {} was not aborted: {}", job.id(), path, e.getMessage());
    }
  }

  // A task.

  @Override
  public void setupTask(TaskAttemptContext context) {
    attempt = new TaskAttempt(paths, context.getTaskAttemptID().getTaskID().getId());
  }

  /** The form that Spark up to 3.1 calls, and later releases in some places. */
  @Override
  public String newTaskTempFile(TaskAttemptContext context, Option<String> dir, String ext) {
    return newTaskTempFile(context, dir, new FileNameSpec("", ext));
  }

  @Override
  public String newTaskTempFile(
      TaskAttemptContext context, Option<String> dir, FileNameSpec spec) {
    String directory = dir.isDefined() ? dir.get() : "";
    try {
      return attempt.newFile(
          directory, spec.prefix(), spec.suffix(), context.getConfiguration());
    } catch (IOException e) {
      throw new FsspecCommitException(
          "cannot begin a file of task " + attempt.taskId() + " at " + path, e);
    }
  }

  @Override
  public String newTaskTempFileAbsPath(
      TaskAttemptContext context, String absoluteDir, String ext) {
    throw Refusals.ownLocation(absoluteDir, path);
  }

  @Override
  public String newTaskTempFileAbsPath(
      TaskAttemptContext context, String absoluteDir, FileNameSpec spec) {
    throw Refusals.ownLocation(absoluteDir, path);
  }

  @Override
  public TaskCommitMessage commitTask(TaskAttemptContext context) {
    try {
      return new TaskCommitMessage(attempt.message(context.getConfiguration()));
    } catch (IOException e) {
      throw new FsspecCommitException(
          "cannot see what task " + attempt.taskId() + " has written to " + path, e);
    }
  }

  /** Deletes what the attempt has written; what cannot be deleted now is removed with the job. */
  @Override
  public void abortTask(TaskAttemptContext context) {
    if (attempt == null) {
      return;
    }
    try {
      attempt.delete(context.getConfiguration());
    } catch (IOException | RuntimeException e) {
      LOG.warn("files of a task attempt stay until its job ends: {}", e.getMessage());
    }
  }
}

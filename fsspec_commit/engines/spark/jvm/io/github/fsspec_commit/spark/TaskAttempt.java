package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One attempt at one task: which files it writes, and what they have become.
 *
 * <p>Its message is all that the driver learns of it. So an attempt that Spark does not choose, or that
 * is late, changes nothing: nobody knows its id.
 */
final class TaskAttempt {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Logger LOG = LoggerFactory.getLogger(TaskAttempt.class);
  private static final SecureRandom RANDOM = new SecureRandom();

  private final JobPaths paths;
  private final int taskId;
  private final String attemptId = String.format(Locale.ROOT, "%016x", RANDOM.nextLong());
  private final List<String> names = new ArrayList<>();

  TaskAttempt(JobPaths paths, int taskId) {
    this.paths = paths;
    this.taskId = taskId;
  }

  int taskId() {
    return taskId;
  }

  /**
   * The path of a new file.
   *
   * <p>A name holds the ids of its job and its task, so that it is never used again: by its name the file
   * is recognized. A bucket's number begins with an underscore, and follows a hyphen here.
   *
   * @throws FsspecCommitException the job is over: opening a file would create its directories again
   */
  String newFile(String directory, String prefix, String suffix, Configuration conf)
      throws IOException {
    if (names.isEmpty()) {
      refuseIfLate(fileSystem(conf));
    }
    String end = suffix.startsWith("_") ? "-" + suffix : suffix;
    // In ASCII digits, whatever the language of the JVM.
    String number = String.format(Locale.ROOT, "%05d", taskId);
    String file = prefix + "part-" + number + "-" + paths.jobId + "-" + taskId + end;
    String name = directory.isEmpty() ? file : directory + "/" + file;
    names.add(name);
    return paths.opened(taskId, attemptId, name);
  }

  /**
   * What the driver adopts: the files that exist, each as an array of its name, its size and, for an
   * upload, the upload's id and etags.
   *
   * <p>A writer that got no row may never have opened its file: such a file is left out.
   *
   * @throws FsspecCommitException the job is over: nobody will ask for these files; or one of them is lost
   */
  String message(Configuration conf) throws IOException {
    ObjectNode message = JSON.createObjectNode();
    message.put("task", taskId);
    message.put("attempt", attemptId);
    ArrayNode files = message.putArray("files");
    if (!names.isEmpty()) {
      FileSystem fs = fileSystem(conf);
      refuseIfLate(fs);
      if (paths.isUploaded) {
        addUploads(fs, files);
      } else {
        addFiles(fs, files);
      }
    }
    return JSON.writeValueAsString(message);
  }

  /** Lists each directory once: on local disks, asking for each file would start a process for each. */
  private void addFiles(FileSystem fs, ArrayNode files) throws IOException {
    Map<Path, Map<String, Long>> sizes = new HashMap<>();
    for (String name : names) {
      Path file = paths.standing(taskId, attemptId, name);
      Map<String, Long> beside = sizes.get(file.getParent());
      if (beside == null) {
        beside = sizesIn(fs, file.getParent());
        sizes.put(file.getParent(), beside);
      }
      Long size = beside.get(file.getName());
      if (size == null) {
        refuseLost(fs, name);
      } else {
        files.addArray().add(name).add(size);
      }
    }
  }

  private static Map<String, Long> sizesIn(FileSystem fs, Path directory) throws IOException {
    Map<String, Long> sizes = new HashMap<>();
    try {
      for (FileStatus file : fs.listStatus(directory)) {
        sizes.put(file.getPath().getName(), file.getLen());
      }
    } catch (FileNotFoundException e) {
      // None of its files was opened.
    }
    return sizes;
  }

  private void addUploads(FileSystem fs, ArrayNode files) throws IOException {
    Set<Path> records = new HashSet<>();
    for (String name : names) {
      records.add(paths.standing(taskId, attemptId, name));
    }
    Map<Path, UploadRecord> uploads =
        UploadRecords.below(fs, paths.attempt(taskId, attemptId), records);
    for (String name : names) {
      UploadRecord upload = uploads.get(paths.standing(taskId, attemptId, name));
      if (upload == null) {
        refuseFile(fs, new Path(paths.opened(taskId, attemptId, name)));
        refuseLost(fs, name);
      } else {
        ArrayNode file = files.addArray().add(name).add(upload.sizeBytes).add(upload.uploadId);
        upload.etags.forEach(file.addArray()::add);
      }
    }
  }

  /**
   * Refuses an attempt if the store does not show one of its files, unless that was never opened.
   *
   * <p>Spark opens a file for its first row. Only the writer of a task that got none, which has one file,
   * may not have opened it. Whatever answers "not found" in the store's place, such as a proxy whose
   * store restarts, says so of everything, even of the job's record, which is there.
   */
  private void refuseLost(FileSystem fs, String name) throws IOException {
    Path file = paths.standing(taskId, attemptId, name);
    if (names.size() > 1 || fs.exists(file) || !fs.exists(paths.record())) {
      throw new FsspecCommitException(
          "task " + taskId + " has written " + file + ", which is not shown: somebody has removed it, or"
              + " something else has answered for the store. Nothing of this attempt will be seen, and the"
              + " task is to run again");
    }
  }

  /** Refuses a file that S3A has written itself instead of leaving an upload: nobody would complete it. */
  private static void refuseFile(FileSystem fs, Path opened) throws IOException {
    if (fs.exists(opened)) {
      throw new FsspecCommitException(
          "S3A has written " + opened + " as a file, and not as an upload that is completed later:"
              + " its magic committer is off in this executor, or hadoop-aws is older than 3.4");
    }
  }

  /** Deletes what the attempt has written; if the job is over, also the directories that it created again. */
  void delete(Configuration conf) throws IOException {
    if (!names.isEmpty()) {
      FileSystem fs = fileSystem(conf);
      fs.delete(paths.attempt(taskId, attemptId), true);
      if (isLate(fs)) {
        paths.removeEmpty(fs, taskId);
      }
    }
  }

  private FileSystem fileSystem(Configuration conf) throws IOException {
    return paths.attempt(taskId, attemptId).getFileSystem(conf);
  }

  private void refuseIfLate(FileSystem fs) {
    if (isLate(fs)) {
      throw new FsspecCommitException(
          "job "
              + paths.jobId
              + " to "
              + paths.destination
              + " is over, and this attempt at task "
              + taskId
              + " is late: nothing of it will be seen. If the job still runs, this executor does not see"
              + " the place that the driver sees: file: must be a disk that all share");
    }
  }

  /** Whether the job is over, as far as its record tells: its uploads are in nobody's way. */
  private boolean isLate(FileSystem fs) {
    if (paths.isUploaded) {
      return false;
    }
    try {
      return !fs.exists(paths.record());
    } catch (IOException e) {
      LOG.debug("nobody says whether job {} is over: {}", paths.jobId, e.toString());
      return false;
    }
  }
}

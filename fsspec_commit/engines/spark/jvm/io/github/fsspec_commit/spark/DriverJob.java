package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One job in the driver process, which may end at any moment and be replaced by another.
 *
 * <p>A new process attaches to the job by its spec, and is told of every task again: adopting a task
 * can be repeated, and the job is decided on the store, once.
 */
final class DriverJob {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Logger LOG = LoggerFactory.getLogger(DriverJob.class);
  /** How many processes may end under one request before the job is given up. */
  private static final int PROCESSES_MAX = 3;

  private final ObjectNode place;
  /** What the process has said of the job: its spec, its paths, and the commands that settle it. */
  private final JsonNode begun;
  private final JobPaths paths;
  /** Task messages that the process was told of, by task. */
  private final Map<Integer, String> told = new HashMap<>();
  /** Held by the thread that talks to the process about the job. */
  private final ReentrantLock settling = new ReentrantLock();

  private DriverProcess process;
  private boolean isAborted;
  private boolean isCommitted;
  /** Whether any process was asked to commit the job. */
  private boolean isCommitting;
  /** Whether any process has said that it is decided: its data will stand, whoever finishes. */
  private boolean isDecided;

  private DriverJob(DriverProcess process, ObjectNode place, JsonNode begun, JobPaths paths) {
    this.process = process;
    this.place = place;
    this.begun = begun;
    this.paths = paths;
  }

  static DriverJob start(
      Path destination, WriteMode mode, boolean isNew, FileSystem fs, Configuration conf)
      throws IOException {
    for (int ended = 0; ; ended++) {
      DriverProcess process = DriverProcess.running();
      ObjectNode place = JSON.createObjectNode();
      place.put("path", destination.toString());
      process.settings().addTo(place.putObject("settings"), destination, fs, conf);
      process.settings().addJobOptions(place.putObject("options"), conf);
      ObjectNode request = place.deepCopy();
      request.put("mode", mode.name);
      ArrayNode partitions = request.putArray("partitions");
      mode.partitions.forEach(partitions::add);
      try {
        JsonNode job = process.ask("start", request);
        return new DriverJob(process, place, job, new JobPaths(job, destination, isNew));
      } catch (DriverProcess.EndedException e) {
        // A job that the process may have begun holds nothing, and `clean` removes it.
        if (isLast(ended, e)) {
          throw new FsspecCommitException(e.getMessage(), e);
        }
      }
    }
  }

  String id() {
    return paths.jobId;
  }

  JobPaths paths() {
    return paths;
  }

  /**
   * Tells the process of a task's files early: it adopts them while others are still written.
   *
   * <p>Spark's scheduler calls it, and must not wait: a job that is being settled has no use for it.
   */
  void taskCommitted(String message) {
    if (!settling.tryLock()) {
      return;
    }
    try {
      tell(message);
    } catch (IOException e) {
      throw new FsspecCommitException("the message of a task cannot be read", e);
    } finally {
      settling.unlock();
    }
  }

  /** Commits exactly these messages. */
  void commit(List<String> messages) {
    settling.lock();
    try {
      committed(messages);
    } finally {
      settling.unlock();
    }
  }

  private void committed(List<String> messages) {
    for (int ended = 0; ; ended++) {
      try {
        attach();
        ObjectNode request = named();
        ArrayNode chosen = request.putArray("chosen");
        for (String message : messages) {
          chosen.add(tell(message));
        }
        isCommitting = true;
        JsonNode result = process.ask("commit", request);
        isCommitted = true;
        LOG.info("job {} to {}: {}", id(), paths.destination, result.get("said").asText());
        process.forget(id());
        return;
      } catch (DriverProcess.EndedException e) {
        if (isLast(ended, e)) {
          throw leftBehind(e);
        }
      } catch (IOException e) {
        throw new FsspecCommitException(e.getMessage(), e);
      }
    }
  }

  /**
   * Aborts the job; one that is committed stays so, whatever Spark failed at afterwards.
   *
   * @return whether the job is aborted
   */
  boolean abort() {
    settling.lock();
    try {
      return aborted();
    } finally {
      settling.unlock();
    }
  }

  private boolean aborted() {
    if (isCommitted) {
      LOG.warn("job {} to {} is committed, and stays so", id(), paths.destination);
      return false;
    }
    for (int ended = 0; !isAborted; ended++) {
      try {
        attach();
        process.ask("abort", named());
        isAborted = true;
      } catch (DriverProcess.EndedException e) {
        if (isLast(ended, e)) {
          throw leftBehind(e);
        }
      }
    }
    return true;
  }

  /** Makes another process drive the job, if the one that knew it has ended. */
  private void attach() throws DriverProcess.EndedException {
    if (process.isRunning()) {
      return;
    }
    noteDecision();
    process.forget(id());
    ObjectNode request = place.deepCopy();
    request.set("spec", begun.get("spec"));
    request.put("is_decided", isDecided);
    try {
      DriverProcess other = DriverProcess.running();
      other.ask("attach", request);
      process = other;
    } catch (FsspecCommitException e) {
      throw leftBehind(e);
    }
    told.clear();
  }

  private void noteDecision() {
    isDecided |= process.hasDecided(id());
  }

  /** Tells the process of a task attempt, once; answers with its task and attempt. */
  private ArrayNode tell(String message) throws IOException {
    JsonNode attempt = JSON.readTree(message);
    int task = attempt.get("task").asInt();
    if (!message.equals(told.get(task))) {
      ObjectNode request = named();
      request.set("adopted", attempt);
      process.tell("adopt", request);
      told.put(task, message);
    }
    ArrayNode chosen = JSON.createArrayNode();
    return chosen.add(task).add(attempt.get("attempt").asText());
  }

  private ObjectNode named() {
    return JSON.createObjectNode().put("job", id());
  }

  private static boolean isLast(int ended, DriverProcess.EndedException e) {
    LOG.warn("{}", e.getMessage());
    return ended + 1 == PROCESSES_MAX;
  }

  /** The error of a job that no process could be brought to settle, with the command that does. */
  private FsspecCommitException leftBehind(Exception e) {
    noteDecision();
    String resume = begun.get("resume").asText();
    String abort = begun.get("abort").asText();
    String settled;
    if (isDecided) {
      settled = "is decided, and its data will stand: delete nothing, and finish it with: " + resume;
    } else if (isCommitting) {
      settled = "may be decided: delete nothing, and finish it with: " + resume
          + "; if that says that it is not decided, abort it with: " + abort;
    } else {
      settled = "is not decided: abort it with: " + abort;
    }
    String what = "job " + id() + " to " + paths.destination + " is left behind";
    String why = FsspecCommitException.reason(e);
    return new FsspecCommitException(what + " (" + why + "). It " + settled, e);
  }
}

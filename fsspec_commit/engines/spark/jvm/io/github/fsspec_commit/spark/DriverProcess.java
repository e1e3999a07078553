package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The Python process that drives the jobs of this JVM: lines of JSON on its standard input and output.
 *
 * <p>It is started by the first write, serves the jobs of all threads at once, and ends when its input
 * does: it finishes what is decided, and aborts the rest. Secrets travel on its input alone. Its
 * errors are printed as the JVM's.
 */
final class DriverProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** The version of the protocol, which both sides state. */
  private static final int PROTOCOL = 1;
  /** A Python on a remote disk is slow to start; one that says nothing for this long hangs. */
  private static final long GREETING_WAIT_S = 120;
  /** What a wrapper of Python's, or a module that is always imported, may print before the greeting. */
  private static final int LINES_BEFORE_GREETING_MAX = 100;

  /** Processes by their commands: another SparkContext of this JVM may name another command. */
  private static final Map<String, DriverProcess> RUNNING = new HashMap<>();

  private final Process process;
  private final PythonCommand command;
  private final HadoopSettings settings;
  /** Lines on their way: tasks are told of by Spark's scheduler, which must never wait for a pipe. */
  private final BlockingQueue<byte[]> lines = new LinkedBlockingQueue<>();
  private final AtomicLong requests = new AtomicLong();
  private final Map<Long, CompletableFuture<JsonNode>> waiting = new ConcurrentHashMap<>();
  private final Set<String> decided = ConcurrentHashMap.newKeySet();
  private final LastLines errors;
  private volatile boolean isRunning = true;

  /** The process ended before it answered: what it was asked for may have happened. */
  static final class EndedException extends IOException {
    private static final long serialVersionUID = 1L;

    EndedException(String message) {
      super(message);
    }
  }

  /** The process of this JVM; a new one, if the last has ended. */
  static synchronized DriverProcess running() {
    PythonCommand command = PythonCommand.configured();
    DriverProcess running = RUNNING.get(command.toString());
    if (running == null || !running.isRunning()) {
      running = new DriverProcess(command);
      RUNNING.put(command.toString(), running);
    }
    return running;
  }

  private DriverProcess(PythonCommand command) {
    this.command = command;
    try {
      process = new ProcessBuilder(command.words()).start();
    } catch (IOException e) {
      throw new FsspecCommitException(command.cannotStart(e.getMessage()), e);
    }
    errors = new LastLines(process.getErrorStream());
    BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    JsonNode spoken;
    try {
      spoken = greeting(out);
    } catch (RuntimeException e) {
      process.destroyForcibly();
      throw e;
    }
    if (spoken.path("protocol").asInt() != PROTOCOL) {
      process.destroy();
      throw new FsspecCommitException(
          "this jar and the package fsspec-commit "
              + spoken.path("version").asText()
              + " of "
              + command
              + " are of different releases: take the jar that fsspec_commit.spark.jar() names there");
    }
    settings = new HadoopSettings(spoken);
    inThread("fsspec-commit-answers", () -> read(out));
    inThread("fsspec-commit-requests", this::write);
  }

  private JsonNode greeting(BufferedReader out) {
    CompletableFuture<JsonNode> said = new CompletableFuture<>();
    inThread(
        "fsspec-commit-greeting",
        () -> {
          try {
            said.complete(greetingIn(out));
          } catch (IOException | RuntimeException e) {
            said.completeExceptionally(e);
          }
        });
    try {
      JsonNode spoken = awaited(said, GREETING_WAIT_S);
      if (spoken == null) {
        throw new FsspecCommitException(command.cannotStart(errors.last()));
      }
      return spoken;
    } catch (TimeoutException e) {
      throw new FsspecCommitException(
          command.cannotStart("it said nothing for " + GREETING_WAIT_S + " s"));
    } catch (ExecutionException e) {
      throw new FsspecCommitException(command.cannotStart("it printed what is no greeting"), e);
    }
  }

  /** The greeting; what is printed before it is not an answer, and goes where errors go. */
  private JsonNode greetingIn(BufferedReader out) throws IOException {
    for (int printed = 0; printed < LINES_BEFORE_GREETING_MAX; printed++) {
      String line = out.readLine();
      if (line == null) {
        return null;
      }
      if (line.startsWith("{\"protocol\"")) {
        return JSON.readTree(line);
      }
      errors.print(line);
    }
    return null;
  }

  private static void inThread(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** What the process wants to know of Hadoop's settings. */
  HadoopSettings settings() {
    return settings;
  }

  boolean isRunning() {
    return isRunning;
  }

  /** Whether the process has said that the job is decided: its data will stand, whoever finishes. */
  boolean hasDecided(String jobId) {
    return decided.contains(jobId);
  }

  /** Forgets a job that is over. */
  void forget(String jobId) {
    decided.remove(jobId);
  }

  /** Sends a request that has no answer; it is lost if the process ends. */
  void tell(String what, ObjectNode request) {
    send(request.put("do", what));
  }

  /**
   * Sends a request, and waits for its answer.
   *
   * @throws EndedException the process ended before it answered
   * @throws FsspecCommitException it answered that it did not do what was asked, and why
   */
  JsonNode ask(String what, ObjectNode request) throws EndedException {
    long id = requests.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    waiting.put(id, answer);
    try {
      if (!isRunning()) { // The reader has already failed what was waiting.
        throw hasEnded();
      }
      send(request.deepCopy().put("do", what).put("id", id));
      return answered(answer);
    } finally {
      waiting.remove(id);
    }
  }

  private JsonNode answered(CompletableFuture<JsonNode> waited) throws EndedException {
    try {
      JsonNode answer = awaited(waited, Long.MAX_VALUE);
      if (answer.has("error")) {
        throw new FsspecCommitException(answer.get("error").asText());
      }
      return answer;
    } catch (ExecutionException | TimeoutException e) {
      throw hasEnded();
    }
  }

  /**
   * Waits for an answer, even if the thread is interrupted meanwhile.
   *
   * <p>Spark interrupts the thread of a query that is stopped, and then asks for the abort. What was
   * asked for goes on in the process, and its outcome must be known when the abort comes.
   */
  private static <T> T awaited(CompletableFuture<T> waited, long waitS)
      throws ExecutionException, TimeoutException {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return waited.get(waitS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          isInterrupted = true;
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Queues a request: an answer, or the end of the process, shows whether it arrived. */
  private void send(ObjectNode request) {
    try {
      byte[] line = JSON.writeValueAsBytes(request);
      lines.add(line);
    } catch (JsonProcessingException e) {
      throw new FsspecCommitException("a request cannot be written down", e);
    }
  }

  private void write() {
    try (OutputStream in = process.getOutputStream()) {
      while (isRunning) {
        byte[] line = lines.take();
        in.write(line);
        in.write('\n');
        if (lines.isEmpty()) {
          in.flush();
        }
      }
    } catch (IOException | InterruptedException e) {
      // The process is ending; the thread that reads from it notices.
    }
  }

  private void read(BufferedReader out) {
    try {
      for (String line = out.readLine(); line != null; line = out.readLine()) {
        JsonNode said = JSON.readTree(line);
        if (said.has("decided")) {
          decided.add(said.get("decided").asText());
        } else {
          CompletableFuture<JsonNode> answer = waiting.get(said.get("id").asLong());
          if (answer != null) {
            answer.complete(said);
          }
        }
      }
    } catch (Throwable e) {
      // Whatever it is, another process will drive the jobs of this one.
      process.destroyForcibly();
    } finally {
      isRunning = false;
      lines.add(new byte[0]); // So that the thread that writes to the process ends.
      EndedException end = hasEnded();
      waiting.values().forEach(answer -> answer.completeExceptionally(end));
    }
  }

  private EndedException hasEnded() {
    return new EndedException(
        "the process that commits the jobs of this JVM ended ("
            + command
            + "): "
            + errors.last());
  }
}

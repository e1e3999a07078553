package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
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
  /** What both sides say that they speak. */
  private static final int PROTOCOL = 1;

  private static DriverProcess running;

  private final Process process;
  private final PythonCommand command;
  private final HadoopSettings settings;
  private final BufferedWriter in;
  private final AtomicLong requests = new AtomicLong();
  private final Map<Long, CompletableFuture<JsonNode>> waiting = new ConcurrentHashMap<>();
  private final Set<String> decided = ConcurrentHashMap.newKeySet();
  private final LastLines errors;
  private volatile boolean isRunning = true;

  /** The process ended before it has answered: what it was asked for may have happened. */
  static final class EndedException extends IOException {
    private static final long serialVersionUID = 1L;

    EndedException(String message) {
      super(message);
    }
  }

  /** The process of this JVM; another one, where the last has ended. */
  static synchronized DriverProcess running() throws IOException {
    if (running == null || !running.isRunning()) {
      running = new DriverProcess(PythonCommand.configured());
    }
    return running;
  }

  private DriverProcess(PythonCommand command) throws IOException {
    this.command = command;
    try {
      process = new ProcessBuilder(command.words()).start();
    } catch (IOException e) {
      throw new FsspecCommitException(command.cannotStart(e.getMessage()), e);
    }
    in =
        new BufferedWriter(
            new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    errors = new LastLines(process.getErrorStream());
    BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String greeting = out.readLine();
    if (greeting == null) {
      throw new FsspecCommitException(command.cannotStart(errors.last()));
    }
    JsonNode spoken = JSON.readTree(greeting);
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
    Thread reader = new Thread(() -> read(out), "fsspec-commit-answers");
    reader.setDaemon(true);
    reader.start();
  }

  /** What it wants to know of Hadoop's settings. */
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

  void noteDecided(String jobId) {
    decided.add(jobId);
  }

  /** Forgets a job that is over. */
  void forget(String jobId) {
    decided.remove(jobId);
  }

  /** Sends a request that has no answer. */
  void tell(String what, ObjectNode request) throws EndedException {
    send(request.put("do", what));
  }

  /**
   * Sends a request, and waits for its answer.
   *
   * @throws EndedException the process ended before it answered
   * @throws FsspecCommitException it answered that it did not do it, and why
   */
  JsonNode ask(String what, ObjectNode request) throws EndedException {
    long id = requests.incrementAndGet();
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    waiting.put(id, answer);
    try {
      if (!isRunning()) { // The reader has failed what was waiting then.
        throw hasEnded();
      }
      send(request.deepCopy().put("do", what).put("id", id));
      return answered(answer);
    } finally {
      waiting.remove(id);
    }
  }

  private JsonNode answered(CompletableFuture<JsonNode> waited) throws EndedException {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          JsonNode answer = waited.get();
          if (answer.has("error")) {
            throw new FsspecCommitException(answer.get("error").asText());
          }
          return answer;
        } catch (InterruptedException e) {
          // Spark interrupts the thread of a query that is stopped, and then asks for the abort. What
          // was asked for goes on over there, and must be known when that comes.
          isInterrupted = true;
        } catch (ExecutionException e) {
          throw hasEnded();
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void send(ObjectNode request) throws EndedException {
    try {
      String line = JSON.writeValueAsString(request);
      synchronized (in) {
        in.write(line);
        in.write('\n');
        in.flush();
      }
    } catch (IOException e) {
      throw hasEnded();
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
    } catch (IOException | RuntimeException e) {
      process.destroyForcibly();
    } finally {
      isRunning = false;
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

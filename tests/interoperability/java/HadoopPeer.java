import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.s3a.commit.files.PendingSet;
import org.apache.hadoop.fs.s3a.commit.files.SinglePendingCommit;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.FileEntry;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.ManifestPrinter;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.ManifestSuccessData;
import org.apache.hadoop.mapreduce.lib.output.committer.manifest.files.TaskManifest;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.s3.model.CompleteMultipartUploadRequest;

/**
 * Hadoop's own classes, asked what they make of our files, and its own committers, left half-way.
 *
 * <p>One JSON object on standard input is one question, and one JSON object on standard output
 * answers it: {@code {"op": "success" | "print" | "manifest" | "pendingset", "path": URI}} reads a
 * file; {@code {"op": "leave", ...}} runs a job as far as it is told, and then does no more. What
 * whoever asks finds afterwards is what a driver leaves that is killed at that moment: nothing
 * runs on, and nothing is cleaned up.
 */
public final class HadoopPeer {

  private static final ObjectMapper JSON = new ObjectMapper();

  private HadoopPeer() {}

  public static void main(String[] arguments) throws IOException {
    PrintStream answers = System.out;
    BufferedReader questions =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      Map<String, Object> answer;
      try {
        answer = answered(JSON.readValue(line, Question.class));
      } catch (Exception error) {
        answer = Map.of("error", error.toString());
      }
      answers.println(JSON.writeValueAsString(answer));
    }
    System.exit(0); // Threads that were left half-way never end.
  }

  /** What one line asks. */
  public static final class Question {
    public String op;
    public String path;
    // The rest is for "leave".
    public String committer;
    public int number;
    public int committed;
    public int uncommitted;
    public String stopAt = "";
    public int stopAfter;
    public Map<String, String> settings = Map.of();
  }

  private static Map<String, Object> answered(Question question) throws Exception {
    return switch (question.op) {
      case "success" -> success(question);
      case "print" -> print(question);
      case "manifest" -> manifest(question);
      case "pendingset" -> pendingSet(question);
      case "leave" -> left(question);
      default -> throw new IllegalArgumentException(question.op);
    };
  }

  private static Map<String, Object> success(Question question) throws IOException {
    Path path = new Path(question.path);
    FileSystem files = path.getFileSystem(configuration(question));
    return again(ManifestSuccessData.load(files, path).toJson());
  }

  private static Map<String, Object> print(Question question) throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    Configuration conf = configuration(question);
    Path path = new Path(question.path);
    try (PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
      new ManifestPrinter(conf, out).loadAndPrintManifest(path.getFileSystem(conf), path);
    }
    return Map.of("text", printed.toString(StandardCharsets.UTF_8));
  }

  private static Map<String, Object> manifest(Question question) throws IOException {
    Path path = new Path(question.path);
    FileSystem files = path.getFileSystem(configuration(question));
    TaskManifest read = TaskManifest.load(files, path);
    read.validate();
    for (FileEntry entry : read.getFilesToCommit()) {
      entry.validate();
    }
    return again(read.toJson());
  }

  private static Map<String, Object> pendingSet(Question question) throws IOException {
    Path path = new Path(question.path);
    FileSystem files = path.getFileSystem(configuration(question));
    PendingSet read = PendingSet.load(files, path, files.getFileStatus(path));
    read.validate();
    for (SinglePendingCommit commit : read.getCommits()) {
      commit.validate();
    }
    return again(new String(read.toBytes(PendingSet.serializer()), StandardCharsets.UTF_8));
  }

  /** What Hadoop itself would write of what it has read. */
  private static Map<String, Object> again(String json) throws IOException {
    return Map.of("read", JSON.readTree(json));
  }

  /** Some tasks commit, some do not, and the job's commit, if any, gets as far as the gate. */
  private static Map<String, Object> left(Question question) throws Exception {
    Configuration conf = configuration(question);
    Path destination = new Path(question.path);
    JobID jobId = new JobID("20260101000000", question.number);
    TaskAttemptContext jobContext = context(conf, jobId, 0);
    PathOutputCommitter job =
        PathOutputCommitterFactory.createCommitter(destination, jobContext);
    Gate gate = new Gate(question.stopAt, question.stopAfter);
    Gate.current = gate;
    Thread driver =
        new Thread(
            () -> {
              try {
                job.setupJob(jobContext);
                int tasks = question.committed + question.uncommitted;
                for (int task = 0; task < tasks; task++) {
                  runTask(destination, context(conf, jobId, task), task < question.committed);
                }
                if (gate.stopsJobCommit()) {
                  job.commitJob(jobContext);
                }
                gate.ended(null);
              } catch (Exception error) {
                gate.ended(error);
              }
            });
    driver.setDaemon(true);
    driver.start();
    gate.await();
    return Map.of("committer", job.getClass().getSimpleName(), "class", job.getClass().getName());
  }

  /** Every attempt writes one file into each of two directories, one with a name to be escaped. */
  private static void runTask(Path destination, TaskAttemptContext context, boolean commits)
      throws IOException {
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(destination, context);
    committer.setupTask(context);
    int task = context.getTaskAttemptID().getTaskID().getId();
    FileSystem files = committer.getWorkPath().getFileSystem(context.getConfiguration());
    for (String directory : List.of("day=1", "day=2 %20#")) {
      Path file = new Path(new Path(committer.getWorkPath(), directory), "part-0000" + task);
      try (FSDataOutputStream out = files.create(file, true)) {
        out.write(("of task " + task).getBytes(StandardCharsets.UTF_8));
      }
    }
    if (commits && committer.needsTaskCommit(context)) {
      committer.commitTask(context);
    }
  }

  private static TaskAttemptContext context(Configuration conf, JobID jobId, int task) {
    TaskID taskId = new TaskID(jobId, TaskType.MAP, task);
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(taskId, 0));
  }

  private static Configuration configuration(Question question) {
    Configuration conf = new Configuration();
    // The classes of this file were compiled when it was started, and no other loader has them.
    conf.setClassLoader(HadoopPeer.class.getClassLoader());
    conf.set("fs.s3a.classloader.isolation", "false");
    if (question.path.startsWith("file:")) {
      conf.setClass("fs.file.impl", GatedFiles.class, FileSystem.class);
    }
    conf.set("fs.s3a.audit.execution.interceptors", GatedRequests.class.getName());
    conf.set("fs.file.impl.disable.cache", "true");
    conf.set("fs.s3a.impl.disable.cache", "true");
    question.settings.forEach(conf::set);
    return conf;
  }

  /**
   * Lets so many steps of one kind happen, and no further: who comes next is held for good.
   *
   * <p>Kinds are "save", a manifest renamed to its own name, and "publish", a file or directory
   * renamed to where readers see it, or an upload completed.
   */
  static final class Gate {
    static volatile Gate current = new Gate("", 0);

    private final String kind;
    private final int allowed;
    private final AtomicInteger come = new AtomicInteger();
    private final CountDownLatch done;
    private final CountDownLatch over = new CountDownLatch(1);
    private volatile boolean holds;
    private volatile Exception failure;

    Gate(String kind, int allowed) {
      this.kind = kind;
      this.allowed = allowed;
      this.done = new CountDownLatch(kind.isEmpty() ? 0 : allowed);
    }

    boolean stopsJobCommit() {
      return kind.equals("publish");
    }

    void enter(String what) {
      if (!what.isEmpty() && what.equals(kind) && come.incrementAndGet() > allowed) {
        holds = true;
        over.countDown();
        while (true) {
          LockSupport.park();
        }
      }
    }

    void left(String what) {
      if (!what.isEmpty() && what.equals(kind)) {
        done.countDown();
      }
    }

    void ended(Exception error) {
      failure = error;
      over.countDown();
    }

    void await() throws Exception {
      if (!over.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the job neither ended nor came to " + kind);
      }
      if (failure != null) {
        throw failure;
      }
      if (holds && !done.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the job came to " + kind + " too seldom");
      }
    }
  }

  /** Local files; renames pass the gate. */
  public static final class GatedFiles extends RawLocalFileSystem {
    @Override
    public boolean rename(Path source, Path target) throws IOException {
      String what = kind(target.toUri().getPath());
      Gate.current.enter(what);
      boolean renamed = super.rename(source, target);
      Gate.current.left(what);
      return renamed;
    }

    private static String kind(String target) {
      if (target.endsWith("-manifest.json")) {
        return "save";
      }
      return target.contains("/_temporary/") || target.contains("/_SUCCESS") ? "" : "publish";
    }
  }

  /** Completions of uploads pass the gate. */
  public static final class GatedRequests implements ExecutionInterceptor {
    @Override
    public void beforeExecution(Context.BeforeExecution call, ExecutionAttributes attributes) {
      if (call.request() instanceof CompleteMultipartUploadRequest) {
        Gate.current.enter("publish");
      }
    }

    @Override
    public void afterExecution(Context.AfterExecution call, ExecutionAttributes attributes) {
      if (call.request() instanceof CompleteMultipartUploadRequest) {
        Gate.current.left("publish");
      }
    }
  }
}

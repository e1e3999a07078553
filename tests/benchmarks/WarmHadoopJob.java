import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;

/**
 * Runs jobs through Hadoop's own committers, as many in one JVM as it is asked for.
 *
 * <p>One line on standard input is one job: {@code COMMITTER DESTINATION TASKS FILES DIRECTORIES
 * THREADS}, where COMMITTER is {@code v1} or {@code manifest}, FILES and DIRECTORIES are per task
 * (0 directories: all files in the destination), and THREADS is the manifest committer's pool.
 * One JSON line on standard output answers it, with the milliseconds of each phase. A first job
 * is three times as slow as a third one, so whoever compares must send a few to warm the JVM.
 *
 * <p>The one argument names Hadoop's local file system: {@code raw}, which is the faster, or
 * {@code checksummed}, which is what {@code file:} URLs get by default.
 */
public final class WarmHadoopJob {

  private static final String FACTORY = "mapreduce.outputcommitter.factory.scheme.file";
  private static final String OUTPUT = "org.apache.hadoop.mapreduce.lib.output.";
  private static final int WRITERS = Runtime.getRuntime().availableProcessors();
  private static final byte[] DATA = new byte[100];

  private record Request(
      String committer, Path destination, int tasks, int files, int directories, int threads) {

    static Request parse(String line) {
      String[] words = line.split(" ");
      return new Request(
          words[0],
          Path.of(words[1]),
          Integer.parseInt(words[2]),
          Integer.parseInt(words[3]),
          Integer.parseInt(words[4]),
          Integer.parseInt(words[5]));
    }
  }

  private record TaskNanos(long setup, long write, long commit) {}

  private WarmHadoopJob() {}

  public static void main(String[] arguments) throws Exception {
    String fileSystem =
        switch (arguments[0]) {
          case "raw" -> "org.apache.hadoop.fs.RawLocalFileSystem";
          case "checksummed" -> "org.apache.hadoop.fs.LocalFileSystem";
          default -> throw new IllegalArgumentException(arguments[0]);
        };
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      System.out.println(run(Request.parse(line), fileSystem));
    }
  }

  private static String run(Request request, String fileSystem) throws Exception {
    Configuration conf = configuration(request, fileSystem);
    JobID jobId = new JobID("20260101000000", 1);
    TaskAttemptContext jobContext = context(conf, jobId, 0);
    PathOutputCommitter job = committer(request, jobContext);

    long start = System.nanoTime();
    job.setupJob(jobContext);
    long setupJob = System.nanoTime() - start;

    ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
    long setupTask = 0;
    long write = 0;
    long commitTask = 0;
    try {
      List<Future<TaskNanos>> running = new ArrayList<>();
      for (int task = 0; task < request.tasks(); task++) {
        TaskAttemptContext taskContext = context(conf, jobId, task);
        running.add(writers.submit(() -> runTask(request, taskContext)));
      }
      for (Future<TaskNanos> task : running) {
        TaskNanos nanos = task.get();
        setupTask += nanos.setup();
        write += nanos.write();
        commitTask += nanos.commit();
      }
    } finally {
      writers.shutdownNow();
    }

    start = System.nanoTime();
    job.commitJob(jobContext);
    long commitJob = System.nanoTime() - start;

    double perTask = request.tasks() * 1e6;
    return String.format(
        Locale.ROOT,
        "{\"committer\": \"%s\", \"setup_job_ms\": %.3f, \"setup_task_ms\": %.3f,"
            + " \"write_task_ms\": %.3f, \"commit_task_ms\": %.3f, \"commit_job_ms\": %.3f,"
            + " \"visible\": %d}",
        job.getClass().getSimpleName(),
        setupJob / 1e6,
        setupTask / perTask,
        write / perTask,
        commitTask / perTask,
        commitJob / 1e6,
        visible(request.destination()));
  }

  /** Writes one task's files without Hadoop (which is slower at it), then commits the task. */
  private static TaskNanos runTask(Request request, TaskAttemptContext context) throws Exception {
    PathOutputCommitter task = committer(request, context);
    long start = System.nanoTime();
    task.setupTask(context);
    long ready = System.nanoTime();
    Path work = Path.of(task.getWorkPath().toUri().getPath());
    List<Path> directories = new ArrayList<>();
    for (int i = 0; i < Math.max(1, request.directories()); i++) {
      Path leaf = request.directories() == 0 ? work : work.resolve("part=" + i);
      directories.add(Files.createDirectories(leaf));
    }
    int id = context.getTaskAttemptID().getTaskID().getId();
    for (int i = 0; i < request.files(); i++) {
      Path directory = directories.get(i % directories.size());
      Files.write(directory.resolve(String.format(Locale.ROOT, "part-%05d-%05d", id, i)), DATA);
    }
    long written = System.nanoTime();
    if (task.needsTaskCommit(context)) {
      task.commitTask(context);
    }
    return new TaskNanos(ready - start, written - ready, System.nanoTime() - written);
  }

  private static Configuration configuration(Request request, String fileSystem) {
    Configuration conf = new Configuration();
    conf.set("fs.file.impl", fileSystem);
    conf.set("spark.sql.sources.writeJobUUID", UUID.randomUUID().toString());
    switch (request.committer()) {
      case "v1" -> {
        conf.set("mapreduce.fileoutputcommitter.algorithm.version", "1");
        conf.set(FACTORY, OUTPUT + "FileOutputCommitterFactory");
      }
      case "manifest" -> {
        conf.setInt("mapreduce.manifest.committer.io.threads", request.threads());
        conf.set(FACTORY, OUTPUT + "committer.manifest.ManifestCommitterFactory");
      }
      default -> throw new IllegalArgumentException(request.committer());
    }
    return conf;
  }

  private static TaskAttemptContext context(Configuration conf, JobID jobId, int task) {
    TaskID taskId = new TaskID(jobId, TaskType.MAP, task);
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(taskId, 0));
  }

  private static PathOutputCommitter committer(Request request, TaskAttemptContext context)
      throws IOException {
    return PathOutputCommitterFactory.createCommitter(
        new org.apache.hadoop.fs.Path(request.destination().toUri()), context);
  }

  /** Counts what is visible without Hadoop, whose listing runs a process for every file. */
  private static long visible(Path destination) throws IOException {
    try (Stream<Path> found = Files.walk(destination)) {
      return found
          .filter(Files::isRegularFile)
          .filter(path -> path.getFileName().toString().startsWith("part-"))
          .count();
    }
  }
}

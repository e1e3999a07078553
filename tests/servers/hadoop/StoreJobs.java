import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;

/**
 * Runs jobs through a committer of Hadoop's on a store, as many in a JVM as it is asked for.
 *
 * <p>One line on standard input is one step, and one JSON line on standard output answers it:
 * {@code write DESTINATION TASKS FILES DIRECTORIES [NAME=VALUE ...]} runs the tasks of a job and
 * commits each, its files in so many directories (0: all in the destination), and answers with the
 * milliseconds of all that, {@code setupJob} included, and of a {@code commitTask}; {@code commit} commits that job and answers with the
 * milliseconds of {@code commitJob} and the number of files that are visible then. Between the two
 * whoever asks can make the server slow. A first job is three times as slow as a third one, so
 * whoever compares must send a few to warm the JVM.
 *
 * <p>Every argument is a setting of Hadoop's, {@code NAME=VALUE}: the store's address and account,
 * and the committer's factory; those of a line are that job's. So many tasks at once as the property
 * {@code writers} says, each file of so many bytes as {@code bytes} says.
 */
public final class StoreJobs {

  private static final int WRITERS = Integer.getInteger("writers", 16);
  private static final byte[] DATA = new byte[Integer.getInteger("bytes", 100)];

  private record Step(Path destination, int tasks, int files, int directories) {}

  private record Job(
      PathOutputCommitter committer,
      TaskAttemptContext context,
      Path destination,
      double writeMilliseconds,
      double commitTaskMilliseconds) {}

  private StoreJobs() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader steps =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Job job = null;
    for (String line = steps.readLine(); line != null; line = steps.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("write")) {
        Step step =
            new Step(
                new Path(words[1]),
                Integer.parseInt(words[2]),
                Integer.parseInt(words[3]),
                Integer.parseInt(words[4]));
        Configuration conf = configuration();
        set(conf, arguments, 0);
        set(conf, words, 5);
        job = written(conf, step);
        System.out.println(
            String.format(
                Locale.ROOT,
                "{\"write_ms\": %.3f, \"commit_task_ms\": %.3f}",
                job.writeMilliseconds(),
                job.commitTaskMilliseconds()));
      } else {
        System.out.println(committed(job));
      }
    }
  }

  private static String committed(Job job) throws IOException {
    long start = System.nanoTime();
    job.committer().commitJob(job.context());
    double milliseconds = (System.nanoTime() - start) / 1e6;
    FileSystem fileSystem = job.destination().getFileSystem(job.context().getConfiguration());
    return String.format(
        Locale.ROOT,
        "{\"committer\": \"%s\", \"commit_job_ms\": %.3f, \"visible\": %d}",
        job.committer().getClass().getSimpleName(),
        milliseconds,
        visible(fileSystem, job.destination()));
  }

  private static Job written(Configuration conf, Step step) throws Exception {
    long start = System.nanoTime();
    JobID jobId = new JobID("20260101000000", 1);
    TaskAttemptContext jobContext = context(conf, jobId, 0);
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(step.destination(), jobContext);
    committer.setupJob(jobContext);
    ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
    long nanos = 0;
    try {
      List<Future<Long>> running = new ArrayList<>();
      for (int task = 0; task < step.tasks(); task++) {
        TaskAttemptContext taskContext = context(conf, jobId, task);
        running.add(writers.submit(() -> runTask(step, taskContext)));
      }
      for (Future<Long> task : running) {
        nanos += task.get();
      }
    } finally {
      writers.shutdownNow();
    }
    double milliseconds = (System.nanoTime() - start) / 1e6;
    double commitTaskMilliseconds = nanos / (step.tasks() * 1e6);
    return new Job(
        committer, jobContext, step.destination(), milliseconds, commitTaskMilliseconds);
  }

  private static long runTask(Step step, TaskAttemptContext context) throws IOException {
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(step.destination(), context);
    committer.setupTask(context);
    Path work = committer.getWorkPath();
    FileSystem fileSystem = work.getFileSystem(context.getConfiguration());
    int id = context.getTaskAttemptID().getTaskID().getId();
    for (int i = 0; i < step.files(); i++) {
      Path leaf =
          step.directories() == 0 ? work : new Path(work, "part=" + i % step.directories());
      String name = String.format(Locale.ROOT, "part-%05d-%05d", id, i);
      try (OutputStream file = created(fileSystem, new Path(leaf, name))) {
        file.write(DATA);
      }
    }
    long start = System.nanoTime();
    if (committer.needsTaskCommit(context)) {
      committer.commitTask(context);
    }
    return System.nanoTime() - start;
  }

  /** On a disk without Hadoop, which is slower at it. */
  private static OutputStream created(FileSystem fileSystem, Path path) throws IOException {
    if (!fileSystem.getUri().getScheme().equals("file")) {
      return fileSystem.create(path, true);
    }
    java.nio.file.Path local = java.nio.file.Path.of(path.toUri().getPath());
    Files.createDirectories(local.getParent());
    return Files.newOutputStream(local);
  }

  private static Configuration configuration() {
    Configuration conf = new Configuration();
    // By it the magic committer and the manifest committer know their job.
    conf.set("spark.sql.sources.writeJobUUID", UUID.randomUUID().toString());
    return conf;
  }

  private static void set(Configuration conf, String[] words, int first) {
    for (int i = first; i < words.length; i++) {
      String[] setting = words[i].split("=", 2);
      conf.set(setting[0], setting[1]);
    }
  }

  private static TaskAttemptContext context(Configuration conf, JobID jobId, int task) {
    TaskID taskId = new TaskID(jobId, TaskType.MAP, task);
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(taskId, 0));
  }

  /** Counted without located listings, for which a disk's driver runs a process for every file. */
  private static int visible(FileSystem fileSystem, Path directory) throws IOException {
    int count = 0;
    for (FileStatus found : fileSystem.listStatus(directory)) {
      if (found.isDirectory()) {
        count += visible(fileSystem, found.getPath());
      } else if (found.getPath().getName().startsWith("part-")) {
        count++;
      }
    }
    return count;
  }
}

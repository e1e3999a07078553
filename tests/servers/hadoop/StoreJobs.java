import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
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
 * {@code write DESTINATION TASKS FILES DIRECTORIES} runs the tasks of a job and commits each, its
 * files in so many directories (0: all in the destination); {@code commit} commits that job and
 * answers with the milliseconds of {@code commitJob} and the number of files that are visible then.
 * Between the two whoever asks can make the server slow.
 *
 * <p>Every argument is a setting of Hadoop's, {@code NAME=VALUE}: the store's address and account,
 * and the committer's factory.
 */
public final class StoreJobs {

  private static final int WRITERS = 16;
  private static final byte[] DATA = new byte[100];

  private record Step(Path destination, int tasks, int files, int directories) {}

  private record Job(PathOutputCommitter committer, TaskAttemptContext context, Path destination) {}

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
        job = written(configuration(arguments), step);
        System.out.println("{}");
      } else {
        System.out.println(committed(job));
      }
    }
  }

  private static String committed(Job job) throws IOException {
    long start = System.nanoTime();
    job.committer().commitJob(job.context());
    double milliseconds = (System.nanoTime() - start) / 1e6;
    return String.format(
        Locale.ROOT,
        "{\"committer\": \"%s\", \"commit_job_ms\": %.3f, \"visible\": %d}",
        job.committer().getClass().getSimpleName(),
        milliseconds,
        visible(job));
  }

  private static Job written(Configuration conf, Step step) throws Exception {
    JobID jobId = new JobID("20260101000000", 1);
    TaskAttemptContext jobContext = context(conf, jobId, 0);
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(step.destination(), jobContext);
    committer.setupJob(jobContext);
    ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int task = 0; task < step.tasks(); task++) {
        TaskAttemptContext taskContext = context(conf, jobId, task);
        running.add(
            writers.submit(
                () -> {
                  runTask(step, taskContext);
                  return null;
                }));
      }
      for (Future<?> task : running) {
        task.get();
      }
    } finally {
      writers.shutdownNow();
    }
    return new Job(committer, jobContext, step.destination());
  }

  private static void runTask(Step step, TaskAttemptContext context) throws IOException {
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
      try (FSDataOutputStream file = fileSystem.create(new Path(leaf, name), true)) {
        file.write(DATA);
      }
    }
    if (committer.needsTaskCommit(context)) {
      committer.commitTask(context);
    }
  }

  private static Configuration configuration(String[] settings) {
    Configuration conf = new Configuration();
    for (String setting : settings) {
      String[] words = setting.split("=", 2);
      conf.set(words[0], words[1]);
    }
    // By it the magic committer and the manifest committer know their job.
    conf.set("spark.sql.sources.writeJobUUID", UUID.randomUUID().toString());
    return conf;
  }

  private static TaskAttemptContext context(Configuration conf, JobID jobId, int task) {
    TaskID taskId = new TaskID(jobId, TaskType.MAP, task);
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(taskId, 0));
  }

  private static int visible(Job job) throws IOException {
    FileSystem fileSystem = job.destination().getFileSystem(job.context().getConfiguration());
    int count = 0;
    RemoteIterator<LocatedFileStatus> found = fileSystem.listFiles(job.destination(), true);
    while (found.hasNext()) {
      if (found.next().getPath().getName().startsWith("part-")) {
        count++;
      }
    }
    return count;
  }
}

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
 * Runs jobs through Hadoop's magic committer on an S3 server, as many in a JVM as it is asked for.
 *
 * <p>One line on standard input is one step, and one JSON line on standard output answers it:
 * {@code write DESTINATION TASKS FILES} runs the tasks of a job and commits each; {@code commit}
 * commits that job and answers with the milliseconds of {@code commitJob} and the number of files
 * that are visible then. Between the two whoever asks can make the server slow.
 *
 * <p>Arguments: the server's address, the committer's threads and the most connections; 0 leaves
 * what Hadoop ships.
 */
public final class WarmMagicJob {

  private static final int WRITERS = 16;
  private static final byte[] DATA = new byte[100];

  private record Job(PathOutputCommitter committer, TaskAttemptContext context, Path destination) {}

  private WarmMagicJob() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader steps =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    int threads = Integer.parseInt(arguments[1]);
    int connections = Integer.parseInt(arguments[2]);
    Job job = null;
    for (String line = steps.readLine(); line != null; line = steps.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("write")) {
        Configuration conf = configuration(arguments[0], threads, connections);
        Path destination = new Path(words[1]);
        job = written(conf, destination, Integer.parseInt(words[2]), Integer.parseInt(words[3]));
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

  private static Job written(Configuration conf, Path destination, int tasks, int files)
      throws Exception {
    JobID jobId = new JobID("20260101000000", 1);
    TaskAttemptContext jobContext = context(conf, jobId, 0);
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(destination, jobContext);
    committer.setupJob(jobContext);
    ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int task = 0; task < tasks; task++) {
        TaskAttemptContext taskContext = context(conf, jobId, task);
        running.add(
            writers.submit(
                () -> {
                  runTask(destination, taskContext, files);
                  return null;
                }));
      }
      for (Future<?> task : running) {
        task.get();
      }
    } finally {
      writers.shutdownNow();
    }
    return new Job(committer, jobContext, destination);
  }

  private static void runTask(Path destination, TaskAttemptContext context, int files)
      throws IOException {
    PathOutputCommitter committer =
        PathOutputCommitterFactory.createCommitter(destination, context);
    committer.setupTask(context);
    Path work = committer.getWorkPath();
    FileSystem fileSystem = work.getFileSystem(context.getConfiguration());
    int id = context.getTaskAttemptID().getTaskID().getId();
    for (int i = 0; i < files; i++) {
      String name = String.format(Locale.ROOT, "part-%05d-%05d", id, i);
      try (FSDataOutputStream file = fileSystem.create(new Path(work, name), true)) {
        file.write(DATA);
      }
    }
    if (committer.needsTaskCommit(context)) {
      committer.commitTask(context);
    }
  }

  private static Configuration configuration(String endpoint, int threads, int connections) {
    Configuration conf = new Configuration();
    conf.set("fs.s3a.endpoint", endpoint);
    conf.set("fs.s3a.endpoint.region", "us-east-1");
    conf.set("fs.s3a.access.key", "slow");
    conf.set("fs.s3a.secret.key", "slow");
    conf.set("fs.s3a.path.style.access", "true");
    conf.set("fs.s3a.connection.ssl.enabled", "false");
    conf.set("fs.s3a.create.checksum.generation", "false");
    conf.set("fs.s3a.committer.name", "magic");
    // Both make writing cheaper, which nobody times; what commitJob then does is the same.
    conf.set("fs.s3a.committer.magic.track.commits.in.memory.enabled", "true");
    conf.set("fs.s3a.create.performance", "true");
    conf.set(
        "mapreduce.outputcommitter.factory.scheme.s3a",
        "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory");
    String uuid = UUID.randomUUID().toString();
    conf.set("spark.sql.sources.writeJobUUID", uuid);
    conf.set("fs.s3a.committer.uuid", uuid);
    if (threads > 0) {
      conf.setInt("fs.s3a.committer.threads", threads);
    }
    if (connections > 0) {
      conf.setInt("fs.s3a.connection.maximum", connections);
    }
    return conf;
  }

  private static TaskAttemptContext context(Configuration conf, JobID jobId, int task) {
    TaskID taskId = new TaskID(jobId, TaskType.MAP, task);
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(taskId, 0));
  }

  private static int visible(Job job) throws IOException {
    FileSystem fileSystem = job.destination().getFileSystem(job.context().getConfiguration());
    int count = 0;
    RemoteIterator<LocatedFileStatus> found = fileSystem.listFiles(job.destination(), false);
    while (found.hasNext()) {
      if (found.next().getPath().getName().startsWith("part-")) {
        count++;
      }
    }
    return count;
  }
}

package io.github.fsspec_commit.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A destination that was not there before the job: when that is aborted, no directory of it stays.
 *
 * <p>To Spark an empty directory is a destination that exists: the same job, run again, would fail in mode
 * {@code errorifexists}, and do nothing in mode {@code ignore}.
 */
final class NewDestination {
  private static final Logger LOG = LoggerFactory.getLogger(NewDestination.class);
  /** File systems with directories that stand by themselves, and are deleted only when they are empty. */
  private static final List<String> SCHEMES = Arrays.asList("file", "hdfs", "abfs", "abfss");

  private final FileSystem fs;
  private final Path path;
  private final boolean isNew;

  NewDestination(FileSystem fs, Path path) throws IOException {
    this.fs = fs;
    this.path = path;
    this.isNew = SCHEMES.contains(path.toUri().getScheme()) && !fs.exists(path);
  }

  /** Removes what is empty of it; what another job writes there stays, and so do its directories. */
  void removeIfEmpty() {
    if (!isNew) {
      return;
    }
    try {
      remove(new Path(path, "_commit"));
      remove(path);
    } catch (IOException e) {
      LOG.debug("{} stays: {}", path, e.toString());
    }
  }

  /** By one call of the system, which refuses a directory that is not empty. */
  private void remove(Path directory) throws IOException {
    if ("file".equals(directory.toUri().getScheme())) {
      // Hadoop's own looks first, and then deletes a whole tree.
      Files.delete(Paths.get(directory.toUri().getPath()));
    } else {
      fs.delete(directory, false);
    }
  }
}

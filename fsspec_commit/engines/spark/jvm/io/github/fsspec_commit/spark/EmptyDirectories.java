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
 * Directories that a job which is over has left empty.
 *
 * <p>To Spark an empty directory is a destination that exists: the same job, run again, would fail in mode
 * {@code errorifexists}, and do nothing in mode {@code ignore}.
 */
final class EmptyDirectories {
  private static final Logger LOG = LoggerFactory.getLogger(EmptyDirectories.class);
  /** File systems with real directories, which are deleted only when they are empty. */
  private static final List<String> SCHEMES = Arrays.asList("file", "hdfs", "abfs", "abfss");

  private EmptyDirectories() {}

  /** Whether a path does not exist, on a file system with real directories. */
  static boolean isNew(FileSystem fs, Path path) throws IOException {
    return isServed(path) && !fs.exists(path);
  }

  /**
   * Removes a directory and those above it, up to and including {@code top}, until one is not empty.
   *
   * <p>What another job writes there stays, and so do its directories.
   */
  static void remove(FileSystem fs, Path directory, Path top) {
    if (!isServed(top)) {
      return;
    }
    try {
      for (Path each = directory; each.depth() >= top.depth(); each = each.getParent()) {
        remove(fs, each);
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("directories up to {} stay: {}", top, e.toString());
    }
  }

  private static boolean isServed(Path path) {
    return SCHEMES.contains(path.toUri().getScheme());
  }

  /** Removes a directory by one system call, which refuses if the directory is not empty. */
  private static void remove(FileSystem fs, Path directory) throws IOException {
    if ("file".equals(directory.toUri().getScheme())) {
      // Hadoop's own delete looks first, and then deletes a whole tree.
      Files.deleteIfExists(Paths.get(directory.toUri().getPath()));
    } else {
      fs.delete(directory, false);
    }
  }
}

package io.github.fsspec_commit.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * The records that S3A leaves of the uploads below a directory, in the format of its magic committer.
 *
 * <p>One listing finds them, with their sizes, so that opening one needs no further request; and several
 * are read at a time, as each is a call that waits for the store.
 */
final class UploadRecords {
  private static final int READ_AT_A_TIME = 8;

  private UploadRecords() {}

  /**
   * Those of the wanted records that are below a directory; none if the directory does not exist.
   *
   * @throws IOException a record cannot be read, or the listing breaks off
   */
  static Map<Path, UploadRecord> below(FileSystem fs, Path directory, Set<Path> wanted)
      throws IOException {
    RemoteIterator<LocatedFileStatus> files;
    try {
      files = fs.listFiles(directory, true);
    } catch (FileNotFoundException e) {
      return new HashMap<>();
    }
    List<FileStatus> found = new ArrayList<>();
    while (files.hasNext()) {
      FileStatus file = files.next();
      if (wanted.contains(file.getPath())) {
        found.add(file);
      }
    }
    return read(fs, found);
  }

  private static Map<Path, UploadRecord> read(FileSystem fs, List<FileStatus> files)
      throws IOException {
    Map<Path, UploadRecord> records = new HashMap<>();
    if (files.isEmpty()) {
      return records;
    }
    ExecutorService readers = Executors.newFixedThreadPool(Math.min(READ_AT_A_TIME, files.size()));
    try {
      List<Future<UploadRecord>> reading = new ArrayList<>();
      for (FileStatus file : files) {
        reading.add(readers.submit(() -> read(fs, file)));
      }
      for (int i = 0; i < files.size(); i++) {
        Path path = files.get(i).getPath();
        records.put(path, whenRead(reading.get(i), path));
      }
    } finally {
      readers.shutdownNow();
    }
    return records;
  }

  private static UploadRecord read(FileSystem fs, FileStatus file) throws IOException {
    // With the status, S3A does not look for the file first.
    try (InputStream in =
        FutureIO.awaitFuture(fs.openFile(file.getPath()).withFileStatus(file).build())) {
      return UploadRecord.read(in);
    }
  }

  private static UploadRecord whenRead(Future<UploadRecord> reading, Path path) throws IOException {
    try {
      return reading.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while " + path + " was read");
    } catch (ExecutionException e) {
      throw new IOException(path + " cannot be read: " + e.getCause(), e.getCause());
    }
  }
}

package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * The records that S3A leaves of the uploads below a directory, in the format of its magic committer.
 *
 * <p>One listing finds them, with their sizes, so that to open one asks nothing more; and several are read
 * at a time, as each is a call that waits for the store.
 */
final class UploadRecords {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int READ_AT_A_TIME = 8;

  private UploadRecords() {}

  /** Each record by its path; of a directory that is not there, none. */
  static Map<Path, JsonNode> below(FileSystem fs, Path directory) throws IOException {
    List<FileStatus> found = new ArrayList<>();
    try {
      RemoteIterator<LocatedFileStatus> files = fs.listFiles(directory, true);
      while (files.hasNext()) {
        FileStatus file = files.next();
        if (file.getPath().getName().endsWith(".pending")) {
          found.add(file);
        }
      }
    } catch (FileNotFoundException e) {
      // No file was opened.
    }
    return read(fs, found);
  }

  private static Map<Path, JsonNode> read(FileSystem fs, List<FileStatus> files)
      throws IOException {
    Map<Path, JsonNode> records = new HashMap<>();
    if (files.isEmpty()) {
      return records;
    }
    ExecutorService readers = Executors.newFixedThreadPool(Math.min(READ_AT_A_TIME, files.size()));
    try {
      List<Future<JsonNode>> reading = new ArrayList<>();
      for (FileStatus file : files) {
        reading.add(readers.submit(() -> read(fs, file)));
      }
      for (int i = 0; i < files.size(); i++) {
        records.put(files.get(i).getPath(), reading.get(i).get());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the task was interrupted below " + files.get(0).getPath());
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } finally {
      readers.shutdownNow();
    }
    return records;
  }

  private static JsonNode read(FileSystem fs, FileStatus file) throws IOException {
    try (InputStream in = open(fs, file)) {
      return JSON.readTree(in);
    }
  }

  /** With the status, S3A does not look for the file first. */
  private static InputStream open(FileSystem fs, FileStatus file) throws IOException {
    try {
      return fs.openFile(file.getPath()).withFileStatus(file).build().get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted before " + file.getPath());
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    }
  }
}

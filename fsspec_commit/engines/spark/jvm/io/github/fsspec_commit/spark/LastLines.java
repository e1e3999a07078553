package io.github.fsspec_commit.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Prints what a process says on its standard error, and keeps the last line for a message. */
final class LastLines {
  private static final long WAIT_MS = 1000;

  private final Thread printer;
  private volatile String last = "it said nothing";

  LastLines(InputStream stream) {
    printer = new Thread(() -> print(stream), "fsspec-commit-errors");
    printer.setDaemon(true);
    printer.start();
  }

  /** The last line, when the stream has ended or a moment has passed. */
  String last() {
    try {
      printer.join(WAIT_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return last;
  }

  /** Prints a line that was said elsewhere, as one of these. */
  void print(String line) {
    System.err.println(line);
    if (!line.trim().isEmpty()) {
      last = line;
    }
  }

  private void print(InputStream stream) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        print(line);
      }
    } catch (IOException e) {
      // Nobody can say more.
    }
  }
}

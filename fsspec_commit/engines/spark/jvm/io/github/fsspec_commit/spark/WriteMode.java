package io.github.fsspec_commit.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** What happens to existing data, in the words of fsspec-commit. */
final class WriteMode {
  final String name;
  /** The directories that are replaced whether or not something is written there. */
  final List<String> partitions;

  private WriteMode(String name, List<String> partitions) {
    this.name = name;
    this.partitions = partitions;
  }

  /**
   * The mode of the write that is running in this thread.
   *
   * <p>Spark tells a commit protocol only what there is to delete. The rest is in the plan. If the
   * plan cannot be read, a write with nothing to delete appends, which never removes anything.
   */
  static WriteMode of(Path destination, boolean isDynamicOverwrite, List<Path> replaced) {
    if (isDynamicOverwrite) {
      return new WriteMode("overwrite_partitions", new ArrayList<>());
    }
    RunningWrite write = RunningWrite.of(destination);
    if (write != null && write.isOverwrite() && !write.staticPartition().isEmpty()) {
      // Spark does not name a partition that does not exist yet; the whole table is not meant.
      List<String> declared = new ArrayList<>();
      declared.add(write.staticPartition());
      return new WriteMode("overwrite_partitions", declared);
    }
    if (!replaced.isEmpty()) {
      return replacing(destination, replaced);
    }
    return new WriteMode(write == null ? "append" : write.mode(), new ArrayList<>());
  }

  private static WriteMode replacing(Path destination, List<Path> replaced) {
    String root = destination.toString();
    List<String> partitions = new ArrayList<>();
    for (Path deleted : replaced) {
      String target = deleted.toString();
      if (target.equals(root)) {
        return new WriteMode("overwrite", new ArrayList<>());
      }
      if (!target.startsWith(root + "/")) {
        throw Refusals.ownLocation(target, root);
      }
      partitions.add(target.substring(root.length() + 1));
    }
    return new WriteMode("overwrite_partitions", partitions);
  }

  @Override
  public String toString() {
    return partitions.isEmpty() ? name : name + " " + partitions;
  }
}

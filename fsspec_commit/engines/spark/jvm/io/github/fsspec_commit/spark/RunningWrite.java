package io.github.fsspec_commit.spark;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The command that Spark is executing in this thread, as far as its plan tells.
 *
 * <p>None of this is public API of Spark. Methods that return a {@code Seq} are called by reflection, as
 * Scala 2.12 and 2.13 have different types of that name.
 */
final class RunningWrite {
  private static final Logger LOG = LoggerFactory.getLogger(RunningWrite.class);

  private final InsertIntoHadoopFsRelationCommand command;

  private RunningWrite(InsertIntoHadoopFsRelationCommand command) {
    this.command = command;
  }

  /** The write to this destination; null if the plan shows none. */
  static RunningWrite of(Path destination) {
    try {
      // A context that is stopped meanwhile must not be created anew.
      String id =
          SparkContext$.MODULE$.getActive().get().getLocalProperty("spark.sql.execution.id");
      QueryExecution query = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
      InsertIntoHadoopFsRelationCommand found = query == null ? null : in(query.logical());
      if (found != null && samePlace(found.outputPath(), destination)) {
        return new RunningWrite(found);
      }
    } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
      LOG.warn("the plan of the write to {} cannot be read: {}", destination, e.toString());
    }
    return null;
  }

  boolean isOverwrite() {
    return command.mode() == SaveMode.Overwrite;
  }

  String mode() {
    switch (command.mode()) {
      case Overwrite:
        return "overwrite";
      case ErrorIfExists:
        return "error";
      case Ignore:
        return "ignore";
      default:
        return "append";
    }
  }

  /** The directory of the values in {@code PARTITION (day = …)}, relative; empty if there are none. */
  String staticPartition() {
    scala.collection.immutable.Map<String, String> values = command.staticPartitions();
    StringBuilder directory = new StringBuilder();
    try {
      scala.collection.Iterator<?> columns = iterator(command, "partitionColumns");
      while (columns.hasNext()) {
        String column = ((Attribute) columns.next()).name();
        if (values.contains(column)) {
          directory.append(directory.length() == 0 ? "" : "/");
          directory.append(
              ExternalCatalogUtils.getPartitionPathString(column, values.apply(column)));
        }
      }
    } catch (ReflectiveOperationException e) {
      throw new FsspecCommitException("the partition that is overwritten cannot be read", e);
    }
    return directory.toString();
  }

  private static InsertIntoHadoopFsRelationCommand in(LogicalPlan plan)
      throws ReflectiveOperationException {
    Deque<LogicalPlan> nodes = new ArrayDeque<>();
    nodes.add(plan);
    while (!nodes.isEmpty()) {
      LogicalPlan node = nodes.remove();
      if (node instanceof InsertIntoHadoopFsRelationCommand) {
        return (InsertIntoHadoopFsRelationCommand) node;
      }
      scala.collection.Iterator<?> children = iterator(node, "children");
      while (children.hasNext()) {
        nodes.add((LogicalPlan) children.next());
      }
    }
    return null;
  }

  private static scala.collection.Iterator<?> iterator(Object node, String member)
      throws ReflectiveOperationException {
    Object found = node.getClass().getMethod(member).invoke(node);
    return ((scala.collection.Iterable<?>) found).iterator();
  }

  private static boolean samePlace(Path written, Path destination) {
    return written.toUri().getPath().equals(destination.toUri().getPath());
  }
}

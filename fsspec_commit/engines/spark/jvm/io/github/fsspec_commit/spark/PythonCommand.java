package io.github.fsspec_commit.spark;

import java.io.File;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;

/**
 * The Python that commits.
 *
 * <p>It is named by the settings that Spark was started with, or by the environment: a user who can only
 * change the settings of a session must not choose what is run.
 */
final class PythonCommand {
  private static final String SETTING = "spark.fsspec_commit.python";
  private static final String MODULE = "fsspec_commit.engines.spark.driver_process";

  private final String python;

  private PythonCommand(String python) {
    this.python = python;
  }

  static PythonCommand configured() {
    SparkEnv spark = SparkEnv.get();
    if (spark == null) {
      throw new FsspecCommitException("Spark is stopped: nothing can be written");
    }
    SparkConf conf = spark.conf();
    String driver = conf.get("spark.pyspark.driver.python", System.getenv("PYSPARK_DRIVER_PYTHON"));
    String[] named = {
      conf.get(SETTING, null),
      System.getenv("FSSPEC_COMMIT_PYTHON"),
      // In a notebook, this is Jupyter.
      driver != null && new File(driver).getName().startsWith("python") ? driver : null,
      conf.get("spark.pyspark.python", null),
      System.getenv("PYSPARK_PYTHON"),
    };
    for (String python : named) {
      if (python != null && !python.isEmpty()) {
        return new PythonCommand(python);
      }
    }
    return new PythonCommand("python3");
  }

  /** The command, without the working directory on Python's path: nothing in it must be imported. */
  List<String> words() {
    return Arrays.asList(python, "-P", "-m", MODULE);
  }

  String cannotStart(String why) {
    return "cannot start the Python that commits (" + why + "). Try it: "
        + this
        + " --check. It needs Python 3.11 or later and the package fsspec-commit; another one is named by "
        + SETTING + ", which has to be set before Spark starts, or by FSSPEC_COMMIT_PYTHON";
  }

  @Override
  public String toString() {
    return String.join(" ", words());
  }
}

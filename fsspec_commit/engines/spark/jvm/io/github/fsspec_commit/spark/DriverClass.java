package io.github.fsspec_commit.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;

/** Facts about Hadoop's driver of a store that its class tells, and no setting does. */
public final class DriverClass {
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem";
  private static final String MAGIC_PATHS = "org.apache.hadoop.fs.s3a.commit.MagicCommitPaths";

  private DriverClass() {}

  /** By setting name: the class with those that it extends and, for S3A, what it does for jobs. */
  public static Map<String, String> factsOf(Class<? extends FileSystem> driver) {
    List<String> names = new ArrayList<>();
    for (Class<?> one = driver; one != null && one != FileSystem.class; one = one.getSuperclass()) {
      names.add(one.getName());
    }
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("spark.fsspec_commit.driver", String.join(",", names));
    if (names.contains(S3A)) {
      facts.put("spark.fsspec_commit.magic", String.valueOf(isMagicOfJobs(driver)));
    }
    return facts;
  }

  /** Whether S3A uploads what is written to a job's own directory; until Hadoop 3.4 it did not. */
  private static boolean isMagicOfJobs(Class<?> driver) {
    try {
      Class<?> paths = Class.forName(MAGIC_PATHS, true, driver.getClassLoader());
      List<String> elements = Collections.singletonList("__magic_job-a");
      return (Boolean) paths.getMethod("isMagicPath", List.class).invoke(null, elements);
    } catch (ReflectiveOperationException | LinkageError e) {
      return false;
    }
  }
}

package io.github.fsspec_commit.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SparkEnv;

/**
 * Refuses writes that cannot be committed safely, before any work, each with its own sentence: those
 * that only the JVM can tell. The driver process refuses what Hadoop's drivers and settings rule out.
 */
final class Refusals {
  private Refusals() {}

  static void check(String sparkJobId, Path destination, Configuration conf) throws IOException {
    // Spark gives a write a random UUID, and a batch of its streaming sink its number.
    if (sparkJobId.matches("\\d+")) {
      throw new FsspecCommitException(
          "a streaming query cannot write files to "
              + destination
              + " through this protocol: readers of its log would see nothing; write each batch in"
              + " foreachBatch, and unset spark.sql.streaming.commitProtocolClass");
    }
    checkHiveStaging(destination, conf);
    checkUser(destination);
    checkNativeWriter(conf, "spark.comet.parquet.write.enabled", "Comet", false);
    checkNativeWriter(conf, "spark.comet.write.parquet.enabled", "Comet", false);
    // On by default, once the plugin is loaded.
    boolean hasGluten = SparkEnv.get().conf().get("spark.plugins", "").contains("GlutenPlugin");
    checkNativeWriter(conf, "spark.gluten.sql.native.writer.enabled", "Gluten", hasGluten);
  }

  /** A partition that its table keeps elsewhere: it cannot be part of the same commit. */
  static FsspecCommitException ownLocation(String location, String destination) {
    return new FsspecCommitException(
        "the partition at "
            + location
            + " is outside of "
            + destination
            + ", and cannot be committed with it: write to it as a destination of its own, or move it"
            + " with ALTER TABLE … PARTITION (…) SET LOCATION");
  }

  private static void checkHiveStaging(Path destination, Configuration conf) {
    String staging = conf.get("hive.exec.stagingdir", ".hive-staging");
    String name = new Path(staging).getName();
    for (Path place = destination; place != null; place = place.getParent()) {
      if (place.getName().startsWith(name)) {
        throw new FsspecCommitException(
            "Hive moves the files of this table out of "
                + destination
                + " by itself, after the commit, so no commit makes that safe: create the table with"
                + " USING parquet (or orc), or set spark.sql.hive.convertMetastoreParquet and"
                + " spark.sql.hive.convertMetastoreOrc to true");
      }
    }
  }

  /** The driver process has the ticket of whoever started the JVM, and is nobody's proxy. */
  private static void checkUser(Path destination) throws IOException {
    UserGroupInformation user = UserGroupInformation.getCurrentUser();
    if (user.getAuthenticationMethod() == UserGroupInformation.AuthenticationMethod.PROXY
        && destination.toUri().getScheme().endsWith("hdfs")) {
      throw new FsspecCommitException(
          "the JVM acts for "
              + user.getShortUserName()
              + " by a proxy, and the files in "
              + destination
              + " would be committed as somebody else: run the job as that user");
    }
  }

  private static void checkNativeWriter(
      Configuration conf, String setting, String engine, boolean absent) {
    if (conf.getBoolean(setting, absent)) {
      throw new FsspecCommitException(
          engine + " writes files past the commit protocol: set " + setting + " to false");
    }
  }
}

import java.io.File;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/**
 * One NameNode or one DataNode, until it is killed: `HdfsProcess namenode|datanode SITE.xml`.
 *
 * <p>A NameNode without an image makes one. With `warm` both run once and end, to have their
 * classes archived.
 */
public final class HdfsProcess {
  private HdfsProcess() {}

  public static void main(String[] arguments) throws Exception {
    Configuration settings = new HdfsConfiguration();
    settings.addResource(new Path(arguments[1]));
    // To format and to run in one process names the same metrics twice.
    DefaultMetricsSystem.setMiniClusterMode(true);
    switch (arguments[0]) {
      case "namenode" -> nameNode(settings).join();
      case "datanode" -> {
        DataNode.createDataNode(new String[0], settings);
        Thread.currentThread().join();
      }
      case "warm" -> {
        NameNode nameNode = nameNode(settings);
        DataNode dataNode = DataNode.createDataNode(new String[0], settings);
        while (nameNode.getNamesystem().getNumLiveDataNodes() == 0) {
          Thread.sleep(50);
        }
        dataNode.shutdown();
        nameNode.stop();
        System.exit(0);
      }
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static NameNode nameNode(Configuration settings) throws Exception {
    File image = new File(new URI(settings.get("dfs.namenode.name.dir")));
    if (!new File(image, "current").exists()) {
      NameNode.format(settings);
    }
    return NameNode.createNameNode(new String[0], settings);
  }
}

package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.alias.CredentialProvider;
import org.apache.hadoop.security.alias.CredentialProviderFactory;

/**
 * The settings of Hadoop that concern one place, secrets among them, for the driver process alone.
 *
 * <p>The Python side knows which settings these are, and what they mean to fsspec: it names them in its
 * greeting, and refuses what it does not know.
 *
 * <p>Hadoop keeps a driver once it is made, with the settings it was made with. What is set later
 * has no effect, so the driver's settings count, and not those of the session that writes.
 */
final class HadoopSettings {
  private static final String OWN = "spark.fsspec_commit.";
  private static final String OWN_OPTION = "fsspec_commit.";

  private final JsonNode prefixes;
  private final JsonNode properties;
  private final JsonNode secrets;
  /** Options of a job whose names nobody else has; an older package names none. */
  private final JsonNode unmistakable;

  HadoopSettings(JsonNode greeting) {
    this.prefixes = greeting.get("prefixes");
    this.properties = greeting.get("properties");
    this.secrets = greeting.get("secrets");
    this.unmistakable = greeting.path("options");
  }

  /** Puts the settings that matter to a destination into {@code settings}. */
  void addTo(ObjectNode settings, Path destination, FileSystem fs, Configuration conf)
      throws IOException {
    String scheme = destination.toUri().getScheme();
    Configuration drivers = fs.getConf() == null ? conf : fs.getConf();
    // Opened once: opening takes longer than all else that a job's start does here.
    List<CredentialProvider> keystores = CredentialProviderFactory.getProviders(drivers);
    for (JsonNode prefix : prefixes.path(scheme)) {
      // Spark's own settings are not a driver's.
      Configuration asked = prefix.asText().startsWith("spark.") ? conf : drivers;
      for (Map.Entry<String, String> setting : asked) {
        if (setting.getKey().startsWith(prefix.asText())) {
          add(settings, setting.getKey(), asked.get(setting.getKey()));
        }
      }
      for (JsonNode secret : secrets) {
        if (secret.asText().startsWith(prefix.asText())) {
          addSecret(settings, named(secret.asText(), destination), keystores, asked);
        }
      }
    }
    for (JsonNode prefix : properties.path(scheme)) {
      for (String name : System.getProperties().stringPropertyNames()) {
        if (name.startsWith(prefix.asText())) {
          add(settings, name, System.getProperty(name));
        }
      }
    }
    String user = UserGroupInformation.getCurrentUser().getShortUserName();
    settings.put("spark.fsspec_commit.user", user);
    DriverClass.factsOf(fs.getClass()).forEach(settings::put);
  }

  /** Adds a secret, as {@link Configuration#getPassword} finds it: no listing shows what a keystore holds. */
  private static void addSecret(
      ObjectNode settings, String name, List<CredentialProvider> keystores, Configuration conf)
      throws IOException {
    for (CredentialProvider keystore : keystores) {
      CredentialProvider.CredentialEntry found = keystore.getCredentialEntry(name);
      if (found != null) {
        add(settings, name, new String(found.getCredential()));
        return;
      }
    }
    add(settings, name, conf.get(name));
  }

  /** Adds a value that was looked up by name, since listings do not expand ${…}. */
  private static void add(ObjectNode texts, String name, String value) {
    if (value != null) {
      texts.put(name, value);
    }
  }

  private static String named(String secret, Path destination) {
    String authority = String.valueOf(destination.toUri().getAuthority());
    int at = authority.indexOf('@');
    return secret
        .replace("{bucket}", authority)
        .replace("{container}", authority.substring(0, Math.max(at, 0)))
        .replace("{account}", authority.substring(at + 1));
  }

  /**
   * Puts the options of a job into {@code options}: {@code spark.fsspec_commit.…} of the session, and
   * {@code fsspec_commit.…} of the writer, which win. Spark ignores the case of options.
   */
  void addJobOptions(ObjectNode options, Configuration conf) {
    for (String prefix : new String[] {OWN, OWN_OPTION}) {
      for (Map.Entry<String, String> setting : conf) {
        String name = setting.getKey().toLowerCase(Locale.ROOT);
        if (name.startsWith(prefix)) {
          add(options, name.substring(prefix.length()), conf.get(setting.getKey()));
        }
      }
    }
    for (JsonNode name : unmistakable) {
      if (conf.get(name.asText()) != null) {
        throw new FsspecCommitException(
            "nobody reads the option " + name + ": its name is \"" + OWN_OPTION + name.asText() + "\"");
      }
    }
  }
}

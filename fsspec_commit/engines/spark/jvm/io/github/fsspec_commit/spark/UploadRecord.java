package io.github.fsspec_commit.spark;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** What completing an upload takes from the record that S3A leaves, most of which is statistics. */
final class UploadRecord {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  final long sizeBytes;
  final String uploadId;
  final List<String> etags;

  private UploadRecord(long sizeBytes, String uploadId, List<String> etags) {
    this.sizeBytes = sizeBytes;
    this.uploadId = uploadId;
    this.etags = etags;
  }

  /**
   * Reads a record.
   *
   * @throws IOException it cannot be read, or is not a record of an upload
   */
  static UploadRecord read(InputStream in) throws IOException {
    JsonNode record = JSON.readTree(in);
    List<String> etags = new ArrayList<>();
    for (JsonNode etag : record.path("etags")) {
      // Since Hadoop 3.4.2 an etag stands beside checksums.
      etags.add(textOf(etag.isTextual() ? etag : etag.path("etag"), "an etag"));
    }
    JsonNode length = record.path("length");
    if (!length.isIntegralNumber() || etags.isEmpty()) {
      throw new IOException("no record of an upload: it has no length, or no etags");
    }
    return new UploadRecord(length.asLong(), textOf(record.path("uploadId"), "an uploadId"), etags);
  }

  private static String textOf(JsonNode value, String what) throws IOException {
    if (!value.isTextual()) {
      throw new IOException("no record of an upload: it has no text for " + what);
    }
    return value.asText();
  }
}

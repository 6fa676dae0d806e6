import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Writes the body of a URL to standard output; trusts the authorities of a PEM file. */
public class Fetch {
  static SSLContext trusting(String path) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream pem = new FileInputStream(path)) {
      int count = 0;
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(pem))
        store.setCertificateEntry("authority-" + count++, one);
    }
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  public static void main(String[] words) throws Exception {
    HttpClient.Builder client = HttpClient.newBuilder();
    if (words[0].startsWith("https:")) client.sslContext(trusting(words[1]));
    HttpRequest request = HttpRequest.newBuilder(URI.create(words[0])).build();
    HttpResponse<byte[]> response =
        client.build().send(request, HttpResponse.BodyHandlers.ofByteArray());
    System.out.write(response.body());
    System.out.flush();
    System.exit(response.statusCode() == 200 ? 0 : 2);
  }
}

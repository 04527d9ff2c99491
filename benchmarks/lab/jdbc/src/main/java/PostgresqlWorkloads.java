import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** PostgreSQL workloads over JDBC, with the dialogue of workloads.py: READY, a line, one line of JSON. {@code PostgresqlWorkloads NAME N}. */
public class PostgresqlWorkloads {
  private static final String PORT = System.getenv().getOrDefault("LATPCAP_PGPORT", "5432");
  private static final String SSL_MODE = System.getenv("LATPCAP_TLS") != null ? "require" : "disable";
  private static final String URL = "jdbc:postgresql://10.77.0.2:" + PORT + "/lab?gssEncMode=disable&sslmode=" + SSL_MODE;
  private static final String SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = ?";
  private static final String UPDATE = "UPDATE acc SET bal = bal + 1 WHERE id = ?";

  private interface Work {
    void run(Connection database, int n) throws SQLException;
  }

  private static final Map<String, Work> WORKLOADS = Map.of(
      "nplus1", PostgresqlWorkloads::nPlusOne,
      "fetch10", PostgresqlWorkloads::fetch10,
      "batch", PostgresqlWorkloads::batch,
      "transactions", PostgresqlWorkloads::transactions,
      "one_transaction", PostgresqlWorkloads::oneTransaction,
      "one_batch", PostgresqlWorkloads::oneBatch);

  private static int statements;
  private static int rows;

  private static void nPlusOne(Connection database, int n) throws SQLException {
    List<Integer> keys = new ArrayList<>();
    try (var statement = database.createStatement();
        ResultSet result = statement.executeQuery("SELECT emp_no FROM employees ORDER BY emp_no LIMIT " + n)) {
      while (result.next()) keys.add(result.getInt(1));
    }
    statements++;
    rows += keys.size();
    try (PreparedStatement query = database.prepareStatement(SALARIES)) {
      for (int key : keys) take(query, key);
    }
  }

  /** Portals need a transaction, or the driver takes all rows at once. */
  private static void fetch10(Connection database, int n) throws SQLException {
    database.setAutoCommit(false);
    try (PreparedStatement query = database.prepareStatement("SELECT emp_no, first_name, last_name FROM employees WHERE emp_no <= ?")) {
      query.setFetchSize(10);
      take(query, n);
    }
    database.commit();
  }

  private static void batch(Connection database, int n) throws SQLException {
    try (var statement = database.createStatement()) {
      statement.execute("CREATE TEMP TABLE batched(id INT, name VARCHAR(100))");
      statements++;
    }
    database.setAutoCommit(false);
    try (PreparedStatement insert = database.prepareStatement("INSERT INTO batched VALUES (?, ?)")) {
      for (int i = 0; i < n; i++) {
        insert.setInt(1, i);
        insert.setString(2, "value " + i);
        insert.addBatch();
      }
      insert.executeBatch();
      statements += n;
    }
    database.commit();
    statements++;
  }

  private static void transactions(Connection database, int n) throws SQLException {
    database.setAutoCommit(false);
    try (PreparedStatement update = database.prepareStatement(UPDATE)) {
      for (int i = 1; i <= n; i++) {
        update.setInt(1, i);
        update.executeUpdate();
        database.commit();
        statements += 3;
      }
    }
  }

  /** The same updates with one commit. */
  private static void oneTransaction(Connection database, int n) throws SQLException {
    database.setAutoCommit(false);
    try (PreparedStatement update = database.prepareStatement(UPDATE)) {
      for (int i = 1; i <= n; i++) {
        update.setInt(1, i);
        update.executeUpdate();
      }
    }
    database.commit();
    statements += n + 2;
  }

  /** The same updates sent together, with one commit. */
  private static void oneBatch(Connection database, int n) throws SQLException {
    database.setAutoCommit(false);
    try (PreparedStatement update = database.prepareStatement(UPDATE)) {
      for (int i = 1; i <= n; i++) {
        update.setInt(1, i);
        update.addBatch();
      }
      update.executeBatch();
    }
    database.commit();
    statements += n + 2;
  }

  private static void take(PreparedStatement query, int key) throws SQLException {
    query.setInt(1, key);
    try (ResultSet result = query.executeQuery()) {
      while (result.next()) rows++;
    }
    statements++;
  }

  private static double run(Work work, int n) throws SQLException {
    try (Connection database = DriverManager.getConnection(URL, "lab", "labpw")) {
      long start = System.nanoTime();
      work.run(database, n);
      return (System.nanoTime() - start) / 1e9;
    }
  }

  public static void main(String[] arguments) throws Exception {
    Work work = WORKLOADS.get(arguments[0]);
    int n = Integer.parseInt(arguments[1]);
    var driver = DriverManager.getDriver(URL);
    for (int i = 0; System.getenv("COLD") == null && i < 3; i++) run(work, Math.min(n, 24));
    statements = rows = 0;
    System.out.println("READY");
    System.in.read();
    long start = System.nanoTime();
    double seconds = run(work, n);
    double total = (System.nanoTime() - start) / 1e9;
    System.out.printf(Locale.ROOT,
        "{\"statements\": %d, \"rows\": %d, \"seconds\": %.6f, \"total\": %.6f, \"client\": \"PostgreSQL JDBC %d.%d\", \"extra\": {}}%n",
        statements, rows, seconds, total, driver.getMajorVersion(), driver.getMinorVersion());
  }
}

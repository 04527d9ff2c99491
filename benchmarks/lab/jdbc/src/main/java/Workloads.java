import com.mysql.cj.jdbc.JdbcStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Workloads over JDBC, with the dialogue of workloads.py: READY, a line, one line of JSON. {@code Workloads NAME N}. */
public class Workloads {
  private static final String HOST = System.getenv().getOrDefault("LATPCAP_HOST", "10.77.0.2");
  private static final boolean ENCRYPTED = System.getenv("LATPCAP_TLS") != null;
  private static final String MARIADB = "jdbc:mariadb://" + HOST + ":3306/lab?sslMode=" + (ENCRYPTED ? "trust" : "disable");
  private static final String MYSQL =
      "jdbc:mysql://" + HOST + ":3306/lab?sslMode=" + (ENCRYPTED ? "REQUIRED" : "DISABLED") + "&allowPublicKeyRetrieval=true";
  private static final String SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = ?";
  private static final int WARM_RUNS = 12;

  private record Workload(String url, Work work) {}

  private interface Work {
    void run(Connection database, int n) throws SQLException;
  }

  private static final Map<String, Workload> WORKLOADS = Map.ofEntries(
      Map.entry("mariadb_nplus1", new Workload(MARIADB, Workloads::nPlusOne)),
      Map.entry("mariadb_prepared_each", new Workload(MARIADB + "&useServerPrepStmts=true&cachePrepStmts=false", Workloads::preparedEach)),
      Map.entry("mariadb_prepared_cached", new Workload(MARIADB + "&useServerPrepStmts=true", Workloads::preparedEach)),
      Map.entry("mariadb_batch_bulk", new Workload(MARIADB + "&useServerPrepStmts=true&useBulkStmts=true", Workloads::batch)),
      Map.entry("mariadb_batch_pipelined",
          new Workload(MARIADB + "&useServerPrepStmts=true&useBulkStmts=false&useBulkStmtsForInserts=false", Workloads::batch)),
      Map.entry("mysql_nplus1", new Workload(MYSQL, Workloads::nPlusOne)),
      Map.entry("mysql_prepared_each", new Workload(MYSQL + "&useServerPrepStmts=true", Workloads::preparedEach)),
      Map.entry("mysql_cursor_fetch10", new Workload(MYSQL + "&useCursorFetch=true&defaultFetchSize=10", Workloads::readAll)),
      Map.entry("mysql_attributes", new Workload(MYSQL, Workloads::attributes)),
      Map.entry("mysql_out_parameters", new Workload(MYSQL + "&useServerPrepStmts=true", Workloads::outParameters)),
      Map.entry("mysql_batch", new Workload(MYSQL, Workloads::batch)),
      Map.entry("mysql_batch_rewritten", new Workload(MYSQL + "&rewriteBatchedStatements=true", Workloads::batch)));

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

  private static void preparedEach(Connection database, int n) throws SQLException {
    for (int key = 1; key <= n; key++) {
      try (PreparedStatement query = database.prepareStatement(SALARIES)) {
        take(query, key);
      }
    }
  }

  private static void readAll(Connection database, int n) throws SQLException {
    try (PreparedStatement query = database.prepareStatement("SELECT emp_no, first_name, last_name FROM employees WHERE emp_no <= ?")) {
      take(query, n);
    }
  }

  /** Query attributes ride in front of the statement's text. */
  private static void attributes(Connection database, int n) throws SQLException {
    try (var statement = database.createStatement()) {
      for (int key = 1; key <= n; key++) {
        var attributed = statement.unwrap(JdbcStatement.class);
        attributed.clearAttributes();
        attributed.setAttribute("request", "order-" + key);
        attributed.setAttribute("number", key);
        attributed.setAttribute("absent", null);
        try (ResultSet result = statement.executeQuery(SALARIES.replace("?", Integer.toString(key)))) {
          while (result.next()) rows++;
        }
        statements++;
      }
    }
  }

  private static void outParameters(Connection database, int n) throws SQLException {
    try (var call = database.prepareCall("{call best_salary(?, ?, ?)}")) {
      call.registerOutParameter(2, Types.INTEGER);
      call.registerOutParameter(3, Types.INTEGER);
      for (int key = 1; key <= n; key++) {
        call.setInt(1, key);
        call.execute();
        if (call.getInt(2) > 0 && call.getInt(3) == 9) rows++;
        statements++;
      }
    }
  }

  private static void take(PreparedStatement query, int key) throws SQLException {
    query.setInt(1, key);
    try (ResultSet result = query.executeQuery()) {
      while (result.next()) rows++;
    }
    statements++;
  }

  private static void batch(Connection database, int n) throws SQLException {
    try (var statement = database.createStatement()) {
      statement.execute("CREATE OR REPLACE TABLE batched(id INT, name VARCHAR(100))");
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

  private static double run(Workload workload, int n) throws SQLException {
    try (Connection database = DriverManager.getConnection(workload.url, "lab", "labpw")) {
      long start = System.nanoTime();
      workload.work.run(database, n);
      return (System.nanoTime() - start) / 1e9;
    }
  }

  private static String driver(Workload workload) throws SQLException {
    var driver = DriverManager.getDriver(workload.url);
    String name = workload.url.startsWith(MARIADB) ? "MariaDB" : "MySQL";
    return "%s Connector/J %d.%d".formatted(name, driver.getMajorVersion(), driver.getMinorVersion());
  }

  public static void main(String[] arguments) throws Exception {
    Workload workload = WORKLOADS.get(arguments[0]);
    int n = Integer.parseInt(arguments[1]);
    String driver = driver(workload);
    for (int i = 0; System.getenv("COLD") == null && i < WARM_RUNS; i++) run(workload, Math.min(n, 24));
    statements = rows = 0;
    System.out.println("READY");
    System.in.read();
    long start = System.nanoTime();
    double seconds = run(workload, n);
    double total = (System.nanoTime() - start) / 1e9;
    System.out.printf(Locale.ROOT,
        "{\"statements\": %d, \"rows\": %d, \"seconds\": %.6f, \"total\": %.6f, \"client\": \"%s\", \"extra\": {}}%n",
        statements, rows, seconds, total, driver);
  }
}

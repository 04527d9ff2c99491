import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * {@code Job mysql | mariadb | postgresql}: the job of this folder's README, clear or encrypted as the environment says (TLS). The key
 * log is the agent's: {@code -javaagent:extract-tls-secrets.jar=FILE}. MORE adds to the driver's URL, JOBS repeats the statements.
 */
public class Job {
    private static final String TLS = System.getenv().getOrDefault("TLS", "clear");
    private static final String HOST = System.getenv().getOrDefault("LATPCAP_HOST", "10.77.0.2");
    private static final String MORE = System.getenv().getOrDefault("MORE", "");
    private static final int JOBS = Integer.parseInt(System.getenv().getOrDefault("JOBS", "1"));

    public static void main(String[] arguments) throws SQLException {
        int rows = 0;
        String client;
        try (Connection connection = DriverManager.getConnection(url(arguments[0]), "lab", "labpw")) {
            DatabaseMetaData about = connection.getMetaData();
            client = about.getDriverName() + " " + about.getDriverVersion() + ", Java " + System.getProperty("java.version");
            for (int job = 0; job < JOBS; job++) rows += work(connection);
        }
        System.out.printf("{\"client\": \"%s\", \"statements\": %d, \"rows\": %d, \"errors\": %d}%n", client, 25 * JOBS, rows, JOBS);
    }

    private static String url(String driver) {
        boolean clear = TLS.equals("clear");
        return "jdbc:" + driver + "://" + HOST + "/lab?" + switch (driver) {
            case "mysql" -> clear ? "sslMode=DISABLED&allowPublicKeyRetrieval=true" : "sslMode=REQUIRED&tlsVersions=" + TLS;
            case "mariadb" -> clear ? "sslMode=disable" : "sslMode=trust&enabledSslProtocolSuites=" + TLS;
            default -> clear ? "sslmode=disable" : "sslmode=require";
        } + MORE;
    }

    private static int work(Connection connection) throws SQLException {
        int rows = 0;
        for (int key = 1; key <= 20; key++) rows += read(connection, "SELECT emp_no, salary FROM salaries WHERE emp_no = ?", key);
        try (Statement statement = connection.createStatement()) {
            rows += count(statement.executeQuery("SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300"));
        }
        try (PreparedStatement one = connection.prepareStatement("SELECT first_name FROM employees WHERE emp_no = ?")) {
            for (int key = 1; key <= 3; key++) {
                one.setInt(1, key);
                rows += count(one.executeQuery());
            }
        }
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT nothing FROM nowhere");
            throw new IllegalStateException("an error was expected");
        } catch (SQLException expected) {
            return rows;
        }
    }

    private static int read(Connection connection, String text, int key) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setInt(1, key);
            return count(statement.executeQuery());
        }
    }

    private static int count(ResultSet result) throws SQLException {
        int rows = 0;
        while (result.next()) rows++;
        return rows;
    }
}

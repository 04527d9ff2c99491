import java.sql.*;

public class Job {
    static int rows, affected;

    static void all(ResultSet set) throws SQLException {
        while (set.next()) rows++;
        set.close();
    }

    public static void main(String[] a) throws Exception {
        try (Connection c = DriverManager.getConnection(a[0], "ann", "top secret")) {
            try (Statement s = c.createStatement()) {
                all(s.executeQuery("select id from order_ids"));
            }
            try (PreparedStatement p = c.prepareStatement("select id, name from items where id = ?")) {
                for (int i = 0; i < 50; i++) {
                    p.setInt(1, i);
                    all(p.executeQuery());
                }
            }
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("insert into items (id, name) values (?, ?)")) {
                for (int i = 0; i < 10; i++) {
                    p.setInt(1, i);
                    p.setString(2, "name");
                    affected += p.executeUpdate();
                }
                for (int i = 0; i < 20; i++) {
                    p.setInt(1, i);
                    p.setString(2, "name");
                    p.addBatch();
                }
                for (int n : p.executeBatch()) affected += n;
            }
            c.commit();
            try (Statement s = c.createStatement()) {
                all(s.executeQuery("select id, name from big_table"));
            }
            c.commit();
        }
        System.out.println(rows + " " + affected);
    }
}

import java.sql.*;
import java.sql.Connection;
import java.util.stream.IntStream;

/** One workload by mssql-jdbc or jTDS: `Job WORKLOAD URL`; prints rows and changes. */
public class Job {
    static final String ONE = "select id, name from items where id = ?", INSERT = "insert into items (id, name) values (?, ?)";
    static int rows, changes;
    static String url;

    static void all(ResultSet set) throws SQLException {
        while (set.next()) rows++;
        set.close();
    }

    static void one(Connection c, int id) throws SQLException {
        try (PreparedStatement p = c.prepareStatement(ONE)) {
            p.setInt(1, id);
            all(p.executeQuery());
        }
    }

    static void read(Connection c, String sql, int fetch) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.setFetchSize(fetch);
            all(s.executeQuery(sql));
        }
    }

    static void insert(PreparedStatement p, int id) throws SQLException {
        p.setInt(1, id);
        p.setString(2, "name");
    }

    static void nPlusOne(Connection c) throws SQLException {
        read(c, "select id from order_ids", 0);
        for (int id = 0; id < 50; id++) one(c, id);
    }

    static void prepared(Connection c) throws SQLException {
        try (PreparedStatement p = c.prepareStatement(ONE); PreparedStatement i = c.prepareStatement(INSERT)) {
            for (int id = 0; id < 50; id++) {
                p.setInt(1, id);
                all(p.executeQuery());
                insert(i, id);
                changes += i.executeUpdate();
            }
        }
    }

    static void cursorFetch(Connection c) throws SQLException {
        read(c, "select id, name from big_table", 100);
        read(c, "select id, doc from wide_table", 100);
    }

    static void batch(Connection c, int count) throws SQLException {
        try (PreparedStatement p = c.prepareStatement(INSERT)) {
            for (int id = 0; id < count; id++) {
                insert(p, id);
                p.addBatch();
            }
            changes += IntStream.of(p.executeBatch()).sum();
        }
    }

    static void transactions(Connection c) throws SQLException {
        c.setAutoCommit(false);
        for (int id = 0; id < 10; id++) {
            try (PreparedStatement p = c.prepareStatement(INSERT); Statement s = c.createStatement()) {
                insert(p, id);
                changes += p.executeUpdate();
                changes += s.executeUpdate("update items set name = 'x' where id = 7");
            }
            if (id == 7) c.rollback(); else c.commit();
        }
    }

    static void connectPerQuery() throws SQLException {
        for (int id = 0; id < 10; id++) try (Connection c = DriverManager.getConnection(url, "ann", "top secret")) {
            one(c, id);
        }
    }

    public static void main(String[] a) throws Exception {
        url = a[1];
        if (a[0].equals("connect_per_query")) connectPerQuery();
        else try (Connection c = DriverManager.getConnection(url, "ann", "top secret")) {
            switch (a[0]) {
                case "n_plus_one": nPlusOne(c); break;
                case "prepared": prepared(c); break;
                case "cursor_fetch": cursorFetch(c); break;
                case "batch": batch(c, 30); break;
                case "bulk": batch(c, 200); break;
                case "transactions": transactions(c); break;
                default: throw new IllegalArgumentException(a[0]);
            }
        }
        System.out.println(rows + " " + changes);
    }
}

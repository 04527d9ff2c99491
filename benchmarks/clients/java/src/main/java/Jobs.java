import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Table;
import java.util.List;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** The job of benchmarks/clients/README.md with Hibernate: {@code Jobs mariadb | postgresql}. */
public class Jobs {
  @Entity
  @Table(name = "authors")
  public static class Author {
    @Id int id;
    String name;
    @OneToMany(mappedBy = "author") List<Book> books;
  }

  @Entity
  @Table(name = "books")
  public static class Book {
    @Id int id;
    @ManyToOne @JoinColumn(name = "author_id") Author author;
    String title;
    int price;
  }

  public static void main(String[] arguments) {
    String port = arguments[0].equals("mariadb") ? "3306" : "5432";
    Configuration configuration =
        new Configuration()
            .addAnnotatedClass(Author.class)
            .addAnnotatedClass(Book.class)
            .setProperty("hibernate.connection.url", "jdbc:" + arguments[0] + "://10.77.0.2:" + port + "/lab?sslMode=disable&sslmode=disable")
            .setProperty("hibernate.connection.username", "lab")
            .setProperty("hibernate.connection.password", "labpw")
            .setProperty("hibernate.connection.pool_size", "1");
    int rows = 0;
    try (SessionFactory sessions = configuration.buildSessionFactory()) {
      rows += sessions.fromTransaction(Jobs::lazy);
      rows += one(sessions);
      sessions.inTransaction(Jobs::change);
      fail(sessions);
      rows += sessions.fromTransaction(Jobs::scroll);
    }
    String client = "Hibernate " + org.hibernate.Version.getVersionString();
    System.out.printf("{\"client\": \"%s\", \"rows\": %d, \"errors\": 1}%n", client, rows);
  }

  /** The collection of each author is loaded when it is first looked at. */
  static int lazy(org.hibernate.Session session) {
    List<Author> authors = session.createQuery("from Jobs$Author order by id", Author.class).list();
    return authors.size() + authors.stream().mapToInt(author -> author.books.size()).sum();
  }

  /** Ten reads by their key, a session for each; the author comes with the book by a join. */
  static int one(SessionFactory sessions) {
    int rows = 0;
    for (int id = 1; id <= 10; id++) {
      int key = id;
      rows += sessions.fromSession(session -> session.find(Book.class, key) == null ? 0 : 1);
    }
    return rows;
  }

  static void change(org.hibernate.Session session) {
    for (int id = 1; id <= 3; id++) session.find(Book.class, id).price++;
  }

  static void fail(SessionFactory sessions) {
    try {
      sessions.inSession(session -> session.createNativeQuery("select nothing from nowhere", Object.class).list());
      throw new IllegalStateException("an error was expected");
    } catch (org.hibernate.exception.SQLGrammarException expected) {
      // told by the server
    }
  }

  /** Through the driver's cursor, a hundred rows at a time, where the driver has one. */
  static int scroll(org.hibernate.Session session) {
    try (var books =
        session.createNativeQuery("select id, title from books order by id", Object[].class).setFetchSize(100).scroll(org.hibernate.ScrollMode.FORWARD_ONLY)) {
      int rows = 0;
      while (books.next()) rows++;
      return rows;
    }
  }
}

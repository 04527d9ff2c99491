// The job of benchmarks/clients/README.md with libpqxx.
#include <iostream>
#include <pqxx/pqxx>

int main() {
  pqxx::connection connection("host=10.77.0.2 user=lab password=labpw dbname=lab");
  std::size_t rows = 0;
  {
    pqxx::work work(connection);
    auto authors = work.exec("select id, name from authors order by id");
    rows += authors.size();
    for (auto author : authors)
      rows += work.exec_params("select id, title from books where author_id = $1", author[0].as<int>()).size();
    connection.prepare("one", "select title, price from books where id = $1");
    for (int id = 1; id <= 10; id++) rows += work.exec_prepared("one", id).size();
    for (int id = 1; id <= 3; id++) {
      pqxx::subtransaction part(work);
      part.exec_params("update books set price = price + 1 where id = $1", id);
      part.commit();
    }
    work.commit();
  }
  try {
    pqxx::nontransaction(connection).exec("select nothing from nowhere");
    return 1;
  } catch (const pqxx::sql_error &) {
  }
  {
    pqxx::work work(connection);
    pqxx::icursorstream cursor(work, "select id, title from books order by id", "books", 100);
    for (pqxx::result some; cursor >> some;) rows += some.size();
    work.commit();
  }
  connection.disconnect();
  std::cout << "{\"client\": \"libpqxx " PQXX_VERSION "\", \"rows\": " << rows << ", \"errors\": 1}" << std::endl;
}

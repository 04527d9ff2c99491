// Commands that only the C API sends: `capi PART N`. Prints what it ran and received as one line of JSON.
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long statements, rows, reports;

static void fail(MYSQL *db, const char *what) {
  fprintf(stderr, "%s: %s\n", what, mysql_error(db));
  exit(1);
}

static void on_progress(const MYSQL *db, unsigned stage, unsigned last, double percent, const char *text, unsigned length) {
  (void)db, (void)stage, (void)last, (void)percent, (void)text, (void)length;
  reports++;
}

static MYSQL *login(unsigned long flags) {
  MYSQL *db = mysql_init(NULL);
  mysql_optionsv(db, MYSQL_PROGRESS_CALLBACK, on_progress);
  my_bool off = 0;
  mysql_options(db, MYSQL_OPT_SSL_ENFORCE, &off);
  mysql_options(db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
  if (!mysql_real_connect(db, "10.77.0.2", "lab", "labpw", "lab", 3306, NULL, flags)) fail(db, "connect");
  return db;
}

static void take_results(MYSQL *db) {
  do {
    MYSQL_RES *result = mysql_store_result(db);
    if (result) {
      rows += mysql_num_rows(result);
      mysql_free_result(result);
    }
  } while (mysql_next_result(db) == 0);
}

static void query(MYSQL *db, const char *sql) {
  statements++;
  if (mysql_real_query(db, sql, strlen(sql))) fail(db, sql);
  take_results(db);
}

static MYSQL_STMT *prepare(MYSQL *db, const char *sql) {
  MYSQL_STMT *statement = mysql_stmt_init(db);
  if (mysql_stmt_prepare(statement, sql, strlen(sql))) fail(db, sql);
  return statement;
}

static void bind_int(MYSQL_BIND *bind, int *value) {
  memset(bind, 0, sizeof *bind);
  bind->buffer_type = MYSQL_TYPE_LONG;
  bind->buffer = value;
}

static void execute(MYSQL *db, MYSQL_STMT *statement) {
  statements++;
  if (mysql_stmt_execute(statement)) fail(db, mysql_stmt_error(statement));
}

// Every small command once, n times over, each with its own kind of answer.
static void commands(int n) {
  MYSQL *db = login(CLIENT_MULTI_STATEMENTS);
  for (int i = 0; i < n; i++) {
    if (mysql_ping(db)) fail(db, "ping");
    mysql_stat(db);
    mysql_select_db(db, "lab");
    if (mysql_set_server_option(db, MYSQL_OPTION_MULTI_STATEMENTS_OFF)) fail(db, "set_option");
    if (mysql_set_server_option(db, MYSQL_OPTION_MULTI_STATEMENTS_ON)) fail(db, "set_option");
    MYSQL_RES *fields = mysql_list_fields(db, "employees", "%");
    if (!fields) fail(db, "field_list");
    mysql_free_result(fields);
    query(db, "SELECT 1; SELECT 2");
    statements++; // two in one command
    if (mysql_dump_debug_info(db)) fail(db, "debug");
    if (mysql_change_user(db, "lab", "labpw", "lab")) fail(db, "change_user");
    query(db, "SELECT 3");
    if (mysql_reset_connection(db)) fail(db, "reset_connection");
  }
  mysql_close(db);
}

// A blob in four pieces that nobody answers, an execute, a reset.
static void long_data(int n) {
  MYSQL *db = login(0);
  MYSQL_STMT *statement = prepare(db, "INSERT INTO blobs(body) VALUES (?)");
  MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_LONG_BLOB};
  char piece[5000];
  memset(piece, 'x', sizeof piece);
  mysql_stmt_bind_param(statement, &bind);
  for (int i = 0; i < n; i++) {
    for (int part = 0; part < 4; part++)
      if (mysql_stmt_send_long_data(statement, 0, piece, sizeof piece)) fail(db, "long data");
    execute(db, statement);
    if (mysql_stmt_reset(statement)) fail(db, "reset");
  }
  mysql_stmt_close(statement);
  mysql_close(db);
}

static void cursor(int n, unsigned long fetch) {
  MYSQL *db = login(0);
  MYSQL_STMT *statement = mysql_stmt_init(db);
  unsigned long kind = CURSOR_TYPE_READ_ONLY;
  mysql_stmt_attr_set(statement, STMT_ATTR_CURSOR_TYPE, &kind);
  mysql_stmt_attr_set(statement, STMT_ATTR_PREFETCH_ROWS, &fetch);
  const char *sql = "SELECT emp_no FROM employees WHERE emp_no <= ?";
  if (mysql_stmt_prepare(statement, sql, strlen(sql))) fail(db, sql);
  int key;
  MYSQL_BIND parameter, result;
  bind_int(&parameter, &n);
  bind_int(&result, &key);
  mysql_stmt_bind_param(statement, &parameter);
  execute(db, statement);
  mysql_stmt_bind_result(statement, &result);
  while (mysql_stmt_fetch(statement) == 0) rows++;
  mysql_stmt_close(statement);
  mysql_close(db);
}

// The server reports progress in packets that look like errors, many before the one answer.
static void progress(int n) {
  MYSQL *db = login(CLIENT_PROGRESS);
  query(db, "SET progress_report_time = 1");
  query(db, "CREATE OR REPLACE TABLE grown ENGINE = Aria SELECT * FROM big");
  for (int i = 0; i < n; i++) query(db, "ALTER TABLE grown ADD COLUMN hash CHAR(128) AS (SHA2(REPEAT(payload, 80), 512)) PERSISTENT");
  query(db, "DROP TABLE grown");
  mysql_close(db);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int n = atoi(argv[2]);
  if (!strcmp(argv[1], "commands"))
    commands(n);
  else if (!strcmp(argv[1], "long_data"))
    long_data(n);
  else if (!strcmp(argv[1], "cursor"))
    cursor(n, 10);
  else if (!strcmp(argv[1], "progress"))
    progress(n);
  else
    return 2;
  printf("{\"statements\": %ld, \"rows\": %ld, \"progress_reports\": %ld}\n", statements, rows, reports);
  return 0;
}

<?php // php jobs.php mysqli | pdo-mysql | pdo-pgsql | odbc-mariadb | odbc-postgresql: the job of benchmarks/clients/README.md.

function pdo(string $place, bool $emulate): int {
    $db = new PDO($place, 'lab', 'labpw', [PDO::ATTR_EMULATE_PREPARES => $emulate, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $authors = $db->query('select id, name from authors order by id')->fetchAll();
    $rows = count($authors);
    foreach ($authors as $author) { // as every tutorial has it: prepared where it is used
        $books = $db->prepare('select id, title from books where author_id = ?');
        $books->execute([$author['id']]);
        $rows += count($books->fetchAll());
    }
    $one = $db->prepare('select title, price from books where id = ?');
    for ($id = 1; $id <= 10; $id++) {
        $one->execute([$id]);
        $rows += count($one->fetchAll());
    }
    $db->beginTransaction();
    $update = $db->prepare('update books set price = price + 1 where id = ?');
    for ($id = 1; $id <= 3; $id++) $update->execute([$id]);
    $db->commit();
    try {
        $db->query('select nothing from nowhere');
        exit(1);
    } catch (PDOException) {
    }
    return $rows + count($db->query('select id, title from books order by id')->fetchAll());
}

function mysqli_job(): int {
    $db = new mysqli('10.77.0.2', 'lab', 'labpw', 'lab');
    $authors = $db->query('select id, name from authors order by id')->fetch_all();
    $rows = count($authors);
    foreach ($authors as [$author]) $rows += count($db->query("select id, title from books where author_id = $author")->fetch_all());
    for ($id = 1; $id <= 10; $id++) $rows += count($db->execute_query('select title, price from books where id = ?', [$id])->fetch_all());
    $db->begin_transaction();
    for ($id = 1; $id <= 3; $id++) $db->execute_query('update books set price = price + 1 where id = ?', [$id]);
    $db->commit();
    try {
        $db->query('select nothing from nowhere');
        exit(1);
    } catch (mysqli_sql_exception) {
    }
    $rows += count($db->query('select id, title from books order by id', MYSQLI_USE_RESULT)->fetch_all());
    $db->close();
    return $rows;
}

function odbc(string $place): int {
    $db = odbc_connect("$place;Server=10.77.0.2;Database=lab;UID=lab;PWD=labpw", '', '');
    $count = function ($result) {
        for ($rows = 0; odbc_fetch_row($result); $rows++);
        return $rows;
    };
    $authors = [];
    for ($list = odbc_exec($db, 'select id, name from authors order by id'); odbc_fetch_row($list);) $authors[] = (int) odbc_result($list, 1);
    $rows = count($authors);
    $books = odbc_prepare($db, 'select id, title from books where author_id = ?');
    foreach ($authors as $author) {
        odbc_execute($books, [$author]);
        $rows += $count($books);
    }
    for ($id = 1; $id <= 10; $id++) {
        $one = odbc_prepare($db, 'select title, price from books where id = ?');
        odbc_execute($one, [$id]);
        $rows += $count($one);
        odbc_free_result($one);
    }
    odbc_autocommit($db, false);
    for ($id = 1; $id <= 3; $id++) odbc_exec($db, "update books set price = price + 1 where id = $id");
    odbc_commit($db);
    odbc_autocommit($db, true);
    if (@odbc_exec($db, 'select nothing from nowhere')) exit(1);
    $rows += $count(odbc_exec($db, 'select id, title from books order by id'));
    odbc_close($db);
    return $rows;
}

$rows = match ($argv[1]) {
    'mysqli' => mysqli_job(),
    'pdo-mysql' => pdo('mysql:host=10.77.0.2;dbname=lab', false),
    'pdo-pgsql' => pdo('pgsql:host=10.77.0.2;dbname=lab', false),
    'odbc-mariadb' => odbc('Driver={MariaDB Unicode}'),
    'odbc-postgresql' => odbc('Driver={PostgreSQL Unicode};UseServerSidePrepare=1;UseDeclareFetch=1;Fetch=100'),
};
$client = $argv[1] . ' of PHP ' . PHP_VERSION;
echo json_encode(['client' => $client, 'rows' => $rows, 'errors' => 1]), "\n";

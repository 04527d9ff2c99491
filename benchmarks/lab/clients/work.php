<?php // php work.php DRIVER SHAPE N [parameter=value…]: one workload of the lab, with the dialogue of ../workloads.py.

[, $driver, $shape, $n] = $argv;
$given = [];
foreach (array_slice($argv, 4) as $word) {
    [$name, $value] = explode('=', $word);
    $given[$name] = (int) $value;
}
$run = ['client' => "$driver of PHP " . PHP_VERSION, 'statements' => 0, 'rows' => 0];
$salaries = 'SELECT salary, from_date FROM salaries WHERE emp_no = ? LIMIT ' . ($given['rows'] ?? 1);

/** One way to ask for each extension: `text` as it stands, `bound` prepared for this one execution. */
abstract class Client {
    abstract public function text(string $sql): array;
    abstract public function bound(string $sql, array $values): array;
    public function ask(string $sql, array $values = []): void {
        global $run;
        $rows = $values ? $this->bound($sql, $values) : $this->text($sql);
        $run['statements']++;
        $run['rows'] += count($rows);
    }
    public function written(string $sql, int $key): void { $this->ask(str_replace('?', (string) $key, $sql)); }
}

class Mysqli_ extends Client {
    private mysqli $db;
    public function __construct(int $flags = 0) {
        $this->db = mysqli_init();
        $this->db->real_connect('10.77.0.2', 'lab', 'labpw', 'lab', 3306, null, $flags);
    }
    public function text(string $sql): array {
        $result = $this->db->query($sql);
        return is_bool($result) ? [] : $result->fetch_all();
    }
    public function bound(string $sql, array $values): array { return $this->db->execute_query($sql, $values)->fetch_all(); }
    public function __destruct() { $this->db->close(); }
}

class Pdo_ extends Client {
    private ?PDO $db;
    public function __construct(string $place) { $this->db = new PDO($place, 'lab', 'labpw', [PDO::ATTR_EMULATE_PREPARES => false]); }
    public function text(string $sql): array { return $this->db->query($sql)->fetchAll(PDO::FETCH_NUM); }
    public function bound(string $sql, array $values): array {
        $statement = $this->db->prepare($sql);
        $statement->execute($values);
        return $statement->fetchAll(PDO::FETCH_NUM);
    }
}

$connect = match ($driver) {
    'mysqli' => fn() => new Mysqli_(),
    'compressed' => fn() => new Mysqli_(MYSQLI_CLIENT_COMPRESS),
    'pdo-mysql' => fn() => new Pdo_('mysql:host=10.77.0.2;dbname=lab'),
    'pdo-pgsql' => fn() => new Pdo_('pgsql:host=10.77.0.2;dbname=lab;sslmode=disable;gssencmode=disable'),
};

$shapes = [
    'nplus1' => function () use ($connect, $n, $salaries) {
        $db = $connect();
        for ($key = 1; $key <= $n; $key++) $db->written($salaries, $key);
    },
    'prepared_each' => function () use ($connect, $n, $salaries) {
        $db = $connect();
        for ($key = 1; $key <= $n; $key++) $db->ask($salaries, [$key]);
    },
    'thinking' => function () use ($connect, $n, $salaries, $given) {
        $db = $connect();
        for ($key = 1; $key <= $n; $key++) {
            $db->written($salaries, $key);
            usleep(1000 * $given['think']);
        }
    },
    'transactions' => function () use ($connect, $n) {
        $db = $connect();
        for ($key = 1; $key <= $n; $key++) {
            $db->ask('BEGIN');
            $db->ask("UPDATE acc SET bal = bal + 1 WHERE id = $key");
            $db->ask('COMMIT');
        }
    },
    // As PHP does by default: a connection for every page of `side` queries.
    'pages' => function () use ($connect, $n, $salaries, $given) {
        for ($page = 1; $page <= $n; $page++) {
            $db = $connect();
            for ($i = 0; $i < $given['side']; $i++) $db->written($salaries, $page * 10 + $i);
            unset($db);
        }
    },
    'bulk' => function () use ($connect, $n) {
        $connect()->ask("SELECT * FROM big WHERE id <= $n");
    },
];

echo "READY\n";
fgets(STDIN);
$begin = hrtime(true);
$shapes[$shape]();
$seconds = (hrtime(true) - $begin) / 1e9;
echo json_encode($run + ['seconds' => $seconds, 'total' => $seconds]), "\n";

# N+1 through DBD::mysql with a statement that is prepared once at the server: dbd_mysql.pl HOST N. Prints its counts.
use strict;
use warnings;
use DBI;

my ($host, $n) = @ARGV;
my $database = DBI->connect("DBI:mysql:database=lab;host=$host", 'lab', 'labpw', {mysql_server_prepare => 1, RaiseError => 1});
my $keys = $database->selectcol_arrayref("SELECT emp_no FROM employees ORDER BY emp_no LIMIT $n");
my $salaries = $database->prepare('SELECT salary, from_date FROM salaries WHERE emp_no = ?');
my $rows = @$keys;
for my $key (@$keys) {
    $salaries->execute($key);
    $rows += @{$salaries->fetchall_arrayref};
}
$salaries->finish;
$database->disconnect;
printf "{\"statements\": %d, \"rows\": %d}\n", 1 + @$keys, $rows;

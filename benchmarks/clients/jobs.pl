# perl jobs.pl dbd-mysql | dbd-mariadb | dbd-pg: the job of benchmarks/clients/README.md.
use strict;
use warnings;
use DBI;

my %places = (
    'dbd-mysql'   => ['dbi:mysql:database=lab;host=10.77.0.2', { mysql_server_prepare => 1 }],
    'dbd-mariadb' => ['dbi:MariaDB:database=lab;host=10.77.0.2', { mariadb_server_prepare => 1 }],
    'dbd-pg'      => ['dbi:Pg:dbname=lab;host=10.77.0.2', { pg_server_prepare => 1 }],
);
my ($place, $options) = @{ $places{ $ARGV[0] } };
my $db = DBI->connect($place, 'lab', 'labpw', { %$options, RaiseError => 1, PrintError => 0, AutoCommit => 1 });

sub rows_of {
    my ($statement, @values) = @_;
    $statement->execute(@values);
    return scalar @{ $statement->fetchall_arrayref };
}

my $authors = $db->selectall_arrayref('select id, name from authors order by id');
my $rows    = @$authors;
my $books   = $db->prepare('select id, title from books where author_id = ?');
$rows += rows_of($books, $_->[0]) for @$authors;
$rows += rows_of($db->prepare('select title, price from books where id = ?'), $_) for 1 .. 10;
$db->begin_work;
$db->do('update books set price = price + 1 where id = ?', undef, $_) for 1 .. 3;
$db->commit;
die 'an error was expected' if eval { $db->do('select nothing from nowhere'); 1 };
$rows += rows_of($db->prepare('select id, title from books order by id'));
undef $books;
$db->disconnect;
my $driver = "DBD::$db->{Driver}{Name}";
print qq({"client": "$driver @{[ $driver->VERSION ]}", "rows": $rows, "errors": 1}\n);

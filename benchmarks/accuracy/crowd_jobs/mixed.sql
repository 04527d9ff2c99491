\set aid random(1, 100000)
\set r random(1, 4000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT count(*) FROM generate_series(1, :r);

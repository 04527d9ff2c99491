SELECT count(*) FROM generate_series(1, 20000);

-- Accounts, tables and rows of the MySQL workloads. Throw-away passwords: the server listens inside a network namespace only.
set sql_log_bin = 0;
create database if not exists lab;
use lab;
create or replace user lab@'%' identified by 'labpw';
grant all on *.* to lab@'%';
create or replace user ed@'%' identified via ed25519 using password('edpw');
grant all on lab.* to ed@'%';
create or replace table employees(emp_no int primary key, first_name varchar(14), last_name varchar(16), hire_date date);
create or replace table salaries(emp_no int, salary int, from_date date, to_date date, primary key(emp_no, from_date));
create or replace table big(id int primary key, payload varchar(1000));
create or replace table acc(id int primary key, bal int);
create or replace table blobs(id int primary key auto_increment, body longblob);
insert into employees select seq, concat('First', seq % 97), concat('Last', seq % 499), date_add('1985-01-01', interval seq % 5000 day) from seq_1_to_20000;
insert into salaries select e.seq, 40000 + (e.seq * 37 + y.seq * 1000) % 60000, date_add('1990-01-01', interval y.seq year), date_add('1991-01-01', interval y.seq year) from seq_1_to_20000 e, seq_0_to_8 y;
insert into big select seq, rpad(concat('row ', seq, ' '), 960, 'the quick brown fox jumps over the lazy dog ') from seq_1_to_20000;
insert into acc select seq, 0 from seq_1_to_1000;
delimiter //
create or replace procedure two_results(low int) begin
  select emp_no, first_name from employees where emp_no between low and low + 2;
  select emp_no, salary from salaries where emp_no = low;
end //
delimiter ;
analyze table employees, salaries, big, acc;

-- The same as load.sql for Oracle's MySQL, which has no sequences and no CREATE OR REPLACE TABLE. Run once, on a new server.
create database lab;
use lab;
create user lab@'%' identified by 'labpw';
grant all on *.* to lab@'%';
create user other@'%' identified by 'otherpw';
grant all on lab.* to other@'%';
create table employees(emp_no int primary key, first_name varchar(14), last_name varchar(16), hire_date date);
create table salaries(emp_no int, salary int, from_date date, to_date date, primary key(emp_no, from_date));
create table big(id int primary key, payload varchar(1000));
create table acc(id int primary key, bal int);
create table loaded(id int, line varchar(100));
set cte_max_recursion_depth = 20000;
create temporary table numbers with recursive s(seq) as (select 1 union all select seq + 1 from s where seq < 20000) select seq from s;
insert into employees select seq, concat('First', seq % 97), concat('Last', seq % 499), date_add('1985-01-01', interval seq % 5000 day) from numbers;
insert into salaries select seq, 40000 + (seq * 37 + y * 1000) % 60000, date_add('1990-01-01', interval y year), date_add('1991-01-01', interval y year)
  from numbers, (values row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7), row(8)) years(y);
insert into big select seq, rpad(concat('row ', seq, ' '), 960, 'the quick brown fox jumps over the lazy dog ') from numbers;
insert into acc select seq, 0 from numbers where seq <= 1000;
delimiter //
create procedure two_results(low int) begin
  select emp_no, first_name from employees where emp_no between low and low + 2;
  select emp_no, salary from salaries where emp_no = low;
end //
create procedure best_salary(who int, out best int, out years int) begin
  select max(salary), count(*) into best, years from salaries where emp_no = who;
end //
create procedure all_of_it(who int, out best int, out years int) begin
  call best_salary(who, best, years);
  call two_results(who);
end //
delimiter ;
analyze table employees, salaries, big, acc;

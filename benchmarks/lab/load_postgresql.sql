drop database if exists lab; create database lab;
\c lab
create user trusty password 'labpw'; create user plain password 'labpw';
set password_encryption=md5; create user md5user password 'labpw';
create table employees(emp_no int primary key, first_name varchar(14), last_name varchar(16), hire_date date);
create table salaries(emp_no int, salary int, from_date date, to_date date, primary key(emp_no, from_date));
create table big(id int primary key, payload varchar(1000));
create table acc(id int primary key, bal int);
create table copyin(id int, payload text);
insert into employees select s, 'First'||s%97, 'Last'||s%499, date '1985-01-01'+s%5000 from generate_series(1,2000) s;
insert into salaries select e, 40000+(e*37+y*1000)%60000, date '1990-01-01'+365*y, date '1991-01-01'+365*y from generate_series(1,2000) e, generate_series(0,8) y;
insert into big select s, left('row '||s||' '||repeat('the quick brown fox jumps over the lazy dog ',25),960) from generate_series(1,20000) s;
insert into acc select s,0 from generate_series(1,1000) s;
create function add(int, int) returns int language sql as 'select $1+$2';
grant all on all tables in schema public to public; grant all on schema public to public;
vacuum analyze;

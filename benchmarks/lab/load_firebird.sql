create table employees(emp_no int not null primary key, first_name varchar(14), last_name varchar(16), hire_date date);
create table salaries(emp_no int not null, salary int, from_date date not null, to_date date, primary key(emp_no, from_date));
create table big(id int not null primary key, payload varchar(1000));
create table docs(id int not null primary key, name varchar(40), body blob sub_type text);
create table acc(id int not null primary key, bal int);
commit;
set term ^;
execute block as declare i int = 1; declare y int; declare s varchar(1100) = ''; begin
  while (i <= 25) do begin s = s || 'the quick brown fox jumps over the lazy dog '; i = i + 1; end
  i = 1;
  while (i <= 20000) do begin
    insert into big values (:i, left('row ' || :i || ' ' || :s, 960));
    if (i <= 2000) then begin
      insert into employees values (:i, 'First' || mod(:i, 97), 'Last' || mod(:i, 499), dateadd(mod(:i, 5000) day to date '1985-01-01'));
      insert into docs values (:i, 'doc ' || :i, left('doc ' || :i || ' ' || :s, 700));
      y = 0;
      while (y < 9) do begin
        insert into salaries values (:i, 40000 + mod(:i * 37 + :y * 1000, 60000), dateadd(:y year to date '1990-01-01'), dateadd(:y year to date '1991-01-01'));
        y = y + 1;
      end
    end
    if (i <= 1000) then insert into acc values (:i, 0);
    i = i + 1;
  end
end^
set term ;^
commit;

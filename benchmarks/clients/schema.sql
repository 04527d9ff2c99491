-- 40 authors with 10 books each, on both servers.
drop table if exists books;
drop table if exists authors;
create table authors(id int primary key, name varchar(20));
create table books(id int primary key, author_id int references authors(id), title varchar(30), price int);
insert into authors with recursive n(i) as (select 1 union all select i + 1 from n where i < 40) select i, concat('Author ', i) from n;
insert into books with recursive n(i) as (select 1 union all select i + 1 from n where i < 400) select i, floor((i + 9) / 10), concat('Book ', i), 10 + mod(i, 7) from n;
create index book_author on books(author_id);

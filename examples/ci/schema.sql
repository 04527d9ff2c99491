create table invoice (id int primary key, customer varchar(40) not null);
create table item (invoice int not null, text varchar(40) not null, cents int not null, key (invoice));
insert into invoice select seq, concat('customer ', seq % 7) from seq_1_to_40;
insert into item select seq % 40 + 1, concat('thing ', seq), 100 + seq * 7 % 900 from seq_1_to_160;

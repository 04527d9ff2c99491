{ jobs mysql | postgresql: the job of benchmarks/clients/README.md with Free Pascal's SQLdb. }
program jobs;

{$mode objfpc}{$H+}

uses
  SysUtils, sqldb, db, mysql57dyn, mysql57conn, pqconnection;

var
  connection: TSQLConnection;
  transaction: TSQLTransaction;
  list, books: TSQLQuery;
  rows, id: integer;

function Query(const text: string): TSQLQuery;
begin
  Query := TSQLQuery.Create(nil);
  Query.DataBase := connection;
  Query.Transaction := transaction;
  Query.UsePrimaryKeyAsKey := false;
  Query.SQL.Text := text;
end;

function Read(opened: TSQLQuery): integer;
begin
  Read := 0;
  opened.Open;
  while not opened.EOF do begin
    Inc(Read);
    opened.Next;
  end;
  opened.Close;
end;

procedure Fail;
begin
  try
    Query('select nothing from nowhere').Open;
  except
    on EDatabaseError do exit;
  end;
  raise Exception.Create('an error was expected');
end;

begin
  if ParamStr(1) = 'mysql' then begin
    InitialiseMySQL('libmariadb.so.3');
    connection := TMySQL57Connection.Create(nil);
    TMySQL57Connection(connection).SkipLibraryVersionCheck := true;
  end else
    connection := TPQConnection.Create(nil);
  transaction := TSQLTransaction.Create(nil);
  connection.HostName := '10.77.0.2';
  connection.DatabaseName := 'lab';
  connection.UserName := 'lab';
  connection.Password := 'labpw';
  connection.Transaction := transaction;
  connection.Open;
  transaction.StartTransaction;

  rows := 0;
  list := Query('select id, name from authors order by id');
  books := Query('select id, title from books where author_id = :author');
  books.Prepare;
  list.Open;
  while not list.EOF do begin
    Inc(rows);
    books.Params[0].AsInteger := list.Fields[0].AsInteger;
    rows := rows + Read(books);
    list.Next;
  end;
  list.Close;
  books.UnPrepare;
  for id := 1 to 10 do begin { prepared for each execution }
    books := Query('select title, price from books where id = :id');
    books.Params[0].AsInteger := id;
    rows := rows + Read(books);
    books.Free;
  end;
  transaction.Commit;
  transaction.StartTransaction;
  for id := 1 to 3 do begin
    books := Query('update books set price = price + 1 where id = :id');
    books.Params[0].AsInteger := id;
    books.ExecSQL;
    books.Free;
  end;
  transaction.Commit;
  transaction.StartTransaction;
  Fail;
  transaction.Rollback;
  transaction.StartTransaction;
  rows := rows + Read(Query('select id, title from books order by id'));
  transaction.Commit;
  connection.Close;
  WriteLn('{"client": "SQLdb of Free Pascal ', {$I %FPCVERSION%}, '", "rows": ', rows, ', "errors": 1}');
end.

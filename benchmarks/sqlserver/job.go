package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "github.com/microsoft/go-mssqldb"
)

var rows, affected int

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func all(r *sql.Rows, err error) {
	check(err)
	for r.Next() {
		rows++
	}
	check(r.Err())
}

func count(r sql.Result, err error) {
	check(err)
	n, _ := r.RowsAffected()
	affected += int(n)
}

func main() {
	db, err := sql.Open("sqlserver", os.Args[1])
	check(err)
	db.SetMaxOpenConns(1)
	all(db.Query("select id from order_ids"))
	for i := 0; i < 50; i++ {
		all(db.Query("select id, name from items where id = @p1", i))
	}
	st, err := db.Prepare("insert into items (id, name) values (@p1, @p2)")
	check(err)
	for i := 0; i < 10; i++ {
		count(st.Exec(i, "name"))
	}
	check(st.Close())
	tx, err := db.Begin()
	check(err)
	count(tx.Exec("update items set name = 'x' where id = @p1", 7))
	check(tx.Commit())
	all(db.Query("select id, doc from wide_table"))
	check(db.Close())
	fmt.Println(rows, affected)
}

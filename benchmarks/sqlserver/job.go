// One workload by go-mssqldb, or by GORM on it: `job CLIENT WORKLOAD URL`; prints rows and changes.
package main

import (
	"database/sql"
	"fmt"
	"os"

	mssql "github.com/microsoft/go-mssqldb"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
)

const one, insert = "select id, name from items where id = @p1", "insert into items (id, name) values (@p1, @p2)"

var rows, changes int

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
	changes += int(n)
}

func open(url string) *sql.DB {
	db, err := sql.Open("sqlserver", url)
	check(err)
	db.SetMaxOpenConns(1)
	return db
}

func prepare(db *sql.DB, text string) *sql.Stmt {
	st, err := db.Prepare(text)
	check(err)
	return st
}

func transactions(db *sql.DB) {
	for id := 0; id < 10; id++ {
		tx, err := db.Begin()
		check(err)
		count(tx.Exec(insert, id, "name"))
		count(tx.Exec("update items set name = 'x' where id = 7"))
		if id == 7 {
			check(tx.Rollback())
		} else {
			check(tx.Commit())
		}
	}
}

func bulk(db *sql.DB) {
	st := prepare(db, mssql.CopyIn("items", mssql.BulkOptions{}, "id", "name"))
	for id := 0; id < 200; id++ {
		_, err := st.Exec(id, "name")
		check(err)
	}
	count(st.Exec())
	check(st.Close())
}

type Item struct {
	ID   int
	Name *string
}

func mapped(db *sql.DB) {
	orm, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: db}), &gorm.Config{})
	check(err)
	for id := 0; id < 50; id++ {
		var found []Item
		check(orm.Where("id = ?", id).Find(&found).Error)
		rows += len(found)
		check(orm.Model(&Item{}).Where("id = ?", id).Update("name", "x").Error)
		changes++
	}
}

func main() {
	client, workload, url := os.Args[1], os.Args[2], os.Args[3]
	db := open(url)
	switch {
	case client == "gorm":
		mapped(db)
	case workload == "n_plus_one":
		all(db.Query("select id from order_ids"))
		for id := 0; id < 50; id++ {
			all(db.Query(one, id))
		}
	case workload == "prepared":
		p, i := prepare(db, one), prepare(db, insert)
		for id := 0; id < 50; id++ {
			all(p.Query(id))
			count(i.Exec(id, "name"))
		}
		check(p.Close())
		check(i.Close())
	case workload == "cursor_fetch":
		all(db.Query("select id, name from big_table"))
		all(db.Query("select id, doc from wide_table"))
	case workload == "bulk":
		bulk(db)
	case workload == "transactions":
		transactions(db)
	case workload == "connect_per_query":
		check(db.Close())
		for id := 0; id < 10; id++ {
			db = open(url)
			all(db.Query(one, id))
			check(db.Close())
		}
	}
	check(db.Close())
	fmt.Println(rows, changes)
}

// One workload by go-mssqldb, or by GORM on it: `job CLIENT WORKLOAD URL`; prints rows and changes.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

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

// How GORM asks the same.
type mapper struct{ *gorm.DB }

func mapped(url string, prepares bool) mapper {
	orm, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: open(url)}), &gorm.Config{PrepareStmt: prepares})
	check(err)
	return mapper{orm}
}

func (orm mapper) find(id int) {
	var found []Item
	check(orm.Where("id = ?", id).Find(&found).Error)
	rows += len(found)
}

func (orm mapper) update(tx *gorm.DB, id int) {
	done := tx.Model(&Item{}).Where("id = ?", id).Update("name", "x")
	check(done.Error)
	changes += int(done.RowsAffected)
}

func (orm mapper) transaction(id int) {
	back := errors.New("rolled back")
	err := orm.Transaction(func(tx *gorm.DB) error {
		orm.update(tx, id)
		orm.update(tx, 7)
		if id == 7 {
			return back
		}
		return nil
	})
	if err != back {
		check(err)
	}
}

func (orm mapper) batch() {
	name, items := "name", make([]Item, 30)
	for id := range items {
		items[id] = Item{ID: id + 1, Name: &name}
	}
	check(orm.Create(items).Error)
	changes += len(items)
}

func (orm mapper) end() {
	db, err := orm.DB.DB()
	check(err)
	check(db.Close())
}

func byMapper(workload, url string) {
	if workload == "connect_per_query" {
		for id := 0; id < 10; id++ {
			orm := mapped(url, false)
			orm.find(id)
			orm.end()
		}
		return
	}
	orm := mapped(url, workload == "prepared")
	defer orm.end()
	switch workload {
	case "n_plus_one", "prepared":
		for id := 0; id < 50; id++ {
			orm.find(id)
			orm.update(orm.DB, id)
		}
	case "cursor_fetch":
		all(orm.Table("big_table").Rows())
		all(orm.Table("wide_table").Rows())
	case "batch":
		orm.batch()
	case "transactions":
		for id := 0; id < 10; id++ {
			orm.transaction(id)
		}
	}
}

func byDriver(workload, url string) {
	db := open(url)
	switch workload {
	case "n_plus_one":
		all(db.Query("select id from order_ids"))
		for id := 0; id < 50; id++ {
			all(db.Query(one, id))
		}
	case "prepared":
		p, i := prepare(db, one), prepare(db, insert)
		for id := 0; id < 50; id++ {
			all(p.Query(id))
			count(i.Exec(id, "name"))
		}
		check(p.Close())
		check(i.Close())
	case "cursor_fetch":
		all(db.Query("select id, name from big_table"))
		all(db.Query("select id, doc from wide_table"))
	case "batch":
		count(db.Exec(strings.Repeat("insert into items (id, name) values (1, 'name');", 30)))
	case "bulk":
		bulk(db)
	case "transactions":
		transactions(db)
	case "connect_per_query":
		check(db.Close())
		for id := 0; id < 10; id++ {
			db = open(url)
			all(db.Query(one, id))
			check(db.Close())
		}
	}
	check(db.Close())
}

func main() {
	client, workload, url := os.Args[1], os.Args[2], os.Args[3]
	if client == "gorm" {
		byMapper(workload, url)
	} else {
		byDriver(workload, url)
	}
	fmt.Println(rows, changes)
}

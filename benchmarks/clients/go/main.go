// Command jobs does the job of benchmarks/clients/README.md: jobs go-sql-driver | lib-pq | gorm-mysql | gorm-postgresql.
package main

import (
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"runtime/debug"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/lib/pq"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

var (
	host            = cmp.Or(os.Getenv("LATPCAP_HOST"), "10.77.0.2")
	mysqlPlace      = "lab:labpw@tcp(" + host + ":3306)/lab"
	postgresqlPlace = "postgres://lab:labpw@" + host + ":5432/lab?sslmode=disable"
)

type Author struct {
	ID    int
	Name  string
	Books []Book
}

type Book struct {
	ID       int
	AuthorID int
	Title    string
	Price    int
}

func main() {
	var rows int
	switch client := os.Args[1]; client {
	case "go-sql-driver":
		rows = plain("mysql", mysqlPlace, "?")
	case "lib-pq":
		rows = plain("postgres", postgresqlPlace, "$1")
	case "gorm-mysql":
		rows = mapped(mysql.Open(mysqlPlace))
	case "gorm-postgresql":
		rows = mapped(postgres.Open(postgresqlPlace))
	default:
		panic("no client " + client)
	}
	fmt.Printf("{\"client\": \"%s\", \"rows\": %d, \"errors\": 1}\n", version(modules[os.Args[1]]), rows)
}

// With arguments database/sql prepares, executes and closes a statement for each query, unless it was prepared before.
func plain(driver, place, one string) int {
	db, err := sql.Open(driver, place)
	must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var authors []int
	list, err := db.Query("select id, name from authors order by id")
	must(err)
	for list.Next() {
		var id int
		var name string
		must(list.Scan(&id, &name))
		authors = append(authors, id)
	}
	rows := len(authors)
	for _, author := range authors {
		rows += read(db.Query("select id, title from books where author_id = "+one, author))
	}
	prepared, err := db.Prepare("select title, price from books where id = " + one)
	must(err)
	for id := 1; id <= 10; id++ {
		rows += read(prepared.Query(id))
	}
	must(prepared.Close())
	change, err := db.Begin()
	must(err)
	for id := 1; id <= 3; id++ {
		_, err = change.Exec("update books set price = price + 1 where id = "+one, id)
		must(err)
	}
	must(change.Commit())
	if _, err = db.Query("select nothing from nowhere"); err == nil {
		panic("an error was expected")
	}
	return rows + read(db.Query("select id, title from books order by id"))
}

// The object mapper: a query for each author's books, the same with Preload, a savepoint inside the transaction.
func mapped(dialector gorm.Dialector) int {
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	must(err)
	pool, err := db.DB()
	must(err)
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	var authors []Author
	must(db.Order("id").Find(&authors).Error)
	rows := len(authors)
	for _, author := range authors {
		must(db.Model(&author).Association("Books").Find(&author.Books))
		rows += len(author.Books)
	}
	for id := 1; id <= 10; id++ {
		var book Book
		must(db.First(&book, id).Error)
		rows++
	}
	must(db.Transaction(func(outer *gorm.DB) error {
		for id := 1; id <= 3; id++ {
			must(outer.Transaction(func(inner *gorm.DB) error {
				return inner.Model(&Book{ID: id}).Update("price", gorm.Expr("price + 1")).Error
			}))
		}
		return nil
	}))
	if db.Exec("select nothing from nowhere").Error == nil {
		panic("an error was expected")
	}
	var loaded []Author
	must(db.Preload("Books").Find(&loaded).Error)
	for _, author := range loaded {
		rows += 1 + len(author.Books)
	}
	return rows
}

func read(rows *sql.Rows, err error) int {
	must(err)
	defer rows.Close()
	count := 0
	for rows.Next() {
		count++
	}
	must(rows.Err())
	return count
}

var modules = map[string]string{
	"go-sql-driver":   "github.com/go-sql-driver/mysql",
	"lib-pq":          "github.com/lib/pq",
	"gorm-mysql":      "gorm.io/gorm",
	"gorm-postgresql": "gorm.io/gorm",
}

func version(module string) string {
	build, _ := debug.ReadBuildInfo()
	for _, used := range build.Deps {
		if used.Path == module {
			return module + " " + used.Version
		}
	}
	return module
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

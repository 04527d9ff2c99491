// Command job does the job of this folder's README: job go-sql-driver | pgx, clear or encrypted as the environment says: TLS,
// CIPHER (a TLS 1.2 suite in Go's words), SESSIONS (that many connections one after the other, which resume the first one's session).
//
// Go has no setting for a key log: the program gives its tls.Config a KeyLogWriter, here a file that SSLKEYLOGFILE names.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

var host = cmp.Or(os.Getenv("LATPCAP_HOST"), "10.77.0.2")

func main() {
	connect, mark := connectors[os.Args[1]](config())
	sessions, _ := strconv.Atoi(cmp.Or(os.Getenv("SESSIONS"), "1"))
	rows := 0
	for range sessions {
		rows += work(connect(), mark)
	}
	fmt.Printf("{\"client\": \"%s, %s\", \"statements\": %d, \"rows\": %d, \"errors\": %d}\n",
		version(modules[os.Args[1]]), runtime.Version(), 25*sessions, rows, sessions)
}

var modules = map[string]string{"go-sql-driver": "github.com/go-sql-driver/mysql", "pgx": "github.com/jackc/pgx/v5"}

var connectors = map[string]func(*tls.Config) (func() *sql.DB, string){
	"go-sql-driver": func(config *tls.Config) (func() *sql.DB, string) {
		place := "lab:labpw@tcp(" + host + ":3306)/lab"
		if config != nil {
			must(mysql.RegisterTLSConfig("logged", config))
			place += "?tls=logged"
		}
		return func() *sql.DB { return opened("mysql", place) }, "?"
	},
	"pgx": func(config *tls.Config) (func() *sql.DB, string) {
		place, err := pgx.ParseConfig("postgres://lab:labpw@" + host + ":5432/lab?sslmode=disable" + os.Getenv("MORE"))
		must(err)
		place.TLSConfig = config
		return func() *sql.DB { return opened("pgx", stdlib.RegisterConnConfig(place)) }, "$1"
	},
}

func opened(driver, place string) *sql.DB {
	db, err := sql.Open(driver, place)
	must(err)
	db.SetMaxOpenConns(1)
	return db
}

func config() *tls.Config {
	version := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[os.Getenv("TLS")]
	if version == 0 {
		return nil
	}
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if suite.Name == os.Getenv("CIPHER") {
			config.CipherSuites = []uint16{suite.ID}
		}
	}
	if name := os.Getenv("SSLKEYLOGFILE"); name != "" {
		log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(err)
		config.KeyLogWriter = log
	}
	return config
}

// With arguments database/sql prepares, executes and closes a statement for each query, unless it was prepared before.
func work(db *sql.DB, mark string) int {
	defer db.Close()
	rows := 0
	for key := 1; key <= 20; key++ {
		rows += read(db.Query("SELECT emp_no, salary FROM salaries WHERE emp_no = "+mark, key))
	}
	rows += read(db.Query("SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300"))
	one, err := db.PrepareContext(context.Background(), "SELECT first_name FROM employees WHERE emp_no = "+mark)
	must(err)
	for key := 1; key <= 3; key++ {
		rows += read(one.Query(key))
	}
	must(one.Close())
	if _, err = db.Query("SELECT nothing FROM nowhere"); err == nil {
		panic("an error was expected")
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

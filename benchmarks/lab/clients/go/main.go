// Command work does one workload of the lab: work DRIVER SHAPE N [parameter=value…], with the dialogue of ../../workloads.py.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

const postgresqlPlace = "postgres://lab:labpw@10.77.0.2:5432/lab?sslmode=disable"

var (
	begin      time.Time
	parameters = map[string]int{}
	statements atomic.Int64
	received   atomic.Int64
	one        = "?"
	driver     = "mysql"
	place      = "lab:labpw@tcp(10.77.0.2:3306)/lab"
	module     = "github.com/go-sql-driver/mysql"
)

var shapes = map[string]func(n int){
	"nplus1": nplus1, "prepared": prepared, "transactions": transactions, "connect_each": connectEach, "pool": pool, "bulk": bulk,
	"ticker": ticker, "prefetch": prefetch, "web": web, "thinking": thinking, "upload": upload, "batches": batches,
	"notified":    notified,
	"crowd_point": crowd(point), "crowd_sum": crowd(sum), "crowd_hot": crowd(hot),
}

func main() {
	log.SetFlags(0)
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
	switch os.Args[1] {
	case "compressed":
		place += "?compress=true"
	case "interpolating":
		place += "?interpolateParams=true"
	case "pq":
		one, driver, place, module = "$1", "postgres", postgresqlPlace, "github.com/lib/pq"
	case "pgx":
		one, driver, place, module = "$1", "pgx", postgresqlPlace, "github.com/jackc/pgx/v5"
	}
	n := number(os.Args[3])
	for _, word := range os.Args[4:] {
		name, value, _ := strings.Cut(word, "=")
		parameters[name] = number(value)
	}
	if port, given := parameters["port"]; given {
		place = strings.Replace(place, ":5432", ":"+strconv.Itoa(port), 1)
	}
	fmt.Println("READY")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	begin = time.Now()
	shapes[os.Args[2]](n)
	seconds := time.Since(begin).Seconds()
	fmt.Printf("{\"client\": \"%s\", \"statements\": %d, \"rows\": %d, \"seconds\": %f, \"total\": %f}\n",
		version(), statements.Load(), received.Load(), seconds, seconds)
}

// ---------------------------------------------------------------- one after the other

// With an argument database/sql prepares, executes and closes a statement, unless the driver writes the value into the text.
func nplus1(n int) {
	db := open(1)
	defer db.Close()
	for key := range keys(db, n) {
		ask(db, key)
	}
}

func prepared(n int) {
	db := open(1)
	defer db.Close()
	statement, err := db.Prepare(salaries())
	must(err)
	for key := 1; key <= n; key++ {
		count(statement.Query(key))
	}
	must(statement.Close())
}

func thinking(n int) {
	db := open(1)
	defer db.Close()
	for key := 1; key <= n; key++ {
		ask(db, key)
		pause("think")
	}
}

func transactions(n int) {
	db := open(1)
	defer db.Close()
	for key := 1; key <= n; key++ {
		change, err := db.Begin()
		must(err)
		_, err = change.Exec("UPDATE acc SET bal = bal + 1 WHERE id = "+one, key)
		must(err)
		must(change.Commit())
		statements.Add(3)
	}
}

func connectEach(n int) {
	for key := 1; key <= n; key++ {
		db := open(1)
		ask(db, key)
		must(db.Close())
	}
}

// ---------------------------------------------------------------- much at once

func bulk(n int) {
	db := open(1)
	defer db.Close()
	count(db.Query("SELECT * FROM big WHERE id <= " + strconv.Itoa(n)))
}

// COPY of pgx or lib/pq; rows in statements of `batch` elsewhere.
func upload(n int) {
	switch driver {
	case "pgx":
		copyPgx(n)
	case "postgres":
		copyPq(n)
	default:
		insert(n)
	}
	received.Add(int64(n))
}

func copyPgx(n int) {
	at := context.Background()
	client, err := pgx.Connect(at, postgresqlPlace)
	must(err)
	defer client.Close(at)
	_, err = client.Exec(at, "CREATE TEMP TABLE taken (id int, payload text)")
	must(err)
	rows := pgx.CopyFromSlice(n, func(i int) ([]any, error) { return []any{i, text(i)}, nil })
	_, err = client.CopyFrom(at, pgx.Identifier{"taken"}, []string{"id", "payload"}, rows)
	must(err)
	statements.Add(2)
}

func copyPq(n int) {
	db := open(1)
	defer db.Close()
	change, err := db.Begin()
	must(err)
	_, err = change.Exec("CREATE TEMP TABLE taken (id int, payload text)")
	must(err)
	statement, err := change.Prepare(pq.CopyIn("taken", "id", "payload"))
	must(err)
	for i := range n {
		_, err = statement.Exec(i, text(i))
		must(err)
	}
	_, err = statement.Exec()
	must(err)
	must(statement.Close())
	must(change.Commit())
	statements.Add(4)
}

func insert(n int) {
	db := open(1)
	defer db.Close()
	_, err := db.Exec("CREATE TEMPORARY TABLE taken (id int, payload text)")
	must(err)
	for first := 0; first < n; first += parameters["batch"] {
		values := make([]string, min(parameters["batch"], n-first))
		for i := range values {
			values[i] = fmt.Sprintf("(%d, '%s')", first+i, text(first+i))
		}
		_, err = db.Exec("INSERT INTO taken VALUES " + strings.Join(values, ", "))
		must(err)
		statements.Add(1)
	}
}

// `batch` statements in one go; the client waits for all their answers.
func batches(n int) {
	at := context.Background()
	client, err := pgx.Connect(at, postgresqlPlace)
	must(err)
	defer client.Close(at)
	for first := 0; first < n; first += parameters["batch"] {
		together := &pgx.Batch{}
		for i := range min(parameters["batch"], n-first) {
			together.Queue(salaries(), first+i+1)
		}
		answers := client.SendBatch(at, together)
		for range together.Len() {
			rows, err := answers.Query()
			must(err)
			for rows.Next() {
				received.Add(1)
			}
			must(rows.Err())
		}
		must(answers.Close())
		statements.Add(int64(together.Len()))
	}
}

// ---------------------------------------------------------------- side by side

// `tasks` goroutines share `connections` connections.
func pool(n int) {
	db := open(parameters["connections"])
	defer db.Close()
	var next atomic.Int64
	side(parameters["tasks"], func(int) {
		for key := int(next.Add(1)); key <= n; key = int(next.Add(1)) {
			ask(db, key)
		}
	})
}

// One query, `side` at once, one more: n requests after each other.
func web(n int) {
	db := open(parameters["connections"])
	defer db.Close()
	for request := 1; request <= n; request++ {
		ask(db, request)
		side(parameters["side"], func(i int) { ask(db, request*10%1500+i+1) })
		ask(db, request)
		pause("think")
	}
}

// A query every `period` ms; a tick that falls into a query still running waits for it, a second one is dropped.
func ticker(n int) {
	db := open(1)
	defer db.Close()
	ask(db, 1)
	clock := time.NewTicker(time.Duration(parameters["period"]) * time.Millisecond)
	defer clock.Stop()
	for key := 1; key <= n; key++ {
		<-clock.C
		ask(db, key)
	}
}

// A reader stays at most `ahead` results before a worker who takes `work` ms for each.
func prefetch(n int) {
	db := open(1)
	defer db.Close()
	results := make(chan int, parameters["ahead"])
	go func() {
		for key := 1; key <= n; key++ {
			ask(db, key)
			results <- key
		}
		close(results)
	}()
	for range results {
		pause("work")
	}
}

// A listener is woken by a sender that works for `work` ms before each message; the listener then asks for the news.
func notified(n int) {
	at := context.Background()
	listener, err := pgx.Connect(at, postgresqlPlace)
	must(err)
	defer listener.Close(at)
	channel := fmt.Sprintf("news%d", os.Getpid())
	_, err = listener.Exec(at, "LISTEN "+channel)
	must(err)
	go func() {
		sender, err := pgx.Connect(at, postgresqlPlace)
		must(err)
		for range n {
			pause("work")
			_, err = sender.Exec(at, "NOTIFY "+channel+", 'one'")
			must(err)
		}
		must(sender.Close(at))
	}()
	for key := 1; key <= n; key++ {
		_, err = listener.WaitForNotification(at)
		must(err)
		rows, err := listener.Query(at, salaries(), key)
		must(err)
		for rows.Next() {
			received.Add(1)
		}
		must(rows.Err())
	}
	statements.Add(int64(2*n + 1))
}

// ---------------------------------------------------------------- what they share

func open(connections int) *sql.DB {
	db, err := sql.Open(driver, place)
	must(err)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func salaries() string {
	return fmt.Sprintf("SELECT salary, from_date FROM salaries WHERE emp_no = %s LIMIT %d", one, max(parameters["rows"], 1))
}

func keys(db *sql.DB, n int) map[int]bool {
	found, err := db.Query("SELECT emp_no FROM employees ORDER BY emp_no LIMIT " + strconv.Itoa(n))
	must(err)
	list := map[int]bool{}
	for found.Next() {
		var key int
		must(found.Scan(&key))
		list[key] = true
	}
	must(found.Err())
	statements.Add(1)
	received.Add(int64(len(list)))
	return list
}

func ask(db *sql.DB, key int) {
	count(db.Query(salaries(), key))
}

func count(rows *sql.Rows, err error) {
	must(err)
	for rows.Next() {
		received.Add(1)
	}
	must(rows.Err())
	must(rows.Close())
	statements.Add(1)
}

func side(tasks int, work func(int)) {
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() { work(i) })
	}
	all.Wait()
}

func pause(name string) {
	time.Sleep(time.Duration(parameters[name]) * time.Millisecond)
}

func text(i int) string {
	return fmt.Sprintf("%05d %s", i, strings.Repeat("the quick brown fox ", parameters["width"]))
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func version() string {
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

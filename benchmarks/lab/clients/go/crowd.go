package main

import (
	"context"
	"database/sql"
	"math/rand"
	"sync"
	"time"
)

// One of a crowd, with a connection of its own.
type client struct {
	*sql.Conn
	*rand.Rand
}

// crowd has n clients do the same again and again for so many seconds, from the moment on when all are connected.
func crowd(work func(client)) func(n int) {
	return func(n int) {
		db := open(n)
		defer db.Close()
		clients := make([]client, n)
		for i := range clients {
			connection, err := db.Conn(context.Background())
			must(err)
			clients[i] = client{connection, rand.New(rand.NewSource(int64(i)))}
		}
		length := time.Duration(parameters["seconds"]) * time.Second
		var together sync.WaitGroup
		begin = time.Now()
		for _, c := range clients {
			together.Go(func() {
				for time.Since(begin) < length {
					work(c)
				}
			})
		}
		together.Wait()
	}
}

func point(c client) { c.asks("SELECT * FROM crowd WHERE id = ", c.Intn(1000)) }

func sum(c client) { c.asks("SELECT SUM(n) FROM crowd WHERE id < ", 500+c.Intn(500)) }

// One of twenty rows is held over two more round trips.
func hot(c client) {
	c.changes("BEGIN")
	c.changes("UPDATE crowd SET n = n + 1 WHERE id = "+one, c.Intn(20))
	c.asks("SELECT n FROM crowd WHERE id = ", 100+c.Intn(900))
	c.changes("COMMIT")
}

func (c client) asks(text string, id int) { count(c.QueryContext(context.Background(), text+one, id)) }

func (c client) changes(text string, values ...any) {
	_, err := c.ExecContext(context.Background(), text, values...)
	must(err)
	statements.Add(1)
}

//! `work DRIVER SHAPE N [parameter=value…]`: one workload of the lab, with the dialogue of `../../workloads.py`.

use std::collections::HashMap;
use std::io::BufRead;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::{future::join_all, SinkExt, TryStreamExt};
use tokio::{sync::mpsc, time::sleep};
use tokio_postgres::{AsyncMessage, Client, NoTls};

const PLACE: &str = "lab:labpw@10.77.0.2";
static STATEMENTS: AtomicUsize = AtomicUsize::new(0);
static ROWS: AtomicUsize = AtomicUsize::new(0);
static GIVEN: OnceLock<HashMap<String, usize>> = OnceLock::new();
type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (driver, shape, n) = (words[0].as_str(), words[1].as_str(), words[2].parse()?);
    let given = words[3..].iter().filter_map(|word| word.split_once('=')).map(|(name, value)| (name.into(), value.parse().expect("a number")));
    GIVEN.set(given.collect()).expect("set once");
    println!("READY");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let begin = Instant::now();
    match driver {
        "tokio-postgres" => tokio_postgres_work(shape, n).await?,
        "sqlx-mysql" => sqlx_mysql_work(shape, n).await?,
        "sqlx-postgres" => sqlx_postgres_work(shape, n).await?,
        other => panic!("no driver {other}"),
    }
    let (seconds, package) = (begin.elapsed().as_secs_f64(), if driver == "tokio-postgres" { driver } else { "sqlx" });
    let (statements, rows, client) = (STATEMENTS.load(Relaxed), ROWS.load(Relaxed), version(package));
    println!(r#"{{"client": "{client}", "statements": {statements}, "rows": {rows}, "seconds": {seconds}, "total": {seconds}}}"#);
    Ok(())
}

async fn tokio_postgres_work(shape: &str, n: usize) -> Outcome {
    let (client, mut connection) = tokio_postgres::connect(&format!("postgres://{PLACE}/lab"), NoTls).await?;
    let (told, mut heard) = mpsc::unbounded_channel();
    let driving = tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                let _ = told.send(());
            }
        }
    });
    let sql = salaries("$1");
    match shape {
        // Text: the client prepares it anew for each execution, and closes it.
        "nplus1" => {
            for key in 1..=n as i32 {
                counted(client.query(&sql, &[&key]).await?.len());
            }
        }
        "prepared" => {
            let one = client.prepare(&sql).await?;
            for key in 1..=n as i32 {
                counted(client.query(&one, &[&key]).await?.len());
            }
        }
        // `batch` futures on one connection: sent without waiting for each other.
        "joined" => {
            let one = client.prepare(&sql).await?;
            for first in (1..=n).step_by(given("batch")) {
                let keys: Vec<i32> = (first..(first + given("batch")).min(n + 1)).map(|key| key as i32).collect();
                for rows in join_all(keys.iter().map(|key| asked(&client, &one, *key))).await {
                    counted(rows?);
                }
            }
        }
        "upload" => {
            client.batch_execute("CREATE TEMP TABLE taken (id int, payload text)").await?;
            let mut sink = pin!(client.copy_in("COPY taken FROM STDIN").await?);
            for first in (0..n).step_by(100) {
                let lines: String = (first..(first + 100).min(n)).map(|i| format!("{i}\t{}\n", "the quick brown fox ".repeat(given("width")))).collect();
                sink.send(bytes::Bytes::from(lines)).await?;
            }
            sink.finish().await?;
            STATEMENTS.fetch_add(2, Relaxed);
            ROWS.fetch_add(n, Relaxed);
        }
        "stream" => {
            let sql = format!("SELECT * FROM big WHERE id <= {n}");
            let mut rows = pin!(client.query_raw(&sql, std::iter::empty::<i32>()).await?);
            STATEMENTS.fetch_add(1, Relaxed);
            while rows.try_next().await?.is_some() {
                ROWS.fetch_add(1, Relaxed);
            }
        }
        // The next query is under way while this one's rows are worked on for `work` ms.
        "prefetch" => {
            let one = client.prepare(&sql).await?;
            let mut coming = asked(&client, &one, 1).await?;
            for key in 2..=n as i32 + 1 {
                counted(coming);
                let (next, ()) = tokio::join!(asked(&client, &one, key), sleep(ms("work")));
                coming = next?;
            }
            counted(coming);
        }
        // Regular starts, however long the answer takes, as long as it takes less than a period.
        "ticker" => {
            let one = client.prepare(&sql).await?;
            let mut clock = tokio::time::interval(ms("period"));
            for key in 1..=n as i32 {
                clock.tick().await;
                counted(asked(&client, &one, key).await?);
            }
        }
        "notified" => {
            client.batch_execute(&format!("LISTEN news{}", std::process::id())).await?;
            let sender = tokio::spawn(sent(n));
            for key in 1..=n as i32 {
                heard.recv().await.expect("a message");
                counted(client.query(&sql, &[&key]).await?.len());
            }
            sender.await?;
        }
        other => panic!("no shape {other}"),
    }
    drop(client);
    Ok(driving.await?)
}

async fn asked(client: &Client, one: &tokio_postgres::Statement, key: i32) -> Result<usize, tokio_postgres::Error> {
    Ok(client.query(one, &[&key]).await?.len())
}

/// n messages, each after `work` ms.
async fn sent(n: usize) {
    let (sender, connection) = tokio_postgres::connect(&format!("postgres://{PLACE}/lab"), NoTls).await.expect("a connection");
    let driving = tokio::spawn(connection);
    for _ in 0..n {
        sleep(ms("work")).await;
        sender.batch_execute(&format!("NOTIFY news{}, 'one'", std::process::id())).await.expect("a message");
        STATEMENTS.fetch_add(1, Relaxed);
    }
    drop(sender);
    let _ = driving.await;
}

/// The same for both servers, which differ in their placeholders only.
macro_rules! sqlx_work {
    ($name:ident, $options:ty, $scheme:literal, $clear:literal, $one:literal) => {
        async fn $name(shape: &str, n: usize) -> Outcome {
            let place = format!("{}://{PLACE}/lab?{}", $scheme, $clear);
            let connections = if shape == "pool" || shape == "web" { given("connections") } else { 1 };
            let pool = <$options>::new().max_connections(connections as u32).connect(&place).await?;
            let sql = Arc::new(salaries($one));
            let ask = |key: usize| {
                let (pool, sql) = (pool.clone(), sql.clone());
                async move {
                    counted(sqlx::query(&sql).bind(key as i32).fetch_all(&pool).await.expect("rows").len());
                }
            };
            match shape {
                // Its pool pings a connection before it lends it.
                "nplus1" => {
                    for key in 1..=n {
                        ask(key).await;
                    }
                }
                "transactions" => {
                    for key in 1..=n {
                        let mut change = pool.begin().await?;
                        let update = concat!("UPDATE acc SET bal = bal + 1 WHERE id = ", $one);
                        sqlx::query(update).bind(key as i32).execute(&mut *change).await?;
                        change.commit().await?;
                        STATEMENTS.fetch_add(3, Relaxed);
                    }
                }
                // `tasks` share the pool.
                "pool" => {
                    let next = AtomicUsize::new(1);
                    let task = || async {
                        loop {
                            let key = next.fetch_add(1, Relaxed);
                            if key > n {
                                break;
                            }
                            ask(key).await;
                        }
                    };
                    join_all((0..given("tasks")).map(|_| task())).await;
                }
                // One query, `side` at once, one more.
                "web" => {
                    for request in 1..=n {
                        ask(request).await;
                        join_all((1..=given("side")).map(|i| ask(request * 10 % 1500 + i))).await;
                        ask(request).await;
                        sleep(ms("think")).await;
                    }
                }
                other => panic!("no shape {other}"),
            }
            pool.close().await;
            Ok(())
        }
    };
}

sqlx_work!(sqlx_mysql_work, sqlx::mysql::MySqlPoolOptions, "mysql", "ssl-mode=disabled", "?");
sqlx_work!(sqlx_postgres_work, sqlx::postgres::PgPoolOptions, "postgres", "sslmode=disable", "$1");

fn salaries(one: &str) -> String {
    format!("SELECT salary, from_date FROM salaries WHERE emp_no = {one} LIMIT {}", given("rows").max(1))
}

fn given(name: &str) -> usize {
    GIVEN.get().and_then(|given| given.get(name)).copied().unwrap_or(0)
}

fn ms(name: &str) -> Duration {
    Duration::from_millis(given(name) as u64)
}

fn counted(rows: usize) {
    STATEMENTS.fetch_add(1, Relaxed);
    ROWS.fetch_add(rows, Relaxed);
}

fn version(package: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let after = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1).expect("a package");
    format!("{package} {}", after.split('"').next().expect("a version"))
}

//! `jobs tokio-postgres | sqlx-postgres | sqlx-mysql`: the job of benchmarks/clients/README.md.

use futures_util::TryStreamExt;
use sqlx::{Connection, Row};

const PLACE: &str = "lab:labpw@10.77.0.2";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = std::env::args().nth(1).expect("the client's name");
    let rows = match client.as_str() {
        "tokio-postgres" => tokio_postgres_job().await.expect("the job"),
        "sqlx-postgres" => sqlx_postgres_job().await.expect("the job"),
        "sqlx-mysql" => sqlx_mysql_job().await.expect("the job"),
        other => panic!("no client {other}"),
    };
    println!(r#"{{"client": "{}", "rows": {rows}, "errors": 1}}"#, version(if client == "tokio-postgres" { "tokio-postgres" } else { "sqlx" }));
}

/// Text instead of a prepared statement: the client prepares it anew for each execution, and closes it.
async fn tokio_postgres_job() -> Result<usize, tokio_postgres::Error> {
    let (mut client, connection) = tokio_postgres::connect(&format!("postgres://{PLACE}/lab"), tokio_postgres::NoTls).await?;
    let driving = tokio::spawn(connection);
    let authors = client.query("select id, name from authors order by id", &[]).await?;
    let mut rows = authors.len();
    for author in &authors {
        let id: i32 = author.get(0);
        rows += client.query("select id, title from books where author_id = $1", &[&id]).await?.len();
    }
    let one = client.prepare("select title, price from books where id = $1").await?;
    for id in 1..=10i32 {
        rows += client.query(&one, &[&id]).await?.len();
    }
    let transaction = client.transaction().await?;
    for id in 1..=3i32 {
        transaction.execute("update books set price = price + 1 where id = $1", &[&id]).await?;
    }
    transaction.commit().await?;
    assert!(client.query("select nothing from nowhere", &[]).await.is_err());
    let transaction = client.transaction().await?;
    let portal = transaction.bind("select id, title from books order by id", &[]).await?;
    loop {
        let some = transaction.query_portal(&portal, 100).await?;
        if some.is_empty() {
            break;
        }
        rows += some.len();
    }
    transaction.commit().await?;
    drop((one, client));
    driving.await.expect("the connection's task")?;
    Ok(rows)
}

/// The same for both servers, which differ in their types and placeholders only.
macro_rules! sqlx_job {
    ($name:ident, $connection:ty, $scheme:literal, $clear:literal, $one:literal) => {
        async fn $name() -> Result<usize, sqlx::Error> {
            let mut client = <$connection>::connect(&format!("{}://{PLACE}/lab?{}", $scheme, $clear)).await?;
            let authors = sqlx::query("select id, name from authors order by id").fetch_all(&mut client).await?;
            let mut rows = authors.len();
            for author in &authors {
                client.ping().await?; // as its pool does before each loan
                let id: i32 = author.get(0);
                let books = sqlx::query(concat!("select id, title from books where author_id = ", $one)).bind(id);
                rows += books.fetch_all(&mut client).await?.len();
            }
            for id in 1..=10i32 {
                let book = sqlx::query(concat!("select title, price from books where id = ", $one)).bind(id);
                rows += book.fetch_all(&mut client).await?.len();
            }
            let mut transaction = client.begin().await?;
            for id in 1..=3i32 {
                let update = sqlx::query(concat!("update books set price = price + 1 where id = ", $one)).bind(id);
                update.execute(&mut *transaction).await?;
            }
            transaction.commit().await?;
            assert!(sqlx::query("select nothing from nowhere").fetch_all(&mut client).await.is_err());
            {
                let mut all = sqlx::query("select id, title from books order by id").fetch(&mut client);
                while all.try_next().await?.is_some() {
                    rows += 1;
                }
            }
            client.close().await?;
            Ok(rows)
        }
    };
}

sqlx_job!(sqlx_postgres_job, sqlx::PgConnection, "postgres", "sslmode=disable", "$1");
sqlx_job!(sqlx_mysql_job, sqlx::MySqlConnection, "mysql", "ssl-mode=disabled", "?");

fn version(package: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let after = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1).expect("a package");
    format!("{package} {}", after.split('"').next().expect("a version"))
}

//! `job tokio-postgres | sqlx-mysql`: the job of this folder's README, clear or encrypted as the environment says: TLS, CIPHER (a suite
//! in rustls's words).
//!
//! rustls writes a key log where its ClientConfig is given a `KeyLogFile`, which goes where SSLKEYLOGFILE says. A driver that takes a
//! ClientConfig (tokio-postgres) can be asked; sqlx makes its own, so it is built with native-tls (OpenSSL) here, for `keylog.c`.

use std::env::var;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, KeyLogFile, SignatureScheme};
use sqlx::Connection;

const ALL: &str = "SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300";
const REFUSED: &str = "SELECT nothing FROM nowhere";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (package, rows) = match std::env::args().nth(1).as_deref() {
        Some("tokio-postgres") => ("tokio-postgres", tokio_postgres_job().await.expect("the job")),
        Some("sqlx-mysql") => ("sqlx", sqlx_mysql_job().await.expect("the job")),
        other => panic!("no client {other:?}"),
    };
    println!(r#"{{"client": "{}", "statements": 25, "rows": {rows}, "errors": 1}}"#, version(package));
}

fn place() -> String {
    format!("lab:labpw@{}/lab", var("LATPCAP_HOST").unwrap_or("10.77.0.2".into()))
}

fn clear() -> bool {
    var("TLS").is_ok_and(|tls| tls == "clear")
}

/// Text instead of a prepared statement: the client prepares it anew for each execution, and closes it.
async fn tokio_postgres_job() -> Result<usize, Box<dyn std::error::Error>> {
    let address = format!("postgres://{}?sslmode={}", place(), if clear() { "disable" } else { "require" });
    let tls = tokio_postgres_rustls::MakeRustlsConnect::new(config()?);
    let (client, connection) = tokio_postgres::connect(&address, tls).await?;
    let driving = tokio::spawn(connection);
    let mut rows = 0;
    for key in 1..=20i32 {
        rows += client.query("SELECT emp_no, salary FROM salaries WHERE emp_no = $1", &[&key]).await?.len();
    }
    rows += client.query(ALL, &[]).await?.len();
    let one = client.prepare("SELECT first_name FROM employees WHERE emp_no = $1").await?;
    for key in 1..=3i32 {
        rows += client.query(&one, &[&key]).await?.len();
    }
    assert!(client.query(REFUSED, &[]).await.is_err());
    drop((one, client));
    driving.await??;
    Ok(rows)
}

/// Prepares each text once and keeps it.
async fn sqlx_mysql_job() -> Result<usize, sqlx::Error> {
    let mode = if clear() { "disabled" } else { "required" };
    let mut client = sqlx::MySqlConnection::connect(&format!("mysql://{}?ssl-mode={mode}", place())).await?;
    let mut rows = 0;
    for key in 1..=20i32 {
        let pairs = sqlx::query("SELECT emp_no, salary FROM salaries WHERE emp_no = ?").bind(key);
        rows += pairs.fetch_all(&mut client).await?.len();
    }
    rows += sqlx::query(ALL).fetch_all(&mut client).await?.len();
    for key in 1..=3i32 {
        let one = sqlx::query("SELECT first_name FROM employees WHERE emp_no = ?").bind(key);
        rows += one.fetch_all(&mut client).await?.len();
    }
    assert!(sqlx::query(REFUSED).fetch_all(&mut client).await.is_err());
    client.close().await?;
    Ok(rows)
}

fn config() -> Result<ClientConfig, Error> {
    let provider = Arc::new(provider());
    let versions = match var("TLS").as_deref() {
        Ok("TLSv1.2") => &rustls::version::TLS12,
        _ => &rustls::version::TLS13,
    };
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[versions])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Throwaway(provider)))
        .with_no_client_auth();
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(config)
}

fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    if let Ok(wanted) = var("CIPHER") {
        provider.cipher_suites.retain(|suite| format!("{:?}", suite.suite()) == wanted);
    }
    provider
}

/// The lab's certificate is nobody's: only its signatures are checked.
#[derive(Debug)]
struct Throwaway(Arc<CryptoProvider>);

type Signed = Result<HandshakeSignatureValid, Error>;

impl ServerCertVerifier for Throwaway {
    fn verify_server_cert(
        &self, _: &CertificateDer, _: &[CertificateDer], _: &ServerName, _: &[u8], _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(&self, message: &[u8], certificate: &CertificateDer, signature: &DigitallySignedStruct) -> Signed {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(&self, message: &[u8], certificate: &CertificateDer, signature: &DigitallySignedStruct) -> Signed {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn version(package: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let after = lock.split(&format!("name = \"{package}\"\nversion = \"")).nth(1).expect("a package");
    format!("{package} {}", after.split('"').next().expect("a version"))
}

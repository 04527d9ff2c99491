use super::*;

fn client(name: &str) -> Client {
    let mut client = Client::default();
    client.says(name);
    client
}

fn framework<'a>(protocol: &str, client: &'a Client) -> Option<Known<'a>> {
    driver_and_framework(protocol, client, None).1
}

fn named<'a>(found: &Option<Known<'a>>) -> Option<(&'a str, String)> {
    found.as_ref().map(|known| (known.name, known.by.clone()))
}

#[test]
fn each_file_of_the_table_can_be_read_and_names_each_client_once() {
    let mut names: Vec<_> = TABLE.drivers.iter().map(|each| (each.protocol.as_deref(), &each.name)).collect();
    names.extend(TABLE.frameworks.iter().map(|each| (None, &each.name)));
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_row_of_the_table_has_signs_and_a_setting_has_words() {
    for entry in TABLE.drivers.iter().chain(&TABLE.frameworks) {
        assert!(!entry.rows.is_empty(), "{}", entry.name);
        assert!(entry.rows.iter().all(|row| !row.kinds.is_empty()), "{}", entry.name);
        assert!(entry.settings.iter().all(|setting| !setting.advice.ends_with('.')), "{}", entry.name);
    }
}

#[test]
fn who_says_its_name_is_known_by_it() {
    let go = client("Go-MySQL-Driver");
    assert_eq!(named(&driver("mysql", &go, None)), Some(("go-sql-driver/mysql", "said".into())));
    assert_eq!(driver("postgresql", &go, None).unwrap().name, "Go-MySQL-Driver");
}

#[test]
fn a_name_that_is_not_in_the_table_is_the_drivers_all_the_same() {
    let own = client("  my own driver ");
    assert_eq!(named(&driver("mysql", &own, None)), Some(("my own driver", "said".into())));
    assert_eq!(driver("mysql", &Client::default(), None), None);
    assert_eq!(framework("mysql", &own), None);
}

#[test]
fn a_framework_is_in_the_language_of_its_driver() {
    let signs = TABLE.statements("select @@lower_case_table_names");
    for (says, expected) in
        [("pymysql", Some("SQLAlchemy")), ("MariaDB Connector/J", None), ("libmariadb", Some("SQLAlchemy"))]
    {
        let mut client = client(says);
        client.sends(signs);
        assert_eq!(framework("mysql", &client).map(|known| known.name), expected, "{says}");
    }
}

#[test]
fn columns_by_name_are_not_gorms_star() {
    let gorm = |columns: &str| {
        let mut client = Client::default();
        client.names_statement(b"stmtcache_1");
        let statement = r#" from "users" where "users"."id" = ? order by "users"."id" limit ?"#;
        client.sends(TABLE.statements(&format!("select {columns}{statement}")));
        framework("postgresql", &client).map(|known| known.name.to_owned())
    };
    assert_eq!(gorm("*").as_deref(), Some("GORM"));
    assert_eq!(gorm(r#""id", "name""#), None);
}

#[test]
fn a_librarys_version_is_not_that_of_the_driver_above_it() {
    let mut perl = client("libmariadb");
    perl.says_version("3.3.20");
    assert_eq!(driver("mysql", &perl, None).unwrap().version, Some("3.3.20"));
    perl.starts("flags=00bea28e packet=1048576 charset=45 _client_name program_name");
    let known = driver("mysql", &perl, None).unwrap();
    assert_eq!((known.name, known.version), ("DBD::mysql", None));
    assert_eq!(known.by, "the library's name and login parameters");
    let three = [Kind::Says, Kind::Startup, Kind::Statement];
    assert_eq!(words(&three), "the library's name, login parameters and statements");
}

#[test]
fn a_statement_that_several_mappers_send_names_none_below_anothers_driver() {
    let ent_or_drizzle =
        "select \"id\", \"name\" from \"users\" where \"users\".\"id\" = ? order by \"users\".\"id\" limit ?";
    for (protocol, name, statement) in [
        ("mysql", "MariaDB Connector/J", "select @@tx_isolation"),
        ("mysql", "MariaDB Connector/J", "select @@lower_case_table_names"),
        ("mysql", "mysqlnd", "select `users`.`id` as `users__id` from `users` `users` where `users`.`id` = ?"),
        ("mysql", "mysqlnd", "select * from `users` where `users`.`id` = ? limit ?"),
        ("mysql", "libmariadb", "select `me`.`id`, `me`.`title` from `book` `me` where `me`.`id` = ?"),
        (
            "sqlserver",
            "Core Microsoft SqlClient Data Provider",
            "select u0_.id as id0_0_ from users u0_ where u0_.id = ?",
        ),
        ("postgresql", "", "select ? from pg_database where datname = ?"),
        ("postgresql", "", ent_or_drizzle),
    ] {
        let mut client = client(name);
        client.names_statement(b"stmtcache_1");
        client.sends(signs_of(statement));
        assert_eq!(framework(protocol, &client), None, "{statement}");
    }
}

#[test]
fn names_and_versions_are_cut() {
    let long = client(&"x".repeat(10_000));
    assert_eq!(driver("mysql", &long, None).unwrap().name.len(), MAX_NAME_CHARS);
}

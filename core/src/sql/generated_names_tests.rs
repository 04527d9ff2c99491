use crate::protocols::{mysql, oracle, postgresql};
use crate::sql::{Dialect, Statements};

fn fingerprint(dialect: Dialect, text: &str) -> String {
    let mut statements = Statements::new(false);
    let sql = statements.sql_in(dialect, text.as_bytes());
    statements.text(sql.fingerprint).to_owned()
}

#[test]
fn names_that_programs_make_up_are_folded() {
    for (text, folded) in [
        ("SAVEPOINT active_record_1", "savepoint ?"),
        ("RELEASE SAVEPOINT \"s140735_x1\"", "release savepoint ?"),
        ("release _exec_svp_0x5637def65140; savepoint _exec_svp_0x5637def65140", "release ?; savepoint ?"),
        ("ROLLBACK TO SAVEPOINT sa_savepoint_12", "rollback to savepoint ?"),
        ("rollback work to x_2", "rollback work to ?"),
        ("close \"SQL_CUR0x5609095897f0\"; commit", "close ?; commit"),
        ("fetch 10 in \"SQL_CUR0x5609095897f0\"", "fetch ? in ?"),
        ("FETCH FORWARD 2000 FROM \"_django_curs_139871234_sync_1\"", "fetch forward ? from ?"),
        ("update t set a = 1 where current of c_7f8a2c01b5e0_1", "update t set a = ? where current of ?"),
        ("DEALLOCATE pdo_stmt_00000001", "deallocate ?"),
        ("deallocate prepare s7", "deallocate prepare ?"),
        ("prepare prepst2 (int) as select a from t where b = $1", "prepare ? (int) as select a from t where b = ?"),
        ("insert into tmp_9f86d081884c7d65 values (1)", "insert into ? values (?)"),
    ] {
        assert_eq!(fingerprint(postgresql::DIALECT, text), folded);
        assert_eq!(fingerprint(postgresql::DIALECT, folded), folded);
    }
    let cursor = "begin; declare \"SQL_CUR0x5609095897f0\" cursor with hold for select a from t; fetch 5 in b_1";
    let folded = "begin; declare ? cursor with hold for select a from t; fetch ? in ?";
    assert_eq!(fingerprint(postgresql::DIALECT, cursor), folded);
    assert_eq!(fingerprint(mysql::DIALECT, "drop prepare `stmt12`"), "drop prepare ?");
}

#[test]
fn names_that_people_choose_stay() {
    for text in [
        "savepoint s1",
        "savepoint before_update",
        "close labcur",
        "fetch forward ? from \"reader\"",
        "declare c1 cursor for select a from t",
        "deallocate all",
        "prepare transaction ?",
        "execute prepst2",
        "drop table t_1",
        "release_lock_1",
        "select a_1 from t_2024 where t_2024.current = b_12345678",
        "select a from tmp_20240131",
        "select a from temp_facade",
    ] {
        assert_eq!(fingerprint(postgresql::DIALECT, text), text);
    }
}

#[test]
fn the_body_of_a_procedure_names_nothing_of_the_session() {
    let body = "create procedure p() begin declare c_1 cursor for select a from t; fetch c_1 into b; close c_1; end";
    assert_eq!(fingerprint(mysql::DIALECT, body), body);
    let block = "begin p(?); close c_1; end";
    assert_eq!(fingerprint(oracle::DIALECT, block), block);
    let variable = "declare x_1 number; begin close c_1; end";
    assert_eq!(fingerprint(oracle::DIALECT, variable), variable);
}

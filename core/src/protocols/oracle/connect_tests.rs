use super::*;

#[test]
fn the_program_is_the_clients_and_the_service_the_servers() {
    let data = b"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db)(PORT=1521))(CONNECT_DATA=(service_name = orders)\
                 (CID=(PROGRAM=C:\\Program Files\\app.exe)(HOST=pc)(USER=ann))))";
    let mut session = Session::default();
    learn(&mut session, data);
    assert_eq!(session.database.as_deref(), Some("orders"));
    assert_eq!(session.application.as_deref(), Some("C:\\Program Files\\app.exe"));
}

#[test]
fn a_refusal_names_its_code_and_a_listener_ping_is_none() {
    let code = |text| refusal(text).map(|error| error.code);
    assert_eq!(
        code(b"(DESCRIPTION=(TMP=)(VSNNUM=1)(ERR=12514)(ERROR_STACK=(ERROR=(CODE=1))))"),
        Some("ORA-12514".into())
    );
    assert_eq!(code(b"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR=0)(ALIAS=LISTENER))"), None);
}

#[test]
fn accept_tells_the_form_of_what_follows() {
    let old = b"\x01\x3a\x00\x01\x20\x00\x7f\xff\0\0\0\0\0\0\0\0";
    assert_eq!(Accept::read(old), Ok(Accept { form: Form::Small, session_data_unit: 8192 }));
    let mut new = b"\x01\x3e\x00\x01\xff\xff\xff\xff".to_vec();
    new.extend([0; 16]);
    new.extend(b"\x00\x1f\xff\xff\0\0\0\0");
    assert_eq!(Accept::read(&new), Ok(Accept { form: Form::Large, session_data_unit: 0x1f_ffff }));
}

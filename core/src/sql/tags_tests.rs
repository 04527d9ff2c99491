use super::tags;

fn shown(text: &str) -> String {
    tags(text.as_bytes(), false)
}

#[test]
fn the_comment_at_the_end_tells_the_code() {
    let text = "select 1 /*action='show',controller='polls',route='%5Epolls/%24',traceparent='00-5bd6-01'*/";
    assert_eq!(shown(text), "action='show',controller='polls',route='%5Epolls/%24'");
}

#[test]
fn the_comment_may_stand_before_the_statement_and_a_semicolon_behind_it() {
    assert_eq!(shown("/*route='/a'*/ select 1"), "route='/a'");
    assert_eq!(shown(" select 1 /* route='/a' */ ; "), "route='/a'");
}

#[test]
fn a_file_is_told_without_the_folders_of_a_machine() {
    assert_eq!(
        shown("select 1 /*file='%2Fhome%2Fann%2Fshop%2Fviews.py',line='42'*/"),
        "file='shop%2Fviews.py',line='42'"
    );
    assert_eq!(shown("select 1 /*line:/srv/app/polls.rb:12:in `index'*/"), "line='app/polls.rb:12'");
    assert_eq!(shown("select 1 /*file='views.py'*/"), "file='views.py'");
    assert_eq!(shown("select 1 /*file='C%3A%5Cann%5Cshop%5Ca.cs'*/"), "file='shop%5Ca.cs'");
    assert_eq!(shown("select 1 /*file='//'*/"), "file='/'");
}

#[test]
fn a_route_is_told_without_its_query() {
    assert_eq!(shown("select 1 /*route='/u?token=hush'*/"), "route='/u'");
    assert_eq!(shown("select 1 /*route='%2Fu%3Ftoken%3Dhush'*/"), "route='%2Fu'");
    assert_eq!(tags(b"select 1 /*route='/u?token=hush'*/", true), "route='/u?token=***'");
}

#[test]
fn a_trace_is_told_only_with_literals() {
    let text = b"select 1 /*route='/a',traceparent='00-5bd6-01'*/";
    assert_eq!(tags(text, true), "route='/a',traceparent='00-5bd6-01'");
}

#[test]
fn rails_older_form_is_read_too() {
    assert_eq!(
        shown("select 1 /*application:Shop,controller:polls,action:index*/"),
        "action='index',controller='polls'"
    );
}

#[test]
fn other_comments_and_hints_have_no_tags() {
    for text in
        ["select 1", "select 1 /* a = b */", "/*+ index(a) */ select 1", "select 1 /*!40101 route='a'*/", "", "*/"]
    {
        assert_eq!(shown(text), "", "{text}");
    }
}

#[test]
fn values_that_could_do_harm_are_left_out() {
    assert_eq!(shown("select 1 /*route='<b>',action='\u{1b}[2J',controller='a'*/"), "controller='a'");
}

#[test]
fn many_open_comments_cost_no_more_than_one() {
    let text = "/*".repeat(1_000_000) + "*/";
    assert_eq!(shown(&text), "");
}

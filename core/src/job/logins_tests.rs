use super::*;

const MS: i64 = 1_000_000;
const SERVER: u32 = 7;

/// Connections to one server, each with what is known before its first exchange, and its login.
#[derive(Default)]
struct Made {
    connections: DatabaseConnections,
    before: Vec<Before>,
    logins: Vec<Login>,
}

impl Made {
    /// One of its host that is shaken at `begin`, takes as many round trips of 10 ms, and goes on to work.
    fn connection(&mut self, host: u32, begin: i64, round_trips: u32) -> usize {
        let (begin, end_ns) = (begin * MS, (begin + 10 * i64::from(round_trips)) * MS);
        self.connections.all.push(DatabaseConnection {
            host,
            server: SERVER,
            start_ns: begin,
            ..DatabaseConnection::default()
        });
        self.before.push(Before { shaken_ns: Some(begin), is_greeted: false, rtt_ns: 9.0 * MS as f64 });
        self.logins.push(Login {
            first_ns: begin,
            is_asked_first: true,
            end_ns,
            round_trips,
            is_partial: false,
            work_ns: begin + 1000 * MS,
            next: Next::Work,
        });
        self.logins.len() - 1
    }

    /// A login of which something is missing.
    fn in_part(&mut self, host: u32, begin: i64, round_trips: u32) -> usize {
        let place = self.connection(host, begin, round_trips);
        self.connections.all[place].lost_bytes = 1;
        self.logins[place].is_partial = true;
        place
    }

    fn unseen(&self) -> Vec<Unseen> {
        unseen_logins(&self.connections, &self.before, &self.logins)
    }
}

fn unseen(round_trips: u32, until_ms: i64) -> Unseen {
    Unseen { round_trips, until_ns: until_ms * MS }
}

#[test]
fn a_login_that_was_captured_in_part_took_what_others_take() {
    let mut made = Made::default();
    made.connection(0, 0, 3);
    let lacks = made.in_part(1, 500, 1);
    assert_eq!(made.unseen(), [unseen(0, 0), unseen(2, 530)]);
    made.logins[lacks].work_ns = 520 * MS;
    assert_eq!(made.unseen()[lacks], unseen(2, 520), "its work began before");
    made.connections.all[0].server = SERVER + 1;
    assert_eq!(made.unseen()[lacks], unseen(0, 0), "nothing is known of that server");
}

#[test]
fn of_logins_that_differ_the_usual_one_counts() {
    let mut made = Made::default();
    [3, 5, 5, 4].into_iter().for_each(|round_trips| _ = made.connection(0, 0, round_trips));
    let lacks = made.in_part(1, 500, 1);
    assert_eq!(made.unseen()[lacks], unseen(3, 540), "the lower median, and how long such take");
}

#[test]
fn what_is_missing_elsewhere_is_no_part_of_the_login() {
    let mut made = Made::default();
    made.connection(0, 0, 3);
    let lacks = made.in_part(1, 500, 1);
    made.logins[lacks].is_partial = false;
    assert_eq!(made.unseen()[lacks], unseen(0, 0), "all that it asked was answered");
    made.logins[lacks].first_ns += 9 * MS;
    assert_eq!(made.unseen()[lacks], unseen(2, 530), "there was time for a round trip before it");
    made.before[lacks].is_greeted = true;
    assert_eq!(made.unseen()[lacks], unseen(0, 0), "which was the greeting");
    made.logins[lacks].round_trips = 0;
    assert_eq!(made.unseen()[lacks].round_trips, 3);
}

#[test]
fn only_logins_between_a_handshake_and_work_are_compared() {
    let shown = |change: fn(&mut Made)| {
        let mut made = Made::default();
        made.connection(0, 0, 3);
        made.in_part(1, 500, 1);
        change(&mut made);
        made.unseen()[1]
    };
    assert_eq!(shown(|_| {}), unseen(2, 530));
    assert_eq!(shown(|made| made.before[0].shaken_ns = None), unseen(0, 0));
    assert_eq!(shown(|made| made.before[1].shaken_ns = None), unseen(0, 0));
    assert_eq!(shown(|made| made.logins[0].next = Next::Login), unseen(0, 0));
    assert_eq!(shown(|made| made.logins[1].next = Next::Cancelled), unseen(0, 0));
}

#[test]
fn a_pool_that_is_opened_in_turn_goes_on_when_the_login_is_over() {
    let mut made = Made::default();
    [0, 35, 70].into_iter().for_each(|begin| _ = made.connection(0, begin, 3));
    let lacks = made.in_part(0, 105, 1);
    assert_eq!(made.unseen()[lacks], unseen(2, 135), "nothing follows");
    made.connection(0, 150, 3);
    assert_eq!(made.unseen()[lacks], unseen(2, 145), "5 ms before the next one");
    made.connections.all[lacks + 1].start_ns = 400 * MS;
    assert_eq!(made.unseen()[lacks], unseen(2, 135), "that would be many times as long as usual");
}

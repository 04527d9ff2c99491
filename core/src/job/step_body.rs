//! What is kept of the steps of a job and is the same whoever waits for whom: half a cache line each.

/// Stands for the exchange of a TCP handshake.
pub const HANDSHAKE: u32 = u32::MAX;
/// Stands for the exchange of a client's good-bye and the server's FIN.
pub const GOODBYE: u32 = u32::MAX - 1;
/// Stands for what was not captured of a login.
pub const UNSEEN_LOGIN: u32 = u32::MAX - 2;

/// The row of an exchange, not what stands for one.
pub const fn is_exchange(row: u32) -> bool {
    row < UNSEEN_LOGIN
}

/// What does not depend on who waits for whom.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub connection: u32,
    pub phase: u32,
    pub row: u32,
    pub round_trips: u32,
    pub request: f64,
    pub service: f64,
    pub response: f64,
    /// Before it, and within it.
    pub stalls: [f64; 2],
    pub answered: bool,
    pub whole: bool,
    pub unseen: bool,
}

/// The bodies of steps in their order.
#[derive(Debug, Default)]
pub struct Bodies {
    packed: Vec<Packed>,
    /// What does not fit: stalls, and what takes seconds.
    others: Vec<Body>,
}

#[derive(Clone, Copy, Debug)]
struct Packed {
    service: f64,
    connection: u32,
    phase: u32,
    row: u32,
    /// Whole ns; of a body that does not fit, its place among the others.
    request: u32,
    /// Whole ns; `OTHER` of a body that does not fit.
    response: u32,
    round_trips: u8,
    answered: bool,
    whole: bool,
    unseen: bool,
}

const OTHER: u32 = u32::MAX;

impl Bodies {
    pub fn with_capacity(most: usize) -> Bodies {
        Bodies { packed: Vec::with_capacity(most), others: Vec::new() }
    }

    pub fn push(&mut self, body: Body) {
        let packed = Packed::of(&body).unwrap_or_else(|| {
            self.others.push(body);
            Packed { request: self.others.len() as u32 - 1, response: OTHER, ..Packed::without_times(&body) }
        });
        self.packed.push(packed);
    }

    pub fn len(&self) -> usize {
        self.packed.len()
    }

    pub fn of(&self, number: u32) -> Body {
        let packed = &self.packed[number as usize];
        match packed.response {
            OTHER => Body { service: packed.service, ..self.others[packed.request as usize] },
            _ => packed.body(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Body> {
        (0..self.len() as u32).map(|number| self.of(number))
    }

    pub fn set_service(&mut self, number: u32, service: f64) {
        self.packed[number as usize].service = service;
    }

    pub fn put_in_order(&mut self, order: Vec<u32>) {
        put_in_order(&mut self.packed, order);
    }
}

impl Packed {
    fn of(body: &Body) -> Option<Packed> {
        let whole_ns = |time: f64| Some(time as u32).filter(|&whole| f64::from(whole) == time && whole != OTHER);
        let (request, response) = (whole_ns(body.request)?, whole_ns(body.response)?);
        let fits = body.round_trips <= u8::MAX.into() && body.stalls == [0.0; 2];
        fits.then(|| Packed { request, response, ..Packed::without_times(body) })
    }

    fn without_times(body: &Body) -> Packed {
        Packed {
            service: body.service,
            connection: body.connection,
            phase: body.phase,
            row: body.row,
            request: 0,
            response: 0,
            round_trips: body.round_trips as u8,
            answered: body.answered,
            whole: body.whole,
            unseen: body.unseen,
        }
    }

    fn body(&self) -> Body {
        Body {
            connection: self.connection,
            phase: self.phase,
            row: self.row,
            round_trips: self.round_trips.into(),
            request: self.request.into(),
            service: self.service,
            response: self.response.into(),
            stalls: [0.0; 2],
            answered: self.answered,
            whole: self.whole,
            unseen: self.unseen,
        }
    }
}

/// Each item from the place that `order` says, without a copy of them all.
pub fn put_in_order<T>(items: &mut [T], mut order: Vec<u32>) {
    for first in 0..items.len() {
        let mut place = first;
        while order[place] as usize != first {
            let from = order[place] as usize;
            items.swap(place, from);
            order[place] = place as u32;
            place = from;
        }
        order[place] = place as u32;
    }
}

pub const EMPTY: Body = Body {
    connection: 0,
    phase: 0,
    row: HANDSHAKE,
    round_trips: 0,
    request: 0.0,
    service: 0.0,
    response: 0.0,
    stalls: [0.0; 2],
    answered: false,
    whole: false,
    unseen: true,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_put_in_order_where_they_are() {
        let mut items = ['d', 'a', 'c', 'b', 'e'];
        put_in_order(&mut items, vec![1, 3, 2, 0, 4]);
        assert_eq!(items, ['a', 'b', 'c', 'd', 'e']);
    }

    #[test]
    fn what_is_kept_is_what_was_given_even_if_it_does_not_fit() {
        assert_eq!(size_of::<Packed>(), 32);
        let usual = Body { request: 7.0, response: 4e9, round_trips: 255, service: -0.25, ..EMPTY };
        let others = [
            Body { response: 4_294_967_295.0, ..usual },
            Body { request: 0.5, ..usual },
            Body { request: -1.0, ..usual },
            Body { round_trips: 256, ..usual },
            Body { stalls: [0.0, 1.0], ..usual },
        ];
        let mut bodies = Bodies::default();
        let all = [usual].into_iter().chain(others);
        all.clone().for_each(|body| bodies.push(body));
        let shown = |body: Body| format!("{body:?}");
        assert!(bodies.iter().map(shown).eq(all.map(shown)));
        assert_eq!(bodies.others.len(), 5);
    }
}

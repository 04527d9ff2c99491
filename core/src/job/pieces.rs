//! What an exchange's time is cut into: once, whether it was captured or is replayed.

/// What an interval of a connection is cut into, in that order: lengths in ns, or what they are worth in shared ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pieces<T> {
    /// Its request waited for a delayed ACK.
    pub stalled: T,
    /// Time-outs on the client's side of the capture point.
    pub lost: T,
    pub request: T,
    pub request_stalled: T,
    pub network: T,
    pub service: T,
    pub service_loss: T,
    pub response_stalled: T,
    pub response: T,
    pub response_loss: T,
}

impl<T: Copy + std::ops::Add<Output = T>> Pieces<T> {
    pub fn map<U>(self, mut each: impl FnMut(T) -> U) -> Pieces<U> {
        Pieces {
            stalled: each(self.stalled),
            lost: each(self.lost),
            request: each(self.request),
            request_stalled: each(self.request_stalled),
            network: each(self.network),
            service: each(self.service),
            service_loss: each(self.service_loss),
            response_stalled: each(self.response_stalled),
            response: each(self.response),
            response_loss: each(self.response_loss),
        }
    }

    /// Until the wait begins.
    pub fn asked(&self) -> T {
        self.stalled + self.lost + self.request + self.request_stalled
    }

    pub fn waited(&self) -> T {
        self.network + self.service + self.service_loss
    }

    pub fn loss(&self) -> T {
        self.lost + self.service_loss + self.response_loss
    }

    pub fn stalled_within(&self) -> T {
        self.request_stalled + self.response_stalled
    }

    pub fn all(&self) -> T {
        self.asked() + self.waited() + self.response_stalled + self.response + self.response_loss
    }
}

impl Pieces<i64> {
    /// Something was lost or stalled.
    pub fn is_rare(&self) -> bool {
        let rare = [
            self.lost,
            self.service_loss,
            self.response_loss,
            self.stalled,
            self.request_stalled,
            self.response_stalled,
        ];
        rare.iter().fold(0, |all, piece| all | piece) != 0
    }

    /// Cut an interval that is so long: first the request, then the wait, of which `travelled` is the network's, and what is
    /// left is the response.
    pub fn cut(length: i64, request: i64, waited: i64, travelled: i64) -> Pieces<i64> {
        let request = request.max(0).min(length);
        let waited = waited.max(0).min(length - request);
        let network = travelled.max(0).min(waited);
        let response = length - request - waited;
        Pieces { request, network, service: waited - network, response, ..Pieces::default() }
    }

    /// Take a stall of so long a timer, and the acknowledgment's way with it, out of the first piece that is long enough.
    pub fn stall(&mut self, timer: f64, mut stalled: i64) {
        let mut out_of = |piece: &mut i64| {
            let taken = if *piece as f64 >= timer { stalled.min(*piece) } else { 0 };
            *piece -= taken;
            stalled = if taken > 0 { 0 } else { stalled };
            taken
        };
        self.request_stalled += out_of(&mut self.request);
        self.response_stalled += out_of(&mut self.response) + out_of(&mut self.service);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stall_is_taken_out_of_the_first_piece_that_has_room_for_its_timer() {
        let mut pieces = Pieces::cut(100, 5, 60, 20);
        pieces.stall(30.0, 50);
        assert_eq!((pieces.request, pieces.service, pieces.response, pieces.stalled_within()), (5, 40, 0, 35));
    }

    proptest! {
        #[test]
        fn whatever_was_seen_the_pieces_are_the_interval(
            length in 0..1000_i64, times in [-50..2000_i64, -50..2000, -50..2000, 0..500], timer in 0..200_i32,
        ) {
            let [request, waited, travelled, stalled] = times;
            let mut pieces = Pieces::cut(length, request, waited, travelled);
            pieces.stall(timer.into(), stalled);
            prop_assert_eq!(pieces.all(), length);
            let all = [pieces.request, pieces.network, pieces.service, pieces.response, pieces.stalled_within()];
            prop_assert!(all.iter().all(|&piece| piece >= 0));
        }
    }
}

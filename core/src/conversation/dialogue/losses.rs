//! What a dialogue does where bytes are missing or cannot be read: it loses synchronisation, and finds it again.

use super::super::Common;
use super::super::inbox::Origin;
use super::Dialogue;
use crate::cursor::Lost;
use crate::protocols::{Frame, Meaning, Message};
use crate::side::Side;
use crate::stream::Chunk;

impl Dialogue {
    /// Bytes that were never captured: a long body may hold them all, otherwise synchronisation is lost.
    pub(super) fn gap(&mut self, chunk: &Chunk<'_>) {
        let side = chunk.side;
        if self.lost || !self.inbox(side).absorbs(chunk.lost) {
            self.behind_unseen = side == Side::Client && self.was_answered_unseen(chunk);
            self.lose_unseen(chunk);
        } else {
            self.pairing.gap(side, chunk.lost, chunk.offset);
            self.end_body(chunk);
        }
        self.server_spoke = side == Side::Server;
    }

    /// The client waited for nothing, and had received more than the server was seen to send: the answer to what was not
    /// captured, either. One that pipelines may have asked on without it.
    fn was_answered_unseen(&self, chunk: &Chunk<'_>) -> bool {
        let waits = !self.pairing.is_open() && !self.pairing.pipelines;
        waits && self.server_until > 0 && chunk.acknowledged > self.server_until
    }

    pub(in crate::conversation) fn lose_unseen(&mut self, chunk: &Chunk<'_>) {
        let side = chunk.side;
        let unasked = match side {
            Side::Client => !self.pairing.is_open() || (self.lost && self.server_spoke),
            Side::Server => false,
        };
        self.missed(side, chunk.lost);
        match (side, self.pairing.unanswered()) {
            (_, 0) | (Side::Server, 1) => {}
            (Side::Client, 1) => self.asked_on = true,
            (_, unanswered) => self.pairing.distrust_next(unanswered),
        }
        self.lose(Lost("bytes are missing from the capture".into()));
        if unasked {
            self.pairing.unreadable_request(None);
        }
        self.pairing.gap(side, chunk.lost, chunk.offset);
    }

    /// The end of a packet that was seen, beyond the snap length.
    pub(super) fn cut(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        let side = chunk.side;
        if self.lost {
            return;
        }
        if self.decoder.reads_nothing() {
            return self.miss_nothing(chunk, common);
        }
        if let Err(lost) = self.read_cut_message(chunk, common) {
            return self.lose_at(chunk, lost);
        }
        if self.inbox(side).absorbs(chunk.cut) {
            self.end_body(chunk);
        } else {
            let begun = self.begin_cut_request(chunk);
            self.lose_the_end(chunk, chunk.cut - begun);
        }
    }

    /// A request whose beginning was captured, and of whose packet the end was cut: how many of these bytes are its own.
    fn begin_cut_request(&mut self, chunk: &Chunk<'_>) -> u64 {
        if chunk.side != Side::Client {
            return 0;
        }
        let inbox = self.inbox(Side::Client);
        let begun =
            if inbox.layer.is_none() { inbox.pass(usize::try_from(chunk.cut).unwrap_or(usize::MAX)) } else { 0 };
        self.end_body(chunk);
        if let Some(meaning) = self.decoder.hidden(chunk.cut - begun as u64) {
            let span = self.span(chunk, Origin::of(chunk), 0);
            self.pairing.message(meaning, &span);
        }
        begun as u64
    }

    /// Where nothing can be read, nothing is missing in what the snap length cut.
    fn miss_nothing(&mut self, chunk: &Chunk<'_>, common: &mut Common) {
        let message = Message { side: chunk.side, bytes: &[], length: chunk.cut, cut: true };
        if let Err(lost) = self.message(chunk, &message, chunk.cut, Origin::of(chunk), common) {
            self.lose_at(chunk, lost);
        }
    }

    /// Whole messages may hide in what the snap length cut. Packets and times are known all the same, so an exchange
    /// that is alone ends with the last packet before the client speaks again.
    fn lose_the_end(&mut self, chunk: &Chunk<'_>, hidden: u64) {
        // A client that does not wait for anything yet asks with this packet.
        self.server_spoke = chunk.side == Side::Client && !self.pairing.is_awaited();
        self.follow_turns(&Chunk { bytes: &[], ..*chunk });
        self.server_spoke = chunk.side == Side::Server;
        self.missed(chunk.side, hidden);
        self.lost = true;
        if self.pairing.unanswered() > 1 {
            self.pairing.distrust_next(self.pairing.unanswered());
        }
        self.pairing.cut();
        for inbox in &mut self.inboxes {
            inbox.clear();
        }
    }

    /// What the capture kept of a message whose length is known.
    fn read_cut_message(&mut self, chunk: &Chunk<'_>, common: &mut Common) -> Result<(), Lost> {
        let side = chunk.side;
        if self.inbox(side).is_empty() {
            return Ok(());
        }
        let (bytes, origin) = self.inbox(side).take();
        let here = bytes.len() as u64;
        match self.decoder.frame(side, &bytes)? {
            Frame::Message { length, .. } if length > here => {
                let message = Message { side, bytes: &bytes, length, cut: true };
                self.inbox(side).need = 0;
                let origin = origin.unwrap_or(Origin::of(chunk));
                self.message(chunk, &message, here, origin, common)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A message could not be read: whatever it was, the packet is there and takes part in the turns.
    pub(super) fn lose_at(&mut self, chunk: &Chunk<'_>, lost: Lost) {
        self.missed(chunk.side, chunk.bytes.len() as u64);
        self.lose(lost);
        self.server_spoke |= chunk.side == Side::Client && !self.pairing.is_awaited();
        self.follow_turns(chunk);
    }

    /// Bytes of the client are never read: what they asked for is unknown.
    pub(super) fn missed(&mut self, side: Side, bytes: u64) {
        if side == Side::Client {
            self.decoder.missed_requests(bytes);
        }
    }

    pub(super) fn lose(&mut self, lost: Lost) {
        if !self.lost {
            self.losses += 1;
            self.first_loss.get_or_insert(lost.0);
        }
        self.lost = true;
        self.pairing.lose();
        for inbox in &mut self.inboxes {
            inbox.clear();
        }
    }

    /// Out of sync, what is left is who speaks when.
    pub(super) fn follow_turns(&mut self, chunk: &Chunk<'_>) {
        let origin = Origin::of(chunk);
        let span = self.span(chunk, origin, chunk.bytes.len() as u64);
        if chunk.side == Side::Client && self.server_spoke {
            self.pairing.unreadable_request(Some(&span));
        } else {
            self.pairing.message(Meaning::More, &span);
        }
    }

    /// Does the client certainly begin a request here?
    pub(super) fn try_resync(&mut self, chunk: &Chunk<'_>, common: &mut Common) -> bool {
        let behind_unseen = std::mem::take(&mut self.behind_unseen);
        let begins = match chunk.side {
            Side::Server => false,
            Side::Client if self.server_spoke => self.begins_request(chunk.bytes, common),
            Side::Client => behind_unseen && chunk.cut == 0 && self.are_whole_requests(chunk.bytes),
        };
        if begins {
            self.pairing.end_all();
            self.decoder.resume();
            self.lost = false;
        }
        begins
    }

    /// Are these whole requests, not the rest of one whose beginning was lost?
    fn are_whole_requests(&mut self, bytes: &[u8]) -> bool {
        self.inbox(Side::Client).layer.is_none() && self.decoder.resumes(bytes) && self.decoder.are_whole(bytes)
    }

    fn begins_request(&mut self, bytes: &[u8], common: &mut Common) -> bool {
        let inbox = self.inbox(Side::Client);
        if inbox.layer.is_none() {
            return self.decoder.resumes(bytes);
        }
        let Ok(plain) = inbox.unwrap(bytes, &mut common.inflated) else {
            self.inbox(Side::Client).clear();
            return false;
        };
        self.inbox(Side::Client).clear();
        let begins = self.decoder.resumes(&plain);
        self.inbox(Side::Client).reuse(plain);
        begins
    }

    /// Bytes that cannot be read, though what follows them may be.
    pub(in crate::conversation) fn unread(&mut self, chunk: &Chunk<'_>, length: usize) {
        self.missed(chunk.side, length as u64);
        self.follow_turns(chunk);
        self.server_spoke = chunk.side == Side::Server;
    }
}

//! What went wrong without stopping the analysis: each kind is counted, only its first case described.

named! {
    /// The kind of a note; its text is what users and scripts see, so it never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum NoteCode {
        /// The file ends inside a packet.
        FileCut = "file-cut",
        /// The file's own structure contradicts itself.
        FileDamaged = "file-damaged",
        /// The operating system failed while the file was read.
        FileUnreadable = "file-unreadable",
        /// Reading was stopped before the end.
        Stopped = "stopped",
        /// A packet came from an interface that the file does not describe.
        UnknownInterface = "unknown-interface",
        /// The file holds decryption secrets of other protocols than TLS.
        OtherSecrets = "other-secrets",
        /// Packets of a link type that latpcap does not look into.
        UnknownLinkType = "unknown-link-type",
        /// Packets whose content is encrypted below IP.
        EncryptedPackets = "encrypted-packets",
        /// Packets whose headers contradict themselves.
        MalformedPackets = "malformed-packets",
        /// Packets were captured in part.
        SnapLength = "snap-length",
        /// The file's own counters report dropped packets.
        CaptureDrops = "capture-drops",
        /// A packet is earlier than the one before it.
        ClockBackwards = "clock-backwards",
        /// A packet's time is beyond any that can be.
        ClockRange = "clock-range",
        /// The times of a file are multiples of a millisecond or more.
        CoarseClock = "coarse-clock",
        /// A packet's time is far from those of the packets around it.
        ClockOutlier = "clock-outlier",
        /// The clock was set while connections were open.
        ClockStep = "clock-step",
        /// Nothing of one side was captured.
        OneDirection = "one-direction",
        /// Packets are in the capture twice.
        DuplicatePackets = "duplicate-packets",
        /// Packets came behind a later one of their stream.
        Reordered = "reordered",
        /// Segments are longer than the network carries.
        Offloaded = "offloaded",
        /// A receiver stopped its sender.
        ZeroWindow = "zero-window",
        /// Data was sent again after a silence.
        Timeouts = "timeouts",
        /// Data waited for a delayed acknowledgment.
        DelayedAck = "delayed-ack",
        /// A relay wrote the packets.
        Relayed = "relayed",
        /// A PROXY protocol header precedes what client and server say.
        ProxyHeader = "proxy-header",
        /// The servers of database ports refused connections.
        Refused = "refused",
        /// SYNs to database ports were not answered.
        Unanswered = "unanswered",
        /// What is said on a database port is not recognised.
        Unrecognised = "unrecognised",
        /// Connections to databases that cannot be read yet.
        OtherDatabase = "other-database",
        /// Messages could not be delimited for a while.
        Unreadable = "unreadable",
        /// Rows were counted without their format.
        EstimatedRows = "estimated-rows",
        /// Counts of rows contradicted what was asked for or came.
        ImplausibleRows = "implausible-rows",
        /// More TCP connections than are kept.
        TooManyConnections = "too-many-connections",
        /// More distinct statements than are kept.
        TooManyStatements = "too-many-statements",
        /// More requests without an answer than are kept.
        TooManyUnanswered = "too-many-unanswered",
        /// More distinct error texts than are kept.
        TooManyErrors = "too-many-errors",
        /// More exchanges than are kept.
        TooManyExchanges = "too-many-exchanges",
        /// More RTT samples than are kept.
        TooManySamples = "too-many-samples",
        /// More bytes behind holes than are kept.
        TooManyWaiting = "too-many-waiting",
        /// More bytes of streams that are not recognised yet than are kept.
        TooManyUnrecognised = "too-many-unrecognised",
        /// More bytes of messages that are not whole yet than are kept.
        TooManyUnfinished = "too-many-unfinished",
        /// More pieces of IP datagrams than are kept.
        TooManyFragments = "too-many-fragments",
        /// Compressed packets become more than any real ones do.
        TooMuchInflated = "too-much-inflated",
        /// Lines of key logs that are none, or cut.
        KeyLogDamaged = "key-log-damaged",
        /// More TLS secrets than are kept.
        TooManyKeys = "too-many-keys",
    }
}

impl NoteCode {
    /// Packets of a file could not be read.
    pub fn is_damage(self) -> bool {
        matches!(self, Self::FileCut | Self::FileDamaged | Self::FileUnreadable)
    }
}

/// One kind of problem in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub code: NoteCode,
    /// The first case: what happened, where, what to do.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// The frame of the first case, which the message names.
    pub frame: Option<u64>,
}

impl Note {
    /// The same where several files were read: `there` says which frame of which file it is.
    pub fn named(self, there: impl FnOnce(u64) -> Option<String>) -> Note {
        let place = self.frame.and_then(|frame| Some((format!("frame {frame}"), there(frame)?)));
        match place {
            Some((frame, there)) => Note { message: self.message.replacen(&frame, &there, 1), ..self },
            None => self,
        }
    }
}

/// The notes of one file or one stage: as many as there are codes, however bad the input.
#[derive(Clone, Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Counts one more case; `message` is asked for the first one only.
    pub fn add(&mut self, code: NoteCode, message: impl FnOnce() -> String) {
        self.add_several(code, 1, message);
    }

    /// The same for `count` cases at once; none are no note.
    pub fn add_several(&mut self, code: NoteCode, count: u64, message: impl FnOnce() -> String) {
        self.add_at(code, count, None, message);
    }

    /// The same where the first case has a frame, which the message names.
    pub fn add_at(&mut self, code: NoteCode, count: u64, frame: Option<u64>, message: impl FnOnce() -> String) {
        match self.0.iter_mut().find(|note| note.code == code) {
            Some(note) => note.count = note.count.saturating_add(count),
            None if count > 0 => self.0.push(Note { code, message: message(), count, frame }),
            None => {}
        }
    }

    /// Takes in those of another stage.
    pub fn join(&mut self, others: Notes) {
        for Note { code, message, count, frame } in others.0 {
            self.add_at(code, count, frame, || message);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_codes_are_counted_and_the_first_message_stays() {
        let mut notes = Notes::default();
        notes.add(NoteCode::SnapLength, || "frame 1".to_owned());
        notes.add(NoteCode::SnapLength, || "frame 2".to_owned());
        notes.add(NoteCode::FileCut, || "at byte 24".to_owned());
        let told: Vec<_> = notes.iter().map(|note| (note.message.as_str(), note.count)).collect();
        assert_eq!(told, [("frame 1", 2), ("at byte 24", 1)]);
    }
}

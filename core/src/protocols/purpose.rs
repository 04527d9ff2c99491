//! What a request is for.

/// What the client sends a request for, as its decoder knows it from the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Opens the connection: greeting, encryption, login.
    Setup,
    /// Runs a statement.
    Execute,
    /// Prepares a statement.
    Prepare,
    /// Asks about a statement: before its execution for its columns, after it for what it did.
    Describe,
    /// Brings more rows of a cursor.
    Fetch,
    /// Opens, reads, writes or closes a blob or LOB.
    Blob,
    /// Closes a statement or cursor.
    Close,
    /// Begins a transaction.
    Begin,
    /// Commits or rolls back.
    End,
    /// Does something else about a transaction.
    Transaction,
    /// Sets or asks for something of the session.
    Session,
    /// Asks whether the server is there.
    Ping,
    /// Closes the connection.
    Disconnect,
    /// Cancels what another connection, or this one, is waiting for.
    Cancel,
    /// Opaque, or not captured.
    Unreadable,
    Other,
}

impl Purpose {
    /// How many there are.
    pub const COUNT: u32 = Self::Other as u32 + 1;

    /// The one with that word.
    pub fn named(word: &str) -> Self {
        use Purpose::*;
        let all = [
            Setup,
            Execute,
            Prepare,
            Describe,
            Fetch,
            Blob,
            Close,
            Begin,
            End,
            Transaction,
            Session,
            Ping,
            Disconnect,
            Cancel,
            Unreadable,
        ];
        all.into_iter().find(|purpose| purpose.as_str() == word).unwrap_or(Other)
    }

    /// Is its answer nothing to a client that hangs up?
    pub fn may_go_unheard(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Other)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Execute => "execute",
            Self::Prepare => "prepare",
            Self::Describe => "describe",
            Self::Fetch => "fetch",
            Self::Blob => "blob",
            Self::Close => "close",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Transaction => "transaction",
            Self::Session => "session",
            Self::Ping => "ping",
            Self::Disconnect => "disconnect",
            Self::Cancel => "cancel",
            Self::Unreadable => "unreadable",
            Self::Other => "other",
        }
    }
}

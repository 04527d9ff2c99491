//! What a request is for.

named! {
    /// What the client sends a request for, as its decoder knows it from the command.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Purpose {
        /// Opens the connection: greeting, encryption, login.
        Setup = "setup",
        /// Runs a statement.
        Execute = "execute",
        /// Prepares a statement.
        Prepare = "prepare",
        /// Asks about a statement: before its execution for its columns, after it for what it did.
        Describe = "describe",
        /// Brings more rows of a cursor.
        Fetch = "fetch",
        /// Opens, reads, writes or closes a blob or LOB.
        Blob = "blob",
        /// Closes a statement or cursor.
        Close = "close",
        /// Begins a transaction.
        Begin = "begin",
        /// Commits or rolls back.
        End = "end",
        /// Does something else about a transaction.
        Transaction = "transaction",
        /// Sets or asks for something of the session.
        Session = "session",
        /// Asks whether the server is there.
        Ping = "ping",
        /// Closes the connection.
        Disconnect = "disconnect",
        /// Cancels what another connection, or this one, is waiting for.
        Cancel = "cancel",
        /// Opaque, or not captured.
        Unreadable = "unreadable",
        Other = "other",
    }
}

impl Purpose {
    /// Is its answer nothing to a client that hangs up?
    pub fn may_go_unheard(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Other)
    }
}

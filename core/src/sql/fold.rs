//! Lists whose length says nothing about the statement: `IN (…)`, `ARRAY[…]`, the rows of `VALUES`.

use super::lexer::{Kind, Token};

/// Where a statement stands between the rows of a `VALUES` list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rows {
    #[default]
    Outside,
    /// After `VALUES`.
    Awaited,
    /// In the first row, which is shown.
    First { depth: usize },
    /// After a row.
    Between,
    /// After a row and a comma, which is not shown yet: no row may follow.
    Comma,
    /// In a later row, which is not shown.
    Later { depth: usize },
}

/// What is to be done with a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Show {
    Token,
    /// The comma before it too: it did not announce a row.
    CommaAndToken,
    Nothing,
    /// Instead of it, the sign that more rows follow.
    MoreRows,
}

impl Rows {
    pub fn next(self, token: &Token<'_>, kind: Kind) -> (Rows, Show) {
        match (self, kind) {
            (Rows::Awaited, Kind::Open) => (Rows::First { depth: 1 }, Show::Token),
            (Rows::Awaited, Kind::Word) if token.is("row") => (Rows::Awaited, Show::Token),
            (Rows::First { depth }, Kind::Open) => (Rows::First { depth: depth + 1 }, Show::Token),
            (Rows::First { depth: 1 }, Kind::Close) => (Rows::Between, Show::Token),
            (Rows::First { depth }, Kind::Close) => (Rows::First { depth: depth - 1 }, Show::Token),
            (Rows::First { .. }, _) if !opens_rows(token, kind) => (self, Show::Token),
            (Rows::Between, Kind::Comma) => (Rows::Comma, Show::Nothing),
            (Rows::Between, Kind::Operator) if token.bytes == b"+" => (Rows::Between, Show::MoreRows),
            (Rows::Comma, Kind::Open) => (Rows::Later { depth: 1 }, Show::MoreRows),
            (Rows::Comma, Kind::Word) if token.is("row") => (Rows::Later { depth: 0 }, Show::MoreRows),
            (Rows::Later { depth }, Kind::Open) => (Rows::Later { depth: depth + 1 }, Show::Nothing),
            (Rows::Later { depth: 0 | 1 }, Kind::Close) => (Rows::Between, Show::Nothing),
            (Rows::Later { depth }, Kind::Close) => (Rows::Later { depth: depth - 1 }, Show::Nothing),
            (Rows::Later { .. }, _) => (self, Show::Nothing),
            (Rows::Comma, _) => (Rows::afresh(token, kind), Show::CommaAndToken),
            _ => (Rows::afresh(token, kind), Show::Token),
        }
    }

    /// Is the token of a row that an earlier one stands for? No clause begins or ends in it.
    pub fn passes_over(self, token: &Token<'_>, kind: Kind) -> bool {
        match self {
            Rows::Later { .. } => true,
            Rows::Comma => kind == Kind::Open || kind == Kind::Word && token.is("row"),
            _ => false,
        }
    }

    /// Is it the sign that more rows followed?
    pub fn more(self, token: &Token<'_>) -> bool {
        self == Rows::Between && token.is_operator("+")
    }

    fn afresh(token: &Token<'_>, kind: Kind) -> Rows {
        if opens_rows(token, kind) { Rows::Awaited } else { Rows::Outside }
    }
}

fn opens_rows(token: &Token<'_>, kind: Kind) -> bool {
    kind == Kind::Word && token.is_any(&["values", "value"])
}

/// A list that can be folded as long as it holds nothing but values, or nothing but rows of values.
#[derive(Debug)]
pub struct List {
    /// How long the text was before the first element.
    pub start: usize,
    /// In a row inside of the list.
    in_row: bool,
    holds_values: bool,
    /// A type name follows: `?::uuid`.
    type_follows: bool,
    pub rows: Option<ListRows>,
}

/// The rows of a list look like its first one.
#[derive(Clone, Copy, Debug)]
pub struct ListRows {
    pub open: u8,
    pub commas: usize,
    /// The first one is complete.
    complete: bool,
}

/// What a token does to a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    GoesOn,
    /// The list is complete and can be folded.
    Complete,
    /// It holds something else: it stays as it is.
    Broken,
}

impl List {
    pub fn new(start: usize) -> List {
        List { start, in_row: false, holds_values: false, type_follows: false, rows: None }
    }

    pub fn next(&mut self, token: &Token<'_>, kind: Kind) -> Effect {
        let is_type = std::mem::take(&mut self.type_follows) && matches!(kind, Kind::Word | Kind::Name);
        match kind {
            _ if is_type => Effect::GoesOn,
            Kind::Literal | Kind::Placeholder => self.value(),
            Kind::Word if token.is_any(&["null", "true", "false", "default"]) => self.value(),
            Kind::Operator => self.operator(token.bytes),
            Kind::Comma => self.comma(),
            Kind::Open => self.row_begins(token.bytes[0]),
            Kind::Close if self.in_row => self.row_ends(),
            Kind::Close if self.holds_values => Effect::Complete,
            _ => Effect::Broken,
        }
    }

    fn value(&mut self) -> Effect {
        self.holds_values = true;
        if self.rows.is_some() && !self.in_row { Effect::Broken } else { Effect::GoesOn }
    }

    /// A sign, or the `+` of a list that was folded before.
    fn operator(&mut self, sign: &[u8]) -> Effect {
        self.type_follows = sign == b"::";
        if matches!(sign, b"::" | b"+" | b"-") { Effect::GoesOn } else { Effect::Broken }
    }

    fn comma(&mut self) -> Effect {
        let first = self.rows.as_mut().filter(|rows| !rows.complete);
        if let Some(first) = first {
            first.commas += 1;
        }
        Effect::GoesOn
    }

    fn row_begins(&mut self, open: u8) -> Effect {
        let mixed = self.rows.is_none() && self.holds_values;
        if self.in_row || mixed {
            return Effect::Broken;
        }
        self.in_row = true;
        self.rows.get_or_insert(ListRows { open, commas: 0, complete: false });
        Effect::GoesOn
    }

    fn row_ends(&mut self) -> Effect {
        self.in_row = false;
        if let Some(rows) = &mut self.rows {
            rows.complete = true;
        }
        Effect::GoesOn
    }
}

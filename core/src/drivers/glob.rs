//! Texts with gaps: `*` is any text, `**` an asterisk, and case does not matter.

use memchr::memmem::Finder;

/// Stands for an asterisk while gaps are looked for.
const ASTERISK: &str = "\0";

/// A text with gaps, ready to be looked for in one pass over a text.
#[derive(Debug)]
pub struct Glob {
    /// The texts between the gaps, in lower case.
    parts: Vec<Finder<'static>>,
}

impl Glob {
    pub fn new(pattern: &str) -> Glob {
        let part = |part: &str| Finder::new(part.to_ascii_lowercase().replace(ASTERISK, "*").as_bytes()).into_owned();
        Glob { parts: pattern.replace("**", ASTERISK).split('*').map(part).collect() }
    }

    /// Does it fit the whole of `text`, which is in lower case?
    pub fn fits(&self, text: &[u8]) -> bool {
        let [first, middle @ .., last] = &self.parts[..] else {
            return self.parts.iter().all(|part| part.needle() == text);
        };
        let Some(mut rest) = text.strip_prefix(first.needle()) else { return false };
        for part in middle {
            let Some(at) = part.find(rest) else { return false };
            rest = &rest[at + part.needle().len()..];
        }
        rest.ends_with(last.needle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_stand_for_any_text_in_the_order_of_the_parts() {
        let fits = |pattern: &str, text: &str| Glob::new(pattern).fits(text.as_bytes());
        assert!(fits("Go-MySQL-Driver", "go-mysql-driver"));
        assert!(fits("select ** from *", "select * from t") && !fits("select ** from *", "select a from t"));
        assert!(fits("_pg3_*", "_pg3_0") && fits("_pg3_*", "_pg3_"));
        assert!(fits("a*b*c", "a-b-b-c") && fits("*", ""));
        assert!(!fits("a*b*c", "a-c-b") && !fits("ab*ba", "aba") && !fits("a", "ab") && !fits("", "a"));
    }
}

//! Versions in what clients say of themselves.

/// The first version in a text: `12.10` in `Microsoft JDBC Driver 12.10`, `5.0.6` in `jaybird-5.0.6.java11`.
pub fn version_in(text: &str) -> Option<&str> {
    let is_of_version = |character: char| character.is_ascii_digit() || character == '.';
    let mut parts = text.split(|character| !is_of_version(character)).map(|part| part.trim_matches('.'));
    parts.find(|part| part.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn a_version_has_numbers_with_dots_between() {
        assert_eq!(version_in("Microsoft JDBC Driver 12.10"), Some("12.10"));
        assert_eq!(version_in("Jaybird jaybird-5.0.6.java11"), Some("5.0.6"));
        assert_eq!(version_in("LI-V3.0.11.33637 Firebird 3.0"), Some("3.0.11.33637"));
        assert_eq!(version_in(".Net SqlClient 5 Data Provider"), None);
    }
}

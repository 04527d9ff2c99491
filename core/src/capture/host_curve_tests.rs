use super::*;

const TEXT: &str = "latpcap: rests 0.2,1,5 ms: +0.04,0.05,0.47 ms; hosts 10.0.0.5,127.0.0.1,::1";

#[test]
fn a_curve_is_read_as_it_was_written() {
    let curve = HostCurve::parse(TEXT.as_bytes()).unwrap();
    assert_eq!((&curve.rests_ms[..], &curve.extra_ms[..]), (&[0.2, 1.0, 5.0][..], &[0.04, 0.05, 0.47][..]));
    assert_eq!(curve.to_string(), TEXT);
}

#[test]
fn an_odd_curve_is_none() {
    let points = vec!["0"; MAX_POINTS + 1].join(",");
    for (part, odd) in [
        ("0.2,1,5", "0.2,5,1"),
        ("0.2,1,5", "0.2,1"),
        ("0.2,1,5", &points),
        ("0.2,1,5", "0.2,1,50000"),
        ("0.2,1,5", ""),
        ("0.47", "-0.47"),
        ("0.47", "NaN"),
        ("0.47", "1e2"),
        ("0.47", "5000"),
        ("10.0.0.5", "db.example"),
        ("latpcap", "note"),
    ] {
        assert_eq!(HostCurve::parse(TEXT.replacen(part, odd, 1).as_bytes()), None, "{odd}");
    }
}

#[test]
fn a_curve_is_rounded_and_no_number_is_negative() {
    let here = [IpAddr::from([127, 0, 0, 1])];
    let curve = HostCurve::new(&[0.2, 5.0], &[0.0400003, 0.46999], &here).unwrap();
    assert_eq!(curve.extra_ms, [0.04, 0.47]);
    assert_eq!(HostCurve::new(&[0.2], &[-0.1], &here), None);
    assert_eq!(HostCurve::new(&[0.2], &[f64::NAN], &here), None);
}

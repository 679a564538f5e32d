//! Numbers as text: one spelling per value where that is possible without arithmetic.

/// Length in bytes of the number at the start of `text`, or `None` if there is none there.
///
/// A number is `[-] digits [. digits] [e [+|-] digits]`.
pub(super) fn length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or(&[]);
        rest.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut end = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(end);
    if whole == 0 {
        return None;
    }
    end += whole;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// The number without leading zeros, without zeros at the end of a fraction of several digits,
/// and with a plain exponent: `007` is `7`, `0.10` is `0.1`, `1.00` is `1.0`, `2E+03` is `2e3`.
/// A fraction that was written stays one, so `1.0` and `1` differ.
pub(super) fn canonical(number: &str) -> String {
    let lower = number.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let mut out = sign.to_owned();
    match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            out.push_str(strip_zeros(whole));
            out.push('.');
            let fraction = fraction.trim_end_matches('0');
            out.push_str(if fraction.is_empty() { "0" } else { fraction });
        }
        None => out.push_str(strip_zeros(mantissa)),
    }
    if let Some(exponent) = exponent {
        out.push('e');
        let digits = exponent.trim_start_matches(['+', '-']);
        if exponent.starts_with('-') {
            out.push('-');
        }
        out.push_str(strip_zeros(digits));
    }
    out
}

fn strip_zeros(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    }
}

//! The colours of default avatars.
//!
//! Pairs rather than computed hues: equal steps of hue are not equally pleasant (olive and brown sit
//! between orange and green), and a table gives the same bytes on every machine. Each pair leads from a
//! light to a dark colour of a neighbouring hue; lightness was held constant in OKLCH, so that no avatar
//! in a list shouts and white letters read well on the middle of every one.

/// Light and dark end of each gradient, around the colour wheel from green to orange.
pub(crate) const GRADIENTS: [(&str, &str); 18] = [
    ("#7db138", "#05794f"),
    ("#43b966", "#09766d"),
    ("#08ba87", "#05747d"),
    ("#0cb6a8", "#067094"),
    ("#0db3c1", "#0168b4"),
    ("#05aedc", "#2b5bd1"),
    ("#2da6fa", "#4e52d0"),
    ("#629dfe", "#6948c9"),
    ("#8394fe", "#7c3fbe"),
    ("#9e8afa", "#9334a8"),
    ("#b682ed", "#a22a90"),
    ("#cf78d5", "#b11e6b"),
    ("#e271b5", "#b81a4d"),
    ("#ee6e91", "#a22a90"),
    ("#f17074", "#b41c62"),
    ("#f07456", "#b91a48"),
    ("#eb7c33", "#ba1d27"),
    ("#df8605", "#b52d01"),
];

/// Where a gradient starts and ends, as `(x1, y1, x2, y2)` in the box of the avatar. Light comes from
/// above. None runs straight across: the first letter would stand on the light end alone.
pub(crate) const DIRECTIONS: [(u8, u8, u8, u8); 3] = [(0, 0, 1, 1), (1, 0, 0, 1), (0, 0, 0, 1)];

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(colour: &str) -> [f64; 3] {
        let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        [channel(1), channel(3), channel(5)]
    }

    /// Contrast of white on a colour, by WCAG 2.2.
    fn contrast(colour: [f64; 3]) -> f64 {
        let linear = colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
        1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    }

    #[test]
    fn white_letters_read_well_on_the_middle_of_every_gradient() {
        for (light, dark) in GRADIENTS {
            let (light, dark) = (channels(light), channels(dark));
            let middle = [0, 1, 2].map(|at| (light[at] + dark[at]) / 2.0);
            assert!(contrast(middle) > 3.0, "{light:?} {dark:?}: {}", contrast(middle));
        }
    }
}

//! Random numbers of the channel: a stream per frame, the same bytes on every machine.
//!
//! Frame `f` of a task has its own stream, a pure function of (seed, stream, f): frames can be
//! simulated in any order, on any number of threads, in pieces of any size, and are always the same
//! frames.
//!
//! Normal deviates come from a ziggurat of 256 layers (Marsaglia & Tsang, "The ziggurat method for
//! generating random variables", J. Stat. Software 5, 2000; layer and position are taken from
//! separate bits, as Doornik advises in "An improved ziggurat method", 2005).

use crate::xoshiro::{split_mix, Xoshiro256PlusPlus};

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of frame `frame` in the stream `stream` of a run with this `seed`.
    pub fn frame(seed: u64, stream: u64, frame: u64) -> Self {
        // The second step of the chain is where streams always began; it stays, for old curves.
        let chain = mix(mix(mix(seed) ^ stream) ^ frame);
        Self(Xoshiro256PlusPlus::from_seed(chain.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform float in `(0, 1]`: its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A uniform integer in `0..limit`, `limit > 0`.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }
}

/// A step of `SplitMix64` from `value`: every input bit moves every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    split_mix(&mut { value })
}

const LAYERS: usize = 256;
/// Where the tail of a ziggurat of 256 equal layers begins. Source: Marsaglia & Tsang.
const TAIL_FROM: f64 = 3.654_152_885_361_009;

/// Area of a layer: the rectangle below the tail's beginning, and the tail.
fn layer_area() -> f64 {
    let tail = std::f64::consts::TAU.sqrt() * crate::cell::q(TAIL_FROM);
    TAIL_FROM * libm::exp(-0.5 * TAIL_FROM * TAIL_FROM) + tail
}

/// Standard normal deviates.
#[derive(Clone, Debug)]
pub struct Normal {
    /// Right edge of layer `i`, falling to 0; layer 0 holds the tail and is wider than its edge.
    edge: [f64; LAYERS + 1],
    /// Density at the edges.
    density: [f64; LAYERS + 1],
}

impl Default for Normal {
    fn default() -> Self {
        Self::new()
    }
}

impl Normal {
    /// Computes the layers.
    pub fn new() -> Self {
        let phi = |x: f64| libm::exp(-0.5 * x * x);
        let area = layer_area();
        let mut edge = [0.0; LAYERS + 1];
        edge[0] = area / phi(TAIL_FROM);
        edge[1] = TAIL_FROM;
        for layer in 2..LAYERS {
            let before = edge[layer - 1];
            edge[layer] = (-2.0 * libm::log(area / before + phi(before))).sqrt();
        }
        let density = std::array::from_fn(|layer| phi(edge[layer]));
        Self { edge, density }
    }

    /// One deviate.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            let bits = rng.next_u64();
            let layer = (bits & 0xff) as usize;
            // 53 signed bits.
            let share = (bits.cast_signed() >> 11) as f64 * (1.0 / 4_503_599_627_370_496.0);
            let x = share * self.edge[layer];
            if x.abs() < self.edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.seldom(layer, x, rng) {
                return x;
            }
        }
    }

    /// The 1 % of draws that fall between two edges or into the tail.
    #[cold]
    fn seldom(&self, layer: usize, x: f64, rng: &mut Rng) -> Option<f64> {
        if layer == 0 {
            return Some(Self::beyond(TAIL_FROM, rng).copysign(x));
        }
        let (outer, inner) = (self.density[layer], self.density[layer + 1]);
        let height = outer + (inner - outer) * rng.unit();
        (height < libm::exp(-0.5 * x * x)).then_some(x)
    }

    /// A deviate that is above `from`, which is positive (Marsaglia, "Generating a variable from
    /// the tail of the normal distribution", Technometrics 6, 1964).
    pub fn beyond(from: f64, rng: &mut Rng) -> f64 {
        loop {
            let x = (from * from - 2.0 * libm::log(rng.unit())).sqrt();
            if rng.unit() * x <= from {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::q;

    #[test]
    fn frames_are_streams_of_their_own() {
        let first = |seed, stream, frame| Rng::frame(seed, stream, frame).next_u64();
        let mut seen: Vec<u64> = (0..1000).map(|frame| first(42, 1, frame)).collect();
        seen.extend((0..1000).map(|frame| first(42, 2, frame)));
        seen.extend((0..1000).map(|frame| first(43, 1, frame)));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 3000);
        assert_eq!(first(42, 1, 7), first(42, 1, 7));
    }

    #[test]
    fn the_ziggurat_closes_at_zero() {
        let normal = Normal::new();
        assert!(normal.edge[LAYERS - 1] > 0.2 && normal.edge[LAYERS - 1] < 0.3);
        // The topmost layer reaches the peak of the density: the areas fit together.
        let last = normal.edge[LAYERS - 1];
        let top = layer_area() / last + libm::exp(-0.5 * last * last);
        assert!((top - 1.0).abs() < 1e-9, "{top}");
    }

    #[test]
    fn normal_deviates_have_moments_and_tails_of_the_normal_distribution() {
        const COUNT: u32 = 2_000_000;
        let normal = Normal::new();
        let mut rng = Rng::frame(1, 2, 3);
        let (mut sum, mut squares, mut fourths) = (0.0, 0.0, 0.0);
        let mut above = [0_u32; 9];
        for _ in 0..COUNT {
            let x = normal.draw(&mut rng);
            sum += x;
            squares += x * x;
            fourths += x * x * x * x;
            for (half, count) in above.iter_mut().enumerate() {
                *count += u32::from(x > 0.5 * half as f64);
            }
        }
        let n = f64::from(COUNT);
        // Five standard deviations of each estimate.
        assert!((sum / n).abs() < 5.0 / n.sqrt());
        assert!((squares / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        assert!((fourths / n - 3.0).abs() < 5.0 * (96.0 / n).sqrt());
        for (half, &count) in above.iter().enumerate() {
            let p = q(0.5 * half as f64);
            let deviation = (f64::from(count) - n * p).abs() / (n * p * (1.0 - p)).sqrt();
            assert!(deviation < 5.0, "above {half}/2: {deviation} standard deviations");
        }
    }

    #[test]
    fn the_tail_beyond_a_point_is_a_normal_tail() {
        const COUNT: u32 = 400_000;
        let mut rng = Rng::frame(1, 5, 3);
        for from in [0.2, 1.0, 3.0] {
            let mut above = 0_u32;
            for _ in 0..COUNT {
                let x = Normal::beyond(from, &mut rng);
                assert!(x >= from);
                above += u32::from(x > from + 0.3);
            }
            let (n, p) = (f64::from(COUNT), q(from + 0.3) / q(from));
            let deviation = (f64::from(above) - n * p).abs() / (n * p * (1.0 - p)).sqrt();
            assert!(deviation < 5.0, "beyond {from}: {deviation} standard deviations");
        }
    }
}

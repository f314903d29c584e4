// Functions of 60, 30 and 10% of the work: a plain one, a method of a generic type, and a closure.
// Usage: shares STEPS
use std::hint::black_box;

#[inline(always)]
fn work(n: u64) -> u64 {
    let mut x: u64 = 88172645463325252;
    for _ in 0..n * 1000 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x = black_box(x);
    }
    x
}

mod solver {
    #[inline(never)]
    pub fn advance(n: u64) -> u64 {
        super::work(6 * n)
    }

    pub struct Grid<T> {
        pub start: T,
    }

    impl<T: Into<u64> + Copy> Grid<T> {
        #[inline(never)]
        pub fn total(&self, n: u64) -> u64 {
            super::work(3 * n) + self.start.into()
        }
    }
}

#[inline(never)]
fn applied<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 {
    f(n)
}

fn main() {
    let steps: u64 = std::env::args().nth(1).map_or(1, |word| word.parse().unwrap());
    let grid = solver::Grid { start: 1u32 };
    let mut sum: u64 = 0;
    for _ in 0..steps {
        sum = sum.wrapping_add(solver::advance(30));
        sum = sum.wrapping_add(grid.total(30));
        sum = sum.wrapping_add(applied(|n| work(n), 30));
    }
    println!("{sum}");
}
